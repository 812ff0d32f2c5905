#pragma once

#include <mutex>
#include <utility>

namespace secateur {

/// Carries partial results from a worker to the window. The worker adds to the contents; the window takes them, which
/// leaves the box empty. The box emits no signal: the window looks into it when the job reports progress, and when it
/// ends. Job and window own the box together, because either may end first.
template <typename Contents>
class Mailbox {
public:
    /// @param change called with the contents, under the lock
    template <typename Change>
    void put(Change change) {
        const std::lock_guard lock(m_mutex);
        change(m_contents);
    }

    /// The contents that were put in since the last call.
    Contents take() {
        const std::lock_guard lock(m_mutex);
        return std::exchange(m_contents, Contents());
    }

private:
    std::mutex m_mutex;
    Contents m_contents = Contents();
};

} // namespace secateur
