#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace secateur {

/// A predicted change of the loss, in nats per token.
struct Prediction {
    double nats = 0;
    double low = 0; ///< 90 % prediction interval
    double high = 0;
};

/// Kinds of cuts; neurons count as MLPs.
inline constexpr std::size_t cutKinds = 5; ///< heads, attention, MLPs, blocks, bypasses: in the order of Gate::Of

/// A second-order estimate of the change of the loss, before calibration by measurements.
struct RawChange {
    double nats = 0;
    std::array<double, cutKinds> shares{}; ///< of the estimate, by kind; their sum is 1, or all are 0
};

/// Calibrates estimated changes of the loss by measured ones (resources/manual/metrics.md, Prediction of a mask).
/// Changes range from thousandths of a nat to several nats, and estimates err by a factor. Both are therefore scaled as
/// asinh(nats / 0.01), which is logarithmic except for the smallest changes. A line is fitted between them, with an
/// offset for each kind of cut, by Bayesian regression: without measurements the estimates stay as they are, and a few
/// change them little. The interval combines the spread of measured changes about their predictions, with a prior, and
/// the uncertainty of the line.
class ChangeScale {
public:
    ChangeScale();

    Prediction predict(const RawChange& change) const;
    /// Changes that are not finite are ignored.
    void learn(const RawChange& change, double measuredNats);

    std::size_t learnt() const { return m_learnt; }
    /// The factor that is applied to an estimate of 0.1 nats, for each kind of cut alone.
    std::array<double, cutKinds> factors() const;

private:
    static constexpr std::size_t terms = cutKinds + 2;
    using Terms = std::array<double, terms>;
    struct Guess {
        Terms terms;
        double middle = 0;
        double noise = 0;     ///< error of an estimate of this size, in units of the common spread
        double deviation = 0; ///< the same, with the uncertainty of the line
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
