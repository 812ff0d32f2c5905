#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace secateur {

// For sources only: pulls in ATen.

/// body(task, scratch) for each task, by as many threads as there are, in no particular order.
template <typename Body>
void shareOut(std::int64_t tasks, std::int64_t floats, const Body& body) {
    std::atomic<std::int64_t> next = 0;
    const std::int64_t workers = std::min<std::int64_t>(tasks, at::get_num_threads());
    at::parallel_for(0, workers, 1, [&](std::int64_t, std::int64_t) {
        const at::Tensor scratch = at::empty({floats}, at::kFloat);
        for (std::int64_t task = next++; task < tasks; task = next++)
            body(task, scratch.data_ptr<float>());
    });
}

} // namespace secateur
