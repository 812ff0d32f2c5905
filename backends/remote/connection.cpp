#include "backends/remote/connection.h"

#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "backends/remote/copied_files.h"
#include "backends/remote/model_facts.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <utility>

namespace secateur {

namespace {

using Steady = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds glance{0.05};      ///< between looks at whether to stop
constexpr Seconds lastWords{0.4};    ///< for a cancelled call to return what it has
constexpr Seconds greetingTime{120}; ///< for a login, which may ask for a password
constexpr Seconds pingEvery{3};
constexpr Seconds silence{20}; ///< without an answer to a ping, after which a connection is lost
constexpr std::array pauses{Seconds{0.1}, Seconds{0.5}, Seconds{1}, Seconds{2}, Seconds{4}};
constexpr int mostRepeats = 3; ///< of a call during which the connection was lost

void pause(Seconds time, const Progress& progress) {
    for (const auto end = Steady::now() + time; Steady::now() < end; std::this_thread::sleep_for(glance))
        progress.check();
}

} // namespace

/// A call that waits for its result.
struct Connection::Pending {
    std::mutex mutex;
    std::condition_variable arrived;
    std::optional<Message> progress; ///< the latest
    std::deque<std::string> parts;
    std::optional<Message> end; ///< result, failed or cancelled
};

/// A server process, from its start to its end.
struct Connection::Session {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::uint64_t, std::shared_ptr<Pending>> calls;
    std::uint64_t lastId = 0;
    std::optional<Message> hello;
    std::optional<std::string> lost;         ///< why
    std::optional<Steady::time_point> asked; ///< when a ping was sent that has no answer yet
    std::optional<double> latency;
    std::mutex copying;
    std::map<std::string, std::string> copies; ///< by path and state of the file
    std::unique_ptr<Link> link;                ///< the last member: its thread uses the others

    ~Session() { link.reset(); }

    void take(Message message) {
        const std::lock_guard lock(mutex);
        if (message.kind == MessageKind::hello)
            hello = std::move(message);
        else if (message.kind == MessageKind::pong && asked)
            latency = Seconds(Steady::now() - *std::exchange(asked, std::nullopt)).count();
        else if (const auto found = calls.find(message.id); found != calls.end())
            hand(*found->second, std::move(message));
        changed.notify_all();
    }

    static void hand(Pending& call, Message message) {
        const std::lock_guard lock(call.mutex);
        if (message.kind == MessageKind::progress)
            call.progress = std::move(message);
        else if (message.kind == MessageKind::part)
            call.parts.push_back(std::move(message.body));
        else if (message.kind == MessageKind::result || message.kind == MessageKind::failed ||
                 message.kind == MessageKind::cancelled)
            call.end = std::move(message);
        call.arrived.notify_all();
    }

    void lose(const std::string& why) {
        const std::lock_guard lock(mutex);
        lost = why;
        for (const auto& [id, call] : calls)
            call->arrived.notify_all();
        changed.notify_all();
    }

