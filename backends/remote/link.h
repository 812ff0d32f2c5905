#pragma once

#include "backends/remote/message.h"

#include <sys/types.h>

#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace secateur {

/// A process that answers messages over its standard input and output. A thread moves the bytes; nobody waits for the
/// process but those who want to.
class Link {
public:
    /// Called on the thread of this object.
    struct Events {
        std::function<void(Message message)> message;
        std::function<void(const std::string& why)> lost; ///< the last call
    };

    /// Starts the process. @param command program, found in PATH, and arguments @throws Error if it cannot be started
    Link(const std::vector<std::string>& command, Events events);
    /// Closes the standard input of the process, which then ends. Does not wait for it.
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /// Sends a message. Returns at once.
    void send(const Message& message);
    /// Gives the process up. Events::lost follows with the reason.
    void giveUp(const std::string& why);

private:
    enum class Stream { output, errors };

    void start(const std::vector<std::string>& command);
    void run();
    std::string moveBytes();
    bool readFrom(int file, Stream stream);
    void readLastErrors();
    void writeSome();
    void take(std::string_view bytes);
    void skipGreeting(std::string_view bytes);
    std::string endText() const;
    void wake() const;

    Events m_events;
    pid_t m_process = -1;
    int m_toProcess = -1;
    int m_fromProcess = -1;
    int m_errors = -1;
    int m_wakeRead = -1;
    int m_wakeWrite = -1;

    // Of the thread only.
    MessageReader m_reader;
    bool m_isGreeted = false;
    std::string m_before;    ///< what came before the greeting, in part
    std::string m_errorText; ///< the end of what the process wrote to its standard error
    std::string m_sending;
    std::size_t m_sent = 0; ///< bytes of m_sending

    std::mutex m_mutex;
    std::deque<std::string> m_outbox;
    std::string m_givenUp; ///< why; empty = not
    bool m_isClosing = false;

    std::thread m_thread; ///< the last member: it uses the others
};

} // namespace secateur
