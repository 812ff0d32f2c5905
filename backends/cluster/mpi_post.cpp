#include "backends/cluster/rank_post.h"

#include <mpi.h>

#include <chrono>
#include <utility>

namespace secateur {

namespace {

/// Pause between two looks for messages.
constexpr auto pause = std::chrono::microseconds(200);

} // namespace

RankPost::RankPost(Receive receive)
    : m_receive(std::move(receive))
    , m_thread([this] { run(); }) {
    std::unique_lock lock(m_mutex);
    m_wakes.wait(lock, [this] { return m_hasJoined; });
}

RankPost::~RankPost() {
    {
        const std::lock_guard lock(m_mutex);
        m_leaves = true;
    }
    m_wakes.notify_all();
    m_thread.join();
}

void RankPost::send(int to, std::string bytes) {
    {
        const std::lock_guard lock(m_mutex);
        m_outbox.emplace_back(to, std::move(bytes));
    }
    m_wakes.notify_all();
}

void RankPost::run() {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
    join();
    deliver();
    MPI_Finalize();
}

void RankPost::join() {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    {
        const std::lock_guard lock(m_mutex);
        MPI_Comm_rank(MPI_COMM_WORLD, &m_rank);
        MPI_Comm_size(MPI_COMM_WORLD, &m_size);
        MPI_Comm_size(node, &m_ranksOnNode);
        m_hasJoined = true;
    }
    MPI_Comm_free(&node);
    m_wakes.notify_all();
}

void RankPost::deliver() {
    for (;;) {
        const bool hasReceived = receiveOne();
        if (sendOne() || hasReceived)
            continue;
        std::unique_lock lock(m_mutex);
        if (m_leaves && m_outbox.empty())
            return;
        m_wakes.wait_for(lock, pause, [this] { return m_leaves || !m_outbox.empty(); });
    }
}

bool RankPost::receiveOne() {
    int isThere = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &isThere, &status);
    if (isThere == 0)
        return false;
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    std::string bytes(static_cast<std::size_t>(count), '\0');
    MPI_Recv(bytes.data(), count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    m_receive(status.MPI_SOURCE, bytes);
    return true;
}

bool RankPost::sendOne() {
    std::pair<int, std::string> next;
    {
        const std::lock_guard lock(m_mutex);
        if (m_outbox.empty())
            return false;
        next = std::move(m_outbox.front());
        m_outbox.pop_front();
    }
    MPI_Send(next.second.data(), static_cast<int>(next.second.size()), MPI_BYTE, next.first, 0, MPI_COMM_WORLD);
    return true;
}

} // namespace secateur
