#include "analysis/weights/grid_walk.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>

namespace secateur {

int workerCount() {
    return std::max(1, at::get_num_threads());
}

void eachTask(std::int64_t tasks, const std::function<void(int worker, std::int64_t task)>& work,
              const Progress& progress) {
    constexpr std::int64_t batch = 256; // tasks between two looks at the progress
    const int workers = workerCount();
    for (std::int64_t first = 0; first < tasks; first += batch) {
        progress.report(static_cast<double>(first) / static_cast<double>(tasks), "reading weights");
        const std::int64_t end = std::min(tasks, first + batch);
        std::atomic<std::int64_t> next = first;
        at::parallel_for(0, std::min<std::int64_t>(workers, end - first), 1, [&](std::int64_t from, std::int64_t to) {
            for (std::int64_t worker = from; worker < to; ++worker)
                for (std::int64_t task = next++; task < end; task = next++)
                    work(static_cast<int>(worker), task);
        });
    }
}

} // namespace secateur
