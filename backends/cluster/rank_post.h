#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace secateur {

/// Messages between the ranks of an MPI job. All calls of MPI are made by one thread, which sleeps between messages
/// instead of occupying a core. The only module that includes MPI.
class RankPost {
public:
    /// Called on the thread of this object with each message. It may call send().
    using Receive = std::function<void(int from, std::string_view bytes)>;

    /// Joins the job, and waits until all of its ranks have joined. @throws Error if this build has no MPI
    explicit RankPost(Receive receive);
    /// Sends what is waiting, and waits until all ranks leave.
    ~RankPost();
    RankPost(const RankPost&) = delete;
    RankPost& operator=(const RankPost&) = delete;

    int rank() const { return m_rank; }
    int size() const { return m_size; }
    int ranksOnNode() const { return m_ranksOnNode; } ///< including this one

    /// Sends a message. Returns at once. Messages to one rank arrive in order. @param bytes less than 2 GB
    void send(int to, std::string bytes);

private:
    void run();
    void join();
    void deliver();
    bool receiveOne();
    bool sendOne();

    Receive m_receive;
    int m_rank = 0;
    int m_size = 1;
    int m_ranksOnNode = 1;
    std::mutex m_mutex;
    std::condition_variable m_wakes;
    std::deque<std::pair<int, std::string>> m_outbox;
    bool m_hasJoined = false;
    bool m_leaves = false;
    std::thread m_thread; ///< the last member: it uses the others
};

} // namespace secateur
