#include "backends/remote/link.h"

#include "analysis/base/error.h"
#include "analysis/base/shown_text.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ; // NOLINT: as POSIX declares it

namespace secateur {

namespace {

constexpr std::size_t mostErrorText = 2000;
constexpr std::size_t mostBefore = std::size_t{1} << 16U; ///< bytes before the greeting
constexpr std::size_t linkBuffer = std::size_t{1} << 16U;

/// A pipe that programs which are started later do not inherit.
struct Pipe {
    int read = -1;
    int write = -1;

    Pipe() {
        int ends[2]; // NOLINT: as pipe2() takes it
        if (::pipe2(ends, O_CLOEXEC) != 0)
            throw Error(fmt::format("No pipe can be made: {}", std::strerror(errno)));
        read = ends[0];
        write = ends[1];
    }
};

void closeFile(int& file) {
    if (file >= 0)
        ::close(file);
    file = -1;
}

void keepEnd(std::string& text, std::size_t most) {
    if (text.size() > most)
        text.erase(0, text.size() - most);
}

/// Waits for the end of a process, which has no standard input any more; ends it if it takes too long.
void reap(pid_t process) {
    using namespace std::chrono_literals;
    for (int step = 0; step < 100; ++step) {
        if (::waitpid(process, nullptr, WNOHANG) != 0)
            return;
        if (step == 60)
            ::kill(process, SIGTERM);
        std::this_thread::sleep_for(50ms);
    }
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
}

} // namespace

Link::Link(const std::vector<std::string>& command, Events events)
    : m_events(std::move(events)) {
    start(command);
    m_thread = std::thread([this] { run(); });
}

Link::~Link() {
    {
        const std::lock_guard lock(m_mutex);
        m_isClosing = true;
    }
    wake();
    m_thread.join();
    for (int* file : {&m_toProcess, &m_fromProcess, &m_errors, &m_wakeRead, &m_wakeWrite})
        closeFile(*file);
    std::thread(reap, m_process).detach();
}

void Link::start(const std::vector<std::string>& command) {
    const Pipe input;
    const Pipe output;
    const Pipe errors;
    const Pipe waking;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.read, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output.write, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors.write, STDERR_FILENO);
    // The window blocks or ignores signals that its children need.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::vector<char*> arguments;
    for (const std::string& argument : command)
        arguments.push_back(const_cast<char*>(argument.c_str())); // NOLINT: posix_spawn() does not change them
    arguments.push_back(nullptr);
    const int failure = posix_spawnp(&m_process, arguments.front(), &actions, &attributes, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    for (int file : {input.read, output.write, errors.write})
        ::close(file);
    m_toProcess = input.write;
    m_fromProcess = output.read;
    m_errors = errors.read;
    m_wakeRead = waking.read;
    m_wakeWrite = waking.write;
    if (failure != 0) {
        for (int* file : {&m_toProcess, &m_fromProcess, &m_errors, &m_wakeRead, &m_wakeWrite})
            closeFile(*file);
        throw Error(fmt::format("cannot be started: {}", std::strerror(failure)), command.front());
    }
    for (const int file : {m_toProcess, m_fromProcess, m_errors, m_wakeRead, m_wakeWrite})
        ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) | O_NONBLOCK); // NOLINT: the interface of POSIX
}

void Link::wake() const {
    const char byte = 0;
    [[maybe_unused]] const auto written = ::write(m_wakeWrite, &byte, 1); // a full pipe wakes too
}

void Link::send(const Message& message) {
    std::string bytes = encoded(message);
    {
        const std::lock_guard lock(m_mutex);
        m_outbox.push_back(std::move(bytes));
    }
    wake();
}

void Link::giveUp(const std::string& why) {
    {
        const std::lock_guard lock(m_mutex);
        m_givenUp = why;
    }
    wake();
}

void Link::run() {
    std::string why;
    try {
        why = moveBytes();
    } catch (const std::exception& error) {
        why = error.what();
    }
    closeFile(m_toProcess);
    if (!why.empty())
        m_events.lost(why);
}