    std::optional<std::string> whyLost() {
        const std::lock_guard lock(mutex);
        return lost;
    }
};

Connection::Connection(RemoteAddress address, const Progress& progress)
    : m_address(std::move(address)) {
    m_status.place = m_address.place;
    m_status.connections = 0;
    try {
        m_session = connected(progress);
    } catch (const UsageError&) {
        throw;
    } catch (const Error& error) {
        throw error.within(m_address.shown);
    }
    m_keeper = std::jthread([this](const std::stop_token& stop) { keep(stop); });
}

Connection::~Connection() = default;

FarStatus Connection::status() const {
    const std::lock_guard lock(m_mutex);
    FarStatus status = m_status;
    if (m_session) {
        const std::lock_guard own(m_session->mutex);
        status.latency = m_session->latency;
    }
    return status;
}

void Connection::setProblem(const std::string& problem) {
    const std::lock_guard lock(m_mutex);
    m_status.problem = problem;
    m_status.isConnected = problem.empty();
}

/// Starts a server, checks that it speaks the same messages, and opens the model. @throws Error; Cancelled
std::shared_ptr<Connection::Session> Connection::connected(const Progress& progress) {
    auto made = std::make_shared<Session>();
    Session& own = *made;
    own.link = std::make_unique<Link>(m_address.command,
                                      Link::Events{[&own](Message message) { own.take(std::move(message)); },
                                                   [&own](const std::string& why) { own.lose(why); }});
    std::unique_lock lock(own.mutex);
    for (const auto end = Steady::now() + greetingTime; !own.hello && !own.lost; own.changed.wait_for(lock, glance)) {
        progress.check();
        if (Steady::now() > end)
            throw Error("The server does not answer");
    }
    if (!own.hello)
        throw Error(*own.lost, {}, "`secateur-cli serve` must start there, and the login must need no terminal");
    if (own.hello->version != messageVersion || own.hello->text != SECATEUR_VERSION)
        throw Error(fmt::format("The server has Secateur {} (messages {}), this is Secateur {} (messages {})",
                                own.hello->text, own.hello->version, SECATEUR_VERSION, messageVersion),
                    {}, "Install the same version on both machines");
    lock.unlock();
    own.link->send({.kind = MessageKind::hello, .text = SECATEUR_VERSION, .version = messageVersion});
    const FarCall open{.job = "open", .arguments = [this] { return wireBytes(m_address.path); }};
    std::string opened;
    try {
        opened = callOn(own, open, progress);
    } catch (const Lost& lost) {
        throw Error(lost.why);
    }
    if (m_opened.empty())
        m_opened = std::move(opened);
    else if (fingerprintIn(opened) != fingerprintIn(m_opened))
        throw Error("is another model than before", m_address.path);
    const std::lock_guard status(m_mutex);
    ++m_status.connections;
    if (!own.hello->subject.empty() && m_address.place == "server")
        m_status.place = own.hello->subject;
    return made;
}

/// The living connection; a new one if it was lost. @throws Error if none can be made; Cancelled
std::shared_ptr<Connection::Session> Connection::session(const Progress& progress) {
    std::unique_lock connecting(m_connecting, std::defer_lock);
    while (!connecting.try_lock())
        pause(glance, progress);
    std::shared_ptr<Session> now;
    {
        const std::lock_guard lock(m_mutex);
        now = m_session;
    }
    const std::optional<std::string> why = now->whyLost();
    if (!why)
        return now;
    now = reconnected(*why, progress);
    const std::lock_guard lock(m_mutex);
    m_session = now;
    return now;
}

std::shared_ptr<Connection::Session> Connection::reconnected(const std::string& why, const Progress& progress) {
    std::string latest = why;
    setProblem(latest);
    spdlog::warn("{}: the connection was lost: {}", m_address.place, why);
    for (const Seconds time : pauses) {
        pause(time, progress);
        try {
            std::shared_ptr<Session> made = connected(progress);
            setProblem({});
            spdlog::info("{}: connected again", m_address.place);
            return made;
        } catch (const Error& error) {
            latest = error.what();
            setProblem(latest);
        }
    }
    throw Error("The connection to the server was lost and cannot be made again: " + latest, m_address.shown,
                "Nothing that was measured is lost. Each action tries to connect again");
}

std::string Connection::call(const FarCall& call, const Progress& progress) {
    for (int repeats = 0;; ++repeats) {
        const std::shared_ptr<Session> own = session(progress);
        try {
            return callOn(*own, call, progress);
        } catch (const Lost& lost) {
            if (repeats >= mostRepeats)
                throw Error(
                    fmt::format("The connection was lost {} times while {} ran: {}", repeats + 1, call.job, lost.why),
                    m_address.shown);
        }
    }
}

namespace {

[[noreturn]] void fail(const Message& end) {
    if (end.kind == MessageKind::cancelled)
        throw Cancelled();
    if (end.isUsageError)
        throw UsageError(end.text, end.subject, end.hint);
    throw Error(end.text, end.subject, end.hint);
}

} // namespace

/// @throws Lost if the connection ends before the call
std::string Connection::callOn(Session& session, const FarCall& call, const Progress& progress) {
    std::string arguments = call.arguments ? call.arguments() : std::string();
    const auto pending = std::make_shared<Pending>();
    std::uint64_t id = 0;
    {
        const std::lock_guard lock(session.mutex);
        id = ++session.lastId;
        session.calls[id] = pending;
    }
    bool isOver = false;
    const auto forget = [&](const void*) {
        {
            const std::lock_guard lock(session.mutex);
            session.calls.erase(id);
        }
        if (!isOver)
            session.link->send({.kind = MessageKind::cancel, .id = id});
    };
    const std::unique_ptr<const void, decltype(forget)> forgets(&session, forget);
    session.link->send(
        {.kind = MessageKind::call, .id = id, .job = std::string(call.job), .body = std::move(arguments)});

    std::optional<Steady::time_point> stopped; // when the call was asked to stop
    bool hasEnough = false;
    std::unique_lock lock(pending->mutex);
    while (true) {
        if (!pending->progress && pending->parts.empty() && !pending->end)
            pending->arrived.wait_for(lock, glance);
        const std::optional<Message> news = std::exchange(pending->progress, std::nullopt);
        const std::deque<std::string> parts = std::exchange(pending->parts, {});
        const bool isEnded = pending->end.has_value();
        lock.unlock(); // what follows takes its time, or waits for jobs of higher priority
        try {
            for (const std::string& part : parts)
                if (call.part)
                    call.part(part);
            if (news && !stopped)
                progress.report(news->fraction, news->text);
            if (!stopped && !isEnded)
                progress.check();
        } catch (const Cancelled&) {
            session.link->send({.kind = MessageKind::cancel, .id = id});
            stopped = Steady::now();
        }
        if (!isEnded) {
            if (stopped && Steady::now() - *stopped > lastWords)
                throw Cancelled();
            if (const auto why = session.whyLost())
                throw Lost{*why};
            if (!hasEnough && call.isEnough && call.isEnough()) {
                session.link->send({.kind = MessageKind::enough, .id = id});
                hasEnough = true;
            }
        }
        lock.lock();
        isOver = isEnded && pending->parts.empty();
        if (isOver)
            break;
    }
    if (pending->end->kind != MessageKind::result)
        fail(*pending->end);
    return std::move(pending->end->body);
}

std::string Connection::copied(const std::string& path, const Progress& progress) {
    for (int repeats = 0;; ++repeats) {
        const std::shared_ptr<Session> own = session(progress);
        try {
            const std::lock_guard copying(own->copying);
            std::string& copy = own->copies[stateOf(path)];
            if (copy.empty())
                copy = copyOn(*own, path, progress);
            return copy;
        } catch (const Lost& lost) {
            if (repeats >= mostRepeats)
                throw Error(lost.why, m_address.shown);
        }
    }
}

std::string Connection::copyOn(Session& session, const std::string& path, const Progress& progress) {
    const CopiedFiles files = filesAt(path);
    return fromWire<std::string>(
        callOn(session, {.job = "keep_files", .arguments = [&] { return wireBytes(files); }}, progress));
}

/// Sends pings, and connects again where nobody else does.
void Connection::keep(const std::stop_token& stop) {
    const Progress untilEnd({}, stop);
    Seconds wait = pingEvery;
    while (true) {
        {
            std::unique_lock lock(m_mutex);
            m_wakes.wait_for(lock, stop, wait, [] { return false; });
        }
        if (stop.stop_requested())
            return;
        wait = pingEvery;
        try {
            session(untilEnd);
            ping();
        } catch (const Cancelled&) {
            return;
        } catch (const Error&) {
            wait = 10 * pingEvery; // the status says so
        }
    }
}

void Connection::ping() {
    std::shared_ptr<Session> own;
    {
        const std::lock_guard lock(m_mutex);
        own = m_session;
    }
    std::unique_lock lock(own->mutex);
    if (own->asked && Steady::now() - *own->asked > silence) {
        lock.unlock();
        return own->link->giveUp(fmt::format("the server has not answered for {:.0f} seconds", silence.count()));
    }
    if (own->asked)
        return;
    own->asked = Steady::now();
    lock.unlock();
    own->link->send({.kind = MessageKind::ping});
}

} // namespace secateur
