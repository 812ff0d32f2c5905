#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace secateur {

/// A predicted change of the loss, in nats per token.
struct Prediction {
    double nats = 0;
    double low = 0; ///< end of the 90 % prediction interval
    double high = 0;
};

/// Number of kinds of cuts, in the order of Gate::Of: heads, attention, MLPs (neurons included), blocks, bypasses.
inline constexpr std::size_t cutKinds = 5;

/// A second-order estimate of the change of the loss, before calibration by measurements.
struct RawChange {
    double nats = 0;
    std::array<double, cutKinds> shares{}; ///< of the kinds of cuts in the second-order term; sum 1, or all 0
};

/// Calibrates estimated changes of the loss by measured ones (resources/manual/metrics.md, Prediction of a mask).
/// Changes range from thousandths of a nat to several nats, and estimates are wrong by a factor. Estimates and
/// measurements are therefore mapped by asinh(nats / 0.01), which is logarithmic except for the smallest changes.
/// Bayesian regression fits a line through the mapped pairs, with an offset for each kind of cut: without measurements
/// the estimates stay as they are, and a few measurements change them little. The prediction interval combines the
/// uncertainty of the line with the spread of measured changes about their predictions, which has a prior.
class ChangeScale {
public:
    ChangeScale();

    Prediction predict(const RawChange& change) const;
    /// Adds a measured change to the regression. Ignores numbers that are not finite.
    void learn(const RawChange& change, double measuredNats);

    std::size_t learnt() const { return m_learnt; }
    /// The factor by which an estimate of 0.1 nats is corrected, for a mask with this kind of cut only.
    std::array<double, cutKinds> factors() const;

private:
    static constexpr std::size_t terms = cutKinds + 2;
    using Terms = std::array<double, terms>;
    struct Guess {
        Terms terms;
        double middle = 0;
        double noise = 0;     ///< expected error of an estimate of this size, as a multiple of spread()
        double deviation = 0; ///< noise combined with the uncertainty of the line
    };
    Guess guess(const RawChange& change) const;
    Terms solved(const Terms& right) const;
    double spread() const;

    std::array<Terms, terms> m_precision{};
    Terms m_weighted{};
    double m_squares = 0; ///< sum of squared standardised errors
    std::size_t m_learnt = 0;
};

} // namespace secateur
