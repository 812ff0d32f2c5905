#pragma once

#include <functional>
#include <stop_token>
#include <string_view>

namespace secateur {

/// Thrown out of Progress when the person asked to stop; not an error, caught by whoever started the work.
class Cancelled {};

/// Handed to every piece of long work. A default one is silent and never stops. Copies report to the same place.
class Progress {
public:
    /// @param fraction 0 to 1; called on the thread that works
    using Report = std::function<void(double fraction, std::string_view text)>;

    Progress() = default;
    explicit Progress(Report report, std::stop_token stop = {});

    /// Says how far the work is. @throws Cancelled when asked to stop
    void report(double fraction, std::string_view text) const;
    /// @throws Cancelled when asked to stop
    void check() const;
    /// The same receiver, with 0..1 mapped to from..to.
    Progress part(double from, double to) const;

private:
    Report m_report;
    std::stop_token m_stop;
    double m_from = 0;
    double m_to = 1;
};

} // namespace secateur