/// Moves bytes until the end. @returns why it ended; empty = this object is closed
std::string Link::moveBytes() {
    while (true) {
        {
            const std::lock_guard lock(m_mutex);
            if (m_isClosing)
                return {};
            if (!m_givenUp.empty())
                return m_givenUp;
            if (m_sent == m_sending.size() && !m_outbox.empty()) {
                m_sending = std::move(m_outbox.front());
                m_outbox.pop_front();
                m_sent = 0;
            }
        }
        const bool isSending = m_sent < m_sending.size();
        std::array<pollfd, 4> files{pollfd{m_fromProcess, POLLIN, 0}, pollfd{m_errors, POLLIN, 0},
                                    pollfd{m_wakeRead, POLLIN, 0}, pollfd{isSending ? m_toProcess : -1, POLLOUT, 0}};
        ::poll(files.data(), files.size(), -1);
        if (files[2].revents != 0) {
            std::array<char, 64> ignored{};
            while (::read(m_wakeRead, ignored.data(), ignored.size()) > 0)
                ;
        }
        if (files[1].revents != 0 && !readFrom(m_errors, Stream::errors))
            closeFile(m_errors);
        if (files[0].revents != 0 && !readFrom(m_fromProcess, Stream::output)) {
            readLastErrors();
            return endText();
        }
        if (files[3].revents != 0)
            writeSome();
    }
}

/// Reads what there is. @returns false at the end
bool Link::readFrom(int file, Stream stream) {
    static thread_local std::array<char, linkBuffer> buffer;
    const ssize_t count = ::read(file, buffer.data(), buffer.size());
    if (count < 0)
        return errno == EAGAIN || errno == EINTR;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    if (stream == Stream::output) {
        take(bytes);
    } else {
        m_errorText += bytes;
        keepEnd(m_errorText, mostErrorText);
    }
    return count > 0;
}

/// Reads what the process writes to its standard error while it ends.
void Link::readLastErrors() {
    constexpr int waitMs = 300;
    pollfd file{m_errors, POLLIN, 0};
    while (m_errors >= 0 && ::poll(&file, 1, waitMs) > 0 && readFrom(m_errors, Stream::errors))
        ;
}

void Link::writeSome() {
    const ssize_t count = ::write(m_toProcess, m_sending.data() + m_sent, m_sending.size() - m_sent);
    if (count > 0)
        m_sent += static_cast<std::size_t>(count);
    else if (errno != EAGAIN && errno != EINTR)
        m_sent = m_sending.size(); // the end of its output follows
}

void Link::take(std::string_view bytes) {
    if (m_isGreeted)
        m_reader.add(bytes);
    else
        skipGreeting(bytes);
    while (m_isGreeted) {
        std::optional<Message> message = m_reader.next();
        if (!message)
            return;
        m_events.message(std::move(*message));
    }
}

/// Skips the greeting and what a login wrote before it.
void Link::skipGreeting(std::string_view bytes) {
    m_before += bytes;
    const std::size_t found = m_before.find(serverGreeting);
    if (found != std::string::npos) {
        m_isGreeted = true;
        m_reader.add(std::string_view(m_before).substr(found + serverGreeting.size()));
        m_before.clear();
    } else if (m_before.size() > mostBefore) {
        throw Error("The command does not start `secateur-cli serve`: it writes \"" +
                    shownLine(m_before.substr(0, 80)) + "…\"");
    }
}

/// What the process said last, as the reason why it ended.
std::string Link::endText() const {
    std::string last = m_errorText.empty() ? m_before : m_errorText;
    while (!last.empty() && (last.back() == '\n' || last.back() == '\r' || last.back() == ' '))
        last.pop_back();
    const std::size_t line = last.rfind('\n');
    last = shownLine(line == std::string::npos ? last : last.substr(line + 1));
    return last.empty() ? "the server ended" : "the server ended: " + last;
}

} // namespace secateur
