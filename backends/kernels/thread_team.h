#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>

namespace secateur {

/// Threads for work that is made of many short loops, such as a layer of a single token. Between the loops they do not
/// end but spin, and meanwhile prefetch what the next loop reads. For sources only.
class ThreadTeam {
public:
    using Memory = std::span<const std::byte>;
    static constexpr int mostThreads = 64;

    /// Runs `work` on this thread, which is thread 0 of a team of the runtime's threads, as far as there are
    /// processors. During the work, the loops of parallel_loops.h use the team; libtorch and oneDNN use this thread
    /// only.
    static void during(const std::function<void()>& work);

    /// The team of the work that this thread runs. Null outside of during(), or where there is one thread.
    static ThreadTeam* current();

    int size() const { return m_size; }

    /// Calls body(thread) on every thread of the team, and returns after all calls. Rethrows an exception of a call.
    template <typename Body>
    void each(const Body& body) {
        run({[](const void* own, int thread) { (*static_cast<const Body*>(own))(thread); }, &body});
    }

    /// Memory that a thread will read soon. It is prefetched while the thread has nothing else to do, until the next
    /// call for this thread. @param thread not 0, which is never idle
    void prefetch(int thread, Memory memory);

private:
    struct Job {
        void (*call)(const void* body, int thread) = nullptr; ///< null = the work has ended
        const void* body = nullptr;
    };
    struct alignas(64) Worker { // a cache line of its own
        std::atomic<const std::byte*> begin = nullptr;
        std::atomic<std::size_t> size = 0;
        std::atomic<unsigned> orders = 0;
    };

    ThreadTeam() = default;

    /// Runs the work and dismisses the other threads. Returns its exception, or null.
    std::exception_ptr lead(const std::function<void()>& work);
    /// Runs jobs until the work has ended.
    void serve(int thread);
    void run(const Job& job);
    void post(const Job& job);
    void call(const Job& job, int thread);

    int m_size = 1;
    Job m_job;
    alignas(64) std::atomic<unsigned> m_jobs = 0; ///< number of jobs that were posted
    alignas(64) std::atomic<int> m_busy = 0;      ///< number of threads that have not ended the job
    std::array<Worker, mostThreads> m_workers;
    std::mutex m_failing;
    std::exception_ptr m_failure;
};

} // namespace secateur
