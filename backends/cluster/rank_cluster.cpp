#include "backends/cluster/rank_cluster.h"

#include "analysis/base/bytes.h"
#include "analysis/base/usage_error.h"
#include "backends/cluster/rank_post.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

namespace secateur {

namespace {

using namespace std::chrono_literals;

/// Longest time until a waiting rank notices that it is asked to stop.
constexpr auto stopCheck = 50ms;
/// Time that rank 0 has to fail by itself before it hears of the failure of another rank.
constexpr auto ownFailure = 1s;

enum class Kind : std::uint8_t {
    // to rank 0
    ask,    ///< the rank is free in a round
    result, ///< of an item; the rank is free again
    error,  ///< of an item; the rank is free again
    failed,
    left,
    // from rank 0
    item,
    over,  ///< the round has no further item
    threw, ///< an item of the round threw an error
    value, ///< of a broadcast
    end,
};

/// A message. A round is a call of share(), which all ranks number alike.
struct Message {
    Kind kind = Kind::ask;
    std::uint64_t round = 0;
    std::uint64_t item = 0;
    std::string bytes = {};

    std::string packed() const {
        Packer packer;
        packer.put(kind);
        packer.put(round);
        packer.put(item);
        packer.put(bytes);
        return packer.take();
    }
};

Message unpacked(std::string_view bytes) {
    Unpacker unpacker(bytes);
    Message message;
    unpacker.get(message.kind);
    unpacker.get(message.round);
    unpacker.get(message.item);
    unpacker.get(message.bytes);
    return message;
}

std::string packed(const Error& error) {
    Packer packer;
    packer.put(dynamic_cast<const UsageError*>(&error) != nullptr);
    for (const std::string& text : {error.message(), error.subject(), error.hint()})
        packer.put(text);
    return packer.take();
}

[[noreturn]] void throwPacked(std::string_view bytes) {
    Unpacker unpacker(bytes);
    bool isUsage = false;
    unpacker.get(isUsage);
    std::array<std::string, 3> texts;
    for (std::string& text : texts)
        unpacker.get(text);
    if (isUsage)
        throw UsageError(texts[0], texts[1], texts[2]);
    throw Error(texts[0], texts[1], texts[2]);
}

std::string hostName() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

int coresOfProcess() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    return ::sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

/// What all ranks have in common.
class JoinedCluster : public RankCluster {
public:
    explicit JoinedCluster(std::function<void()> stop)
        : m_stop(std::move(stop))
        , m_post([this](int from, std::string_view bytes) { receive(from, unpacked(bytes)); }) {}

    int rank() const override { return m_post.rank(); }
    int size() const override { return m_post.size(); }
    int threads() const override {
        const int cores = static_cast<int>(std::thread::hardware_concurrency());
        return std::max(1, std::min(coresOfProcess(), cores / m_post.ranksOnNode()));
    }

    void share(std::size_t count, const Work& work, const Take& take, const Progress& progress) const override {
        return rank() == 0 ? giveOut(count, work, take, progress) : askForItems(work, progress);
    }

    std::string broadcast(std::string bytes) const override {
        if (rank() == 0) {
            for (int other = 1; other < size(); ++other)
                send(other, {Kind::value, 0, 0, bytes});
            return bytes;
        }
        std::unique_lock lock(m_mutex);
        while (m_values.empty()) {
            if (m_isOver)
                throw Cancelled();
            m_news.wait_for(lock, stopCheck);
        }
        std::string value = std::move(m_values.front());
        m_values.erase(m_values.begin());
        return value;
    }

    std::optional<RankFailure> failure() const override {
        const std::lock_guard lock(m_mutex);
        return m_failure;
    }

    void fail(const RankFailure& failure) override { report(failure); }

    void leave() override {
        std::unique_lock lock(m_mutex);
        if (rank() == 0) {
            for (int other = 1; other < size(); ++other)
                send(other, {Kind::end});
            m_news.wait(lock, [this] { return m_left == size() - 1; });
            return;
        }
        m_news.wait(lock, [this] { return m_isOver; });
        send(0, {Kind::left});
    }

private:
    void send(int to, const Message& message) const { m_post.send(to, message.packed()); }

    void report(const RankFailure& failure) const {
        std::unique_lock lock(m_mutex);
        if (m_hasFailed || m_news.wait_for(lock, ownFailure, [this] { return m_isOver; }))
            return;
        m_hasFailed = true;
        Packer packer;
        packer.put(fmt::format("rank {} on {}: {}", rank(), hostName(), failure.sentence));
        packer.put(failure.status);
        send(0, {Kind::failed, 0, 0, packer.take()});
    }

    // Rank 0.

    /// A rank that waits for an item.
    struct FreeRank {
        int rank;
        std::uint64_t round;
    };

    void giveOut(std::size_t count, const Work& work, const Take& take, const Progress& progress) const {
        {
            const std::lock_guard lock(m_mutex);
            ++m_round;
            m_count = count;
            m_next = 0;
            m_running = 0;
            serve();
        }
        std::size_t done = 0;
        const auto share = [&](std::size_t items) {
            return count > 0 ? static_cast<double>(items) / static_cast<double>(count) : 1;
        };
        for (bool isDone = false; !isDone;)
            try {
                done += takeArrived(take);
                if (const auto item = ownItem()) {
                    take(*item, work(*item, progress.part(share(done), share(done + 1))));
                    ++done;
                } else {
                    isDone = !waitForOthers(progress);
                }
            } catch (const Error& error) {
                noteError(packed(error));
            }
        closeRound();
    }

    std::size_t takeArrived(const Take& take) const {
        std::vector<Message> arrived;
        {
            const std::lock_guard lock(m_mutex);
            arrived.swap(m_results);
        }
        for (const Message& result : arrived)
            take(result.item, result.bytes);
        return arrived.size();
    }

