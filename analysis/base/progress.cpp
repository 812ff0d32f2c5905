#include "analysis/base/progress.h"

#include <utility>

namespace secateur {

Progress::Progress(Report report, std::stop_token stop)
    : m_report(std::move(report))
    , m_stop(std::move(stop)) {}

void Progress::report(double fraction, std::string_view text) const {
    check();
    if (m_report)
        m_report(m_from + (m_to - m_from) * fraction, text);
}

void Progress::check() const {
    if (m_stop.stop_requested())
        throw Cancelled();
}

Progress Progress::part(double from, double to) const {
    Progress inner = *this;
    inner.m_from = m_from + (m_to - m_from) * from;
    inner.m_to = m_from + (m_to - m_from) * to;
    return inner;
}

Progress Progress::named(std::string what) const {
    Progress inner = *this;
    if (m_report)
        inner.m_report = [report = m_report, what = std::move(what)](double fraction, std::string_view text) {
            report(fraction, what + ": " + std::string(text));
        };
    return inner;
}

} // namespace secateur
