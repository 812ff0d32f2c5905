#include "backends/remote/remote_server.h"

#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "backends/remote/message.h"
#include "backends/remote/remote_jobs.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace secateur {

namespace {

constexpr std::size_t mostCalls = 64; ///< at once
constexpr std::size_t serverBuffer = std::size_t{1} << 16U;

/// Writes messages, whole and one at a time.
class Sender {
public:
    explicit Sender(int file)
        : m_file(file) {}

    void greet() { write(serverGreeting); }
    void send(const Message& message) { write(encoded(message)); }

private:
    void write(std::string_view bytes) {
        const std::lock_guard lock(m_mutex);
        while (!bytes.empty() && !m_isBroken) {
            const ssize_t count = ::write(m_file, bytes.data(), bytes.size());
            if (count > 0)
                bytes.remove_prefix(static_cast<std::size_t>(count));
            else if (errno != EINTR)
                m_isBroken = true; // the end of the input follows
        }
    }

    int m_file;
    std::mutex m_mutex;
    bool m_isBroken = false;
};

std::string hostName() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

Message failure(std::uint64_t id, const Error& error) {
    return {.kind = MessageKind::failed,
            .id = id,
            .text = error.message(),
            .subject = error.subject(),
            .hint = error.hint(),
            .isUsageError = dynamic_cast<const UsageError*>(&error) != nullptr};
}

/// The calls that run, and the thread of each.
class Calls {
public:
    Calls(JobSide& side, Sender& sender)
        : m_side(side)
        , m_sender(sender) {}
    ~Calls() {
        stopAll();
        std::unique_lock lock(m_mutex);
        m_ended.wait(lock, [this] { return m_running.empty(); });
    }
    Calls(const Calls&) = delete;
    Calls& operator=(const Calls&) = delete;

    void take(const Message& message) {
        if (message.kind == MessageKind::ping)
            m_sender.send({.kind = MessageKind::pong});
        else if (message.kind == MessageKind::call)
            begin(message);
        else if (message.kind == MessageKind::cancel || message.kind == MessageKind::enough)
            tell(message);
        else
            throw Error("A message is of a kind that a server does not get");
    }

    void stopAll() {
        const std::lock_guard lock(m_mutex);
        for (const auto& [id, call] : m_running)
            call->stop.request_stop();
    }

private:
    struct Call {
        std::stop_source stop;
        std::atomic<bool> isEnough = false;
    };

    void begin(const Message& message) {
        const auto call = std::make_shared<Call>();
        {
            const std::lock_guard lock(m_mutex);
            if (m_running.size() >= mostCalls || m_running.contains(message.id))
                throw Error("A client has too many calls, or two with one number");
            m_running.emplace(message.id, call);
        }
        std::thread([this, call, message] {
            m_sender.send(answerOf(message, *call));
            const std::lock_guard lock(m_mutex);
            m_running.erase(message.id);
            m_ended.notify_all(); // with the mutex held: this object may be gone afterwards
        }).detach();
    }

    void tell(const Message& message) {
        const std::lock_guard lock(m_mutex);
        const auto found = m_running.find(message.id);
        if (found == m_running.end())
            return; // it has ended
        if (message.kind == MessageKind::cancel)
            found->second->stop.request_stop();
        else
            found->second->isEnough = true;
    }

    Message answerOf(const Message& message, Call& call) {
        try {
            std::string body = resultOf(message, call);
            if (body.size() > mostBody)
                throw Error("The result is too large for a message");
            return {.kind = MessageKind::result, .id = message.id, .body = std::move(body)};
        } catch (const Cancelled&) {
            return {.kind = MessageKind::cancelled, .id = message.id};
        } catch (const Error& error) {
            return failure(message.id, error);
        } catch (const std::bad_alloc&) {
            return failure(message.id, Error("There is not enough memory on the server"));
        } catch (const std::exception& error) {
            const std::string_view text = error.what();
            return failure(message.id, Error(std::string(text.substr(0, text.find('\n')))));
        }
    }

    std::string resultOf(const Message& message, Call& call) {
        const RemoteJob* job = findRemoteJob(message.job);
        if (!job)
            throw Error("A message names an unknown job");
        spdlog::debug("call {}: {}", message.id, message.job);
        const JobControl control{
            .progress = Progress(
                [this, id = message.id, last = std::make_shared<Last>()](double fraction, std::string_view text) {
                    if (last->isDue(fraction))
                        m_sender.send(
                            {.kind = MessageKind::progress, .id = id, .text = std::string(text), .fraction = fraction});
                },
                call.stop.get_token()),
            .part =
                [this, id = message.id](std::string part) {
                    m_sender.send({.kind = MessageKind::part, .id = id, .body = std::move(part)});
                },
            .isEnough = [&call] { return call.isEnough.load(); }};
        WireReader arguments(message.body, m_side.spec());
        return job->run(m_side, arguments, control);
    }

    /// Limits reports to some in a second.
    class Last {
    public:
        bool isDue(double fraction) {
            constexpr std::chrono::milliseconds every{40};
            const std::lock_guard lock(m_mutex);
            const auto now = std::chrono::steady_clock::now();
            if (fraction < 1 && now - m_time < every)
                return false;
            m_time = now;
            return true;
        }

    private:
        std::mutex m_mutex;
        std::chrono::steady_clock::time_point m_time{};
    };

    JobSide& m_side;
    Sender& m_sender;
    std::mutex m_mutex;
    std::condition_variable m_ended;
    std::map<std::uint64_t, std::shared_ptr<Call>> m_running;
};

void checkHello(const Message& message) {
    if (message.kind != MessageKind::hello)
        throw Error("A client does not say its version first");
    if (message.version != messageVersion || message.text != SECATEUR_VERSION)
        throw Error(fmt::format("The client has Secateur {} (messages {}), this is Secateur {} (messages {})",
                                message.text, message.version, SECATEUR_VERSION, messageVersion),
                    {}, "Install the same version on both machines");
}

} // namespace

void serve(const Services& services, int input, int output, const std::stop_token& stop) {
    Sender sender(output);
    sender.greet();
    sender.send(
        {.kind = MessageKind::hello, .text = SECATEUR_VERSION, .subject = hostName(), .version = messageVersion});
    JobSide side(services);
    MessageReader reader;
    bool isKnown = false;
    std::vector<char> buffer(serverBuffer);
    Calls calls(side, sender);
    while (!stop.stop_requested()) {
        constexpr int glanceMs = 200;
        pollfd file{input, POLLIN, 0};
        if (::poll(&file, 1, glanceMs) <= 0)
            continue;
        const ssize_t count = ::read(input, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return;
        reader.add({buffer.data(), static_cast<std::size_t>(count)});
        while (const std::optional<Message> message = reader.next()) {
            if (isKnown)
                calls.take(*message);
            else
                checkHello(*message);
            isKnown = true;
        }
    }
}

} // namespace secateur
