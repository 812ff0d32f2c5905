#include "tests/benchmarks/gui_watch.h"

#include <QMetaObject>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>

namespace secateur::test {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto pause = std::chrono::milliseconds(3);
constexpr double worthKeeping = 0.01; ///< seconds; shorter stalls are not recorded

long long now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

} // namespace

GuiWatch::GuiWatch()
    : m_since(now())
    , m_thread([this] { watch(); }) {}

GuiWatch::~GuiWatch() {
    m_ends = true;
    m_thread.join();
}

void GuiWatch::setAction(const std::string& action) {
    const std::lock_guard lock(m_mutex);
    m_action = action;
    m_since = now();
}

std::vector<Stall> GuiWatch::longest(std::size_t most) const {
    const std::lock_guard lock(m_mutex);
    std::vector<Stall> sorted = m_stalls;
    std::ranges::sort(sorted, std::greater<>(), &Stall::seconds);
    sorted.resize(std::min(most, sorted.size()));
    return sorted;
}

void GuiWatch::watch() {
    while (!m_ends) {
        const long long asked = now();
        const auto answer = std::make_shared<std::promise<long long>>();
        std::future<long long> answered = answer->get_future();
        QMetaObject::invokeMethod(
            &m_gui, [answer] { answer->set_value(now()); }, Qt::QueuedConnection);
        while (answered.wait_for(pause) != std::future_status::ready)
            if (m_ends)
                return;
        ++m_answers;
        const double seconds = 1e-9 * static_cast<double>(answered.get() - asked);
        if (seconds > worthKeeping) {
            const std::lock_guard lock(m_mutex);
            m_stalls.push_back({seconds, m_action, 1e-9 * static_cast<double>(asked - m_since)});
        }
        std::this_thread::sleep_for(pause);
    }
}

} // namespace secateur::test
