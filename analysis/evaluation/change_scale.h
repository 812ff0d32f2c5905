#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace secateur {

/// A change of the loss before it is measured, nats per target.
struct Prediction {
    double nats = 0;
    double low = 0; ///< of the interval that holds the measured change in 90 % of cases
    double high = 0;
};

/// What kinds of cuts a mask is made of; neurons count as MLPs.
inline constexpr std::size_t cutKinds = 5; ///< heads, attention, MLPs, blocks, bypasses: in the order of Gate::Of

/// A second-order estimate, before anything was learnt from measurements.
struct RawChange {
    double nats = 0;
    std::array<double, cutKinds> shares{}; ///< of the estimate, by kind; together 1, or all 0
};

/// How estimates relate to what is measured (methods.md 4.5). Cuts cost from thousandths of a nat to several nats, and
/// estimates err by a factor: so both are compared as asinh(nats / 0.01), which is a logarithm but for the smallest.
/// There a line is fitted, its offset by kinds of cuts: a Bayesian regression, so that nothing measured means that
/// estimates stand as they are, and few measurements move them little. The interval is the spread of what was measured
/// about what had been predicted before, joined by a prior, and what is not known of the line.
class ChangeScale {
public:
    ChangeScale();

    Prediction predict(const RawChange& change) const;
    /// Changes that are not finite teach nothing.
    void learn(const RawChange& change, double measuredNats);

    std::size_t learnt() const { return m_learnt; }
    /// What an estimate made of one kind of cuts, of 0.1 nats, is multiplied by.
    std::array<double, cutKinds> factors() const;

private:
    static constexpr std::size_t terms = cutKinds + 2;
    using Terms = std::array<double, terms>;
    struct Guess {
        Terms terms;
        double middle = 0;
        double noise = 0;     ///< how much an estimate of this size errs, in units of the common spread
        double deviation = 0; ///< the same with what is not known of the line
    };
    Guess guess(const RawChange& change) const;
    Terms solved(const Terms& right) const;
    double spread() const;

    std::array<Terms, terms> m_precision{};
    Terms m_weighted{};
    double m_squares = 0; ///< of standardised errors
    std::size_t m_learnt = 0;
};

} // namespace secateur
