#pragma once

#include <functional>
#include <stop_token>
#include <string_view>

namespace secateur {

/// Thrown by Progress when the user asked to stop. Not an error: the caller that started the work catches it.
class Cancelled {};

/// A long computation reports its progress here, and learns here that it should stop. A default-constructed Progress
/// discards reports and never stops. Copies share the receiver of reports.
class Progress {
public:
    /// @param fraction 0 to 1; called on the working thread
    using Report = std::function<void(double fraction, std::string_view text)>;

    Progress() = default;
    explicit Progress(Report report, std::stop_token stop = {});

    /// Reports the fraction done. @throws Cancelled when asked to stop
    void report(double fraction, std::string_view text) const;
    /// @throws Cancelled when asked to stop
    void check() const;
    /// For a part of the work: reports to the same receiver, with fractions 0 to 1 mapped to `from` to `to`.
    Progress part(double from, double to) const;

private:
    Report m_report;
    std::stop_token m_stop;
    double m_from = 0;
    double m_to = 1;
};

} // namespace secateur
