#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

namespace secateur {

/// Thrown by Progress when the user asked to stop. It is not an error. The caller that started the work catches it.
class Cancelled {};

/// Passes reports of a long computation to a receiver, and tells the computation when to stop. A default-constructed
/// Progress discards reports and never stops. Copies have the same receiver.
class Progress {
public:
    /// Receives a report. @param fraction 0 to 1; the function is called on the working thread
    using Report = std::function<void(double fraction, std::string_view text)>;

    Progress() = default;
    explicit Progress(Report report, std::stop_token stop = {});

    /// Reports the fraction done. @throws Cancelled when asked to stop
    void report(double fraction, std::string_view text) const;
    /// Checks whether to stop. @throws Cancelled when asked to stop
    void check() const;
    /// A Progress for a part of the work. Its fractions 0 to 1 become `from` to `to` of this Progress.
    Progress part(double from, double to) const;
    /// A Progress whose reports begin with "WHAT: ".
    Progress named(std::string what) const;

private:
    Report m_report;
    std::stop_token m_stop;
    double m_from = 0;
    double m_to = 1;
};

} // namespace secateur
