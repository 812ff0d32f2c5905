#include "backends/kernels/thread_team.h"

#include <ATen/Parallel.h>

#ifdef _OPENMP
#include <omp.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

thread_local ThreadTeam* ownTeam = nullptr;

/// Number of pauses after which a waiting thread sleeps; they take about as long as a layer.
constexpr int patience = 4096;

void spin() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/// Maximum number of bytes that a thread prefetches: they must still be in its L2 cache when they are read.
std::size_t mostPrefetched() {
    static const std::size_t bytes = [] {
        constexpr std::size_t usual = 512 << 10;
        const long size = sysconf(_SC_LEVEL2_CACHE_SIZE);
        return (size > 0 ? static_cast<std::size_t>(size) : usual) / 2;
    }();
    return bytes;
}

/// Prefetches the beginning of memory, and returns the rest.
ThreadTeam::Memory fetched(ThreadTeam::Memory memory) {
    constexpr std::size_t line = 64;
    const ThreadTeam::Memory some = memory.first(std::min(8 * line, memory.size())); // soon enough for the next job
    for (std::size_t place = 0; place < some.size(); place += line)
        __builtin_prefetch(some.data() + place, 0, 2);
    return memory.subspan(some.size());
}

} // namespace

ThreadTeam* ThreadTeam::current() {
    return ownTeam;
}

void ThreadTeam::during(const std::function<void()>& work) {
#ifdef _OPENMP
    // More threads than processors would wait for each other at every loop.
    const int threads = std::min({at::get_num_threads(), omp_get_num_procs(), mostThreads});
    if (threads == 1 || at::in_parallel_region())
        return work();
    ThreadTeam team;
    std::exception_ptr failure;
#pragma omp parallel num_threads(threads)
    {
        if (omp_get_thread_num() == 0) {
            team.m_size = omp_get_num_threads();
            failure = team.lead(work);
        } else {
            team.serve(omp_get_thread_num());
        }
    }
    if (failure)
        std::rethrow_exception(failure);
#else
    work();
#endif
}

std::exception_ptr ThreadTeam::lead(const std::function<void()>& work) {
    std::exception_ptr failure;
    ownTeam = this;
    try {
        work();
    } catch (...) {
        failure = std::current_exception();
    }
    ownTeam = nullptr;
    post({});
    return failure;
}

void ThreadTeam::serve(int thread) {
    const Worker& own = m_workers[static_cast<std::size_t>(thread)];
    unsigned jobs = 0;
    unsigned orders = 0;
    Memory next;
    for (int rounds = 0;; ++rounds) {
        if (const unsigned posted = m_jobs.load(std::memory_order_acquire); posted != jobs) {
            jobs = posted;
            if (!m_job.call)
                return;
            call(m_job, thread);
            if (m_busy.fetch_sub(1, std::memory_order_release) == 1)
                m_busy.notify_one();
            rounds = 0;
        }
        if (const unsigned ordered = own.orders.load(std::memory_order_acquire); ordered != orders) {
            orders = ordered;
            next = {own.begin.load(std::memory_order_relaxed), own.size.load(std::memory_order_relaxed)};
        }
        if (!next.empty())
            next = fetched(next);
        else if (rounds < patience)
            spin();
        else
            m_jobs.wait(jobs, std::memory_order_acquire);
    }
}

void ThreadTeam::prefetch(int thread, Memory memory) {
    Worker& worker = m_workers[static_cast<std::size_t>(thread)];
    worker.begin.store(memory.data(), std::memory_order_relaxed);
    worker.size.store(std::min(memory.size(), mostPrefetched()), std::memory_order_relaxed);
    worker.orders.fetch_add(1, std::memory_order_release);
}

void ThreadTeam::run(const Job& job) {
    m_busy.store(m_size - 1, std::memory_order_relaxed);
    post(job);
    ownTeam = nullptr; // loops within a loop are not divided
    call(job, 0);
    ownTeam = this;
    int rounds = 0;
    for (int busy = m_busy.load(std::memory_order_acquire); busy > 0; busy = m_busy.load(std::memory_order_acquire))
        ++rounds < patience ? spin() : m_busy.wait(busy, std::memory_order_acquire);
    if (m_failure)
        std::rethrow_exception(std::exchange(m_failure, nullptr));
}

void ThreadTeam::post(const Job& job) {
    m_job = job;
    m_jobs.fetch_add(1, std::memory_order_release);
    m_jobs.notify_all();
}

void ThreadTeam::call(const Job& job, int thread) {
    try {
        job.call(job.body, thread);
    } catch (...) {
        const std::lock_guard lock(m_failing);
        m_failure = std::current_exception();
    }
}

} // namespace secateur
