#pragma once

#include <QObject>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace secateur::test {

/// A time in which the event loop did not answer.
struct Stall {
    double seconds = 0;
    std::string action; ///< the last one before it
    double after = 0;   ///< seconds since that began
};

/// Asks the GUI thread something every few milliseconds, from a thread of its own, and keeps how long the answers took.
class GuiWatch {
public:
    GuiWatch();
    ~GuiWatch();
    GuiWatch(const GuiWatch&) = delete;
    GuiWatch& operator=(const GuiWatch&) = delete;

    /// What is done from now on.
    void setAction(const std::string& action);
    /// The longest first. @param most how many
    std::vector<Stall> longest(std::size_t most) const;
    std::size_t answers() const { return m_answers; }

private:
    void watch();

    QObject m_gui; ///< receives on the GUI thread
    mutable std::mutex m_mutex;
    std::string m_action = "nothing";
    long long m_since = 0; ///< nanoseconds
    std::vector<Stall> m_stalls;
    std::atomic<std::size_t> m_answers = 0;
    std::atomic<bool> m_ends = false;
    std::thread m_thread; ///< last: begins when all else is there
};

} // namespace secateur::test
