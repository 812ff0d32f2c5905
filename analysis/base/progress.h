#pragma once

#include <functional>
#include <stop_token>
#include <string_view>

namespace secateur {

/// Thrown by Progress when the user asked to stop. It is not an error; the caller that started the work catches it.
class Cancelled {};

/// Receives reports of long work and tells it to stop. A default-constructed one reports nothing and never stops.
/// Copies share the receiver.
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
    /// The same receiver, with 0..1 mapped to from..to.
    Progress part(double from, double to) const;

private:
    Report m_report;
    std::stop_token m_stop;
    double m_from = 0;
    double m_to = 1;
};

} // namespace secateur
