#pragma once

#include <mutex>
#include <utility>

namespace secateur {

/// Passes partial results from a job to the window. The job adds to the contents; the window takes the contents, which
/// leaves the mailbox empty. The mailbox emits no signal: the window takes the contents when the job reports progress
/// and when it ends. Job and window share ownership, because either may end first.
template <typename Contents>
class Mailbox {
public:
    /// Changes the contents. @param change called with the contents while the mutex is locked
    template <typename Change>
    void put(Change change) {
        const std::lock_guard lock(m_mutex);
        change(m_contents);
    }

    /// Returns all contents that were added since the last call, and removes them.
    Contents take() {
        const std::lock_guard lock(m_mutex);
        return std::exchange(m_contents, Contents());
    }

private:
    std::mutex m_mutex;
    Contents m_contents = Contents();
};

} // namespace secateur
