#pragma once

#include "backends/kernels/thread_team.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace secateur {

// Loops over all threads of the runtime, or of the team of the work that calls them. For sources only: includes ATen.

inline std::int64_t threadCount() {
    const ThreadTeam* team = ThreadTeam::current();
    return team ? team->size() : at::get_num_threads();
}

/// Calls body(i) for i in 0 to count - 1, at the same time as far as there are threads. If there are fewer, fewer calls
/// may be made. @param count at most threadCount()
template <typename Body>
void onThreads(std::int64_t count, const Body& body) {
    ThreadTeam* team = count > 1 ? ThreadTeam::current() : nullptr;
    if (!team)
        return at::parallel_for(0, count, 1, [&](std::int64_t first, std::int64_t) { body(first); });
    team->each([&](int thread) {
        if (thread < count)
            body(std::int64_t{thread});
    });
}

/// Calls body(task, scratch) for each task, in any order. Each thread has scratch memory for `floats` float32 numbers;
/// null if that is 0.
template <typename Body>
void forEachTask(std::int64_t tasks, std::int64_t floats, const Body& body) {
    std::atomic<std::int64_t> next = 0;
    onThreads(std::min(tasks, threadCount()), [&](std::int64_t) {
        const at::Tensor scratch = floats > 0 ? at::empty({floats}, at::kFloat) : at::Tensor();
        float* numbers = floats > 0 ? scratch.data_ptr<float>() : nullptr;
        for (std::int64_t task = next++; task < tasks; task = next++)
            body(task, numbers);
    });
}

/// Calls body(task) for each task. Tasks that follow one another read memory that does: each thread begins with a run
/// of tasks of its own, so that what is read ahead is its own, and then takes tasks that other threads have not
/// reached.
template <typename Body>
void forEachInRuns(std::int64_t tasks, const Body& body) {
    struct alignas(64) Run { // a cache line of its own
        std::atomic<std::int64_t> next = 0;
        std::int64_t end = 0;
    };
    constexpr std::int64_t mostRuns = 64;
    const std::int64_t count = std::min({tasks, threadCount(), mostRuns});
    std::array<Run, mostRuns> runs;
    for (std::int64_t i = 0; i < count; ++i) {
        Run& run = runs[static_cast<std::size_t>(i)];
        run.next = tasks * i / count;
        run.end = tasks * (i + 1) / count;
    }
    onThreads(count, [&](std::int64_t first) {
        for (std::int64_t i = 0; i < count; ++i) {
            Run& run = runs[static_cast<std::size_t>((first + i) % count)];
            for (std::int64_t task = run.next++; task < run.end; task = run.next++)
                body(task);
        }
    });
}

/// Calls body(row) for each row. @param width number of elements of a row, which determines how rows are divided
template <typename Body>
void forEachRow(std::int64_t rows, std::int64_t width, const Body& body) {
    constexpr std::int64_t grainNumbers = 1 << 14; // smallest number of elements for which another thread pays off
    const std::int64_t grain = std::max<std::int64_t>(1, grainNumbers / std::max<std::int64_t>(1, width));
    at::parallel_for(0, rows, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            body(row);
    });
}

} // namespace secateur
