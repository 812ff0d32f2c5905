#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace secateur {

/// A predicted change of the loss, in nats per token.
struct Prediction {
    double nats = 0;
    double low = 0; ///< lower end of the 90 % prediction interval
    double high = 0;
};

/// Number of kinds of cuts, in the order of Gate::Of: heads, attention, MLPs (including neurons), blocks, bypasses.
inline constexpr std::size_t cutKinds = 5;

/// A second-order estimate of the change of the loss, before calibration by measurements.
struct RawChange {
    double nats = 0;
    std::array<double, cutKinds> shares{}; ///< share of each kind in the second-order term; sum 1, or all 0
};

/// Calibrates estimated changes of the loss by measured changes (resources/manual/metrics.md, Prediction of a mask).
/// Changes range from thousandths of a nat to several nats, and estimates are wrong by a factor. Estimates and
/// measurements are therefore mapped by asinh(nats / 0.01), which is logarithmic except for the smallest changes.
/// Bayesian regression fits a line to the mapped pairs, with an offset for each kind of cut. Without measurements,
/// estimates are unchanged; a few measurements change them little. The prediction interval combines the uncertainty of
/// the line with the deviation of measured changes from their predictions, which has a prior.
class ChangeScale {
public:
    ChangeScale();

    Prediction predict(const RawChange& change) const;
    /// Adds a measured change to the regression. Values that are not finite are ignored.
    void learn(const RawChange& change, double measuredNats);

    std::size_t learnt() const { return m_learnt; }
    /// For each kind of cut, the factor that corrects an estimate of 0.1 nats if a mask has only this kind of cut.
    std::array<double, cutKinds> factors() const;

private:
    static constexpr std::size_t terms = cutKinds + 2;
    using Terms = std::array<double, terms>;
    struct Guess {
        Terms terms;
        double middle = 0;
        double noise = 0;     ///< expected error of an estimate of this size, in units of spread()
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