    std::optional<std::size_t> ownItem() const {
        const std::lock_guard lock(m_mutex);
        return m_next < m_count ? std::optional(m_next++) : std::nullopt;
    }

    /// @returns false if no other rank works on an item, and all results were taken
    bool waitForOthers(const Progress& progress) const {
        progress.check();
        std::unique_lock lock(m_mutex);
        m_news.wait_for(lock, stopCheck, [this] { return m_running == 0 || !m_results.empty(); });
        return m_running > 0 || !m_results.empty();
    }

    void noteError(std::string error) const {
        const std::lock_guard lock(m_mutex);
        m_errors.try_emplace(m_round, std::move(error));
        m_next = m_count;
    }

    void closeRound() const {
        std::string error;
        {
            const std::lock_guard lock(m_mutex);
            m_closed = m_round;
            serve();
            if (const auto thrown = m_errors.find(m_round); thrown != m_errors.end())
                error = thrown->second;
        }
        if (!error.empty())
            throwPacked(error);
    }

    /// Answers the ranks that wait, as far as possible. The caller has the lock.
    void serve() const {
        std::erase_if(m_free, [this](const FreeRank& free) {
            if (free.round <= m_closed) {
                const auto thrown = m_errors.find(free.round);
                send(free.rank, thrown == m_errors.end() ? Message{Kind::over, free.round}
                                                         : Message{Kind::threw, free.round, 0, thrown->second});
                return true;
            }
            if (free.round != m_round || m_next == m_count)
                return false;
            send(free.rank, {Kind::item, m_round, m_next++});
            ++m_running;
            return true;
        });
    }

    // Other ranks.

    void askForItems(const Work& work, const Progress& progress) const {
        const std::uint64_t round = ++m_round;
        send(0, {Kind::ask, round});
        while (true) {
            const Message reply = waitForReply(progress);
            if (reply.kind == Kind::over)
                return;
            if (reply.kind == Kind::threw)
                throwPacked(reply.bytes);
            try {
                send(0, {Kind::result, round, reply.item, work(reply.item, progress)});
            } catch (const Error& error) {
                send(0, {Kind::error, round, reply.item, packed(error)});
            } catch (const Cancelled&) {
                report({"cancelled"}); // the caller may go on with partial results
                throw;
            }
        }
    }

    Message waitForReply(const Progress& progress) const {
        std::unique_lock lock(m_mutex);
        while (m_replies.empty()) {
            progress.check();
            if (m_isOver)
                throw Cancelled();
            m_news.wait_for(lock, stopCheck);
        }
        Message reply = std::move(m_replies.front());
        m_replies.erase(m_replies.begin());
        return reply;
    }

    /// Called on the thread of m_post.
    void receive(int from, Message message) {
        bool stops = false;
        {
            const std::lock_guard lock(m_mutex);
            stops = message.kind == Kind::end || message.kind == Kind::failed;
            note(from, std::move(message));
        }
        m_news.notify_all();
        if (stops)
            m_stop();
    }

    void note(int from, Message message) {
        switch (message.kind) {
        case Kind::result:
        case Kind::error:
            --m_running;
            if (message.kind == Kind::result) {
                m_results.push_back(message);
            } else {
                m_errors.try_emplace(message.round, std::move(message.bytes));
                m_next = m_count;
            }
            [[fallthrough]];
        case Kind::ask:
            m_free.push_back({from, message.round});
            serve();
            return;
        case Kind::failed:
            noteFailure(message.bytes);
            return;
        case Kind::left:
            ++m_left;
            return;
        case Kind::value:
            m_values.push_back(std::move(message.bytes));
            return;
        case Kind::end:
            m_isOver = true;
            return;
        default:
            m_replies.push_back(std::move(message));
        }
    }

    void noteFailure(std::string_view bytes) {
        Unpacker unpacker(bytes);
        RankFailure failure;
        unpacker.get(failure.sentence);
        unpacker.get(failure.status);
        if (!m_failure)
            m_failure = std::move(failure);
    }

    std::function<void()> m_stop;
    mutable std::mutex m_mutex;
    mutable std::condition_variable m_news;
    mutable std::uint64_t m_round = 0; ///< number of calls of share()

    // Rank 0.
    mutable std::uint64_t m_closed = 0; ///< the last round that is over
    mutable std::size_t m_count = 0;    ///< items of the round
    mutable std::size_t m_next = 0;     ///< the next item to give out
    mutable std::size_t m_running = 0;  ///< items that other ranks work on
    mutable std::vector<FreeRank> m_free;
    mutable std::vector<Message> m_results;                ///< not yet taken
    mutable std::map<std::uint64_t, std::string> m_errors; ///< the first of each round
    std::optional<RankFailure> m_failure;
    int m_left = 0; ///< ranks that have left

    // Other ranks.
    mutable std::vector<Message> m_replies;
    mutable std::vector<std::string> m_values;
    bool m_isOver = false;
    mutable bool m_hasFailed = false;

    mutable RankPost m_post; ///< the last member: its thread uses the others
};

} // namespace

Launch launchOfProcess() {
    struct Names {
        const char* rank;
        const char* size;
    };
    for (const auto& [rank, size] : {Names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                     Names{"PMI_RANK", "PMI_SIZE"}, Names{"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}})
        if (const char* own = std::getenv(rank)) {
            const char* all = std::getenv(size);
            return {std::atoi(own), !all || std::atoi(all) > 1};
        }
    return {};
}

std::unique_ptr<RankCluster> joinCluster(std::function<void()> stop) {
    return std::make_unique<JoinedCluster>(std::move(stop));
}

} // namespace secateur
