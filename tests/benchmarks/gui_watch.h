#pragma once

#include <QObject>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace secateur::test {

/// A period in which the event loop did not handle events.
struct Stall {
    double seconds = 0;
    std::string action; ///< the last action before the stall
    double after = 0;   ///< seconds from the beginning of that action to the beginning of the stall
};

/// Posts an event to the GUI thread every few milliseconds from another thread, and records the time until each event
/// is handled.
class GuiWatch {
public:
    GuiWatch();
    ~GuiWatch();
    GuiWatch(const GuiWatch&) = delete;
    GuiWatch& operator=(const GuiWatch&) = delete;

    /// Sets the name of the action that the GUI thread begins now.
    void setAction(const std::string& action);
    /// The longest stalls, the longest one first. @param most maximum number of stalls
    std::vector<Stall> longest(std::size_t most) const;
    std::size_t answers() const { return m_answers; }

private:
    void watch();

    QObject m_gui; ///< lives on the GUI thread and receives the events
    mutable std::mutex m_mutex;
    std::string m_action = "nothing";
    long long m_since = 0; ///< start of the action in nanoseconds
    std::vector<Stall> m_stalls;
    std::atomic<std::size_t> m_answers = 0;
    std::atomic<bool> m_ends = false;
    std::thread m_thread; ///< the last member, because the thread uses all members above
};

} // namespace secateur::test
