#include "analysis/evaluation/change_scale.h"

#include <cmath>
#include <utility>

namespace secateur {

namespace {

constexpr double smallest = 0.01; ///< nats; errors of smaller changes are absolute, of larger ones relative
constexpr double tenth = 3;       ///< about asinh(0.1 / smallest): the point at which the line's slope has no effect
constexpr double quantile = 1.7;  ///< half width of a 90 % interval; more than the normal 1.64, for heavier tails

// The prior of the fitted line. Standard deviations are those of the natural logarithm of the ratio of change and
// estimate.
constexpr double offsetPrior = 0.7; ///< standard deviation of the offset that all kinds of cuts share
constexpr double kindPrior = 0.5;   ///< standard deviation of the offset of each kind of cut
constexpr double slopePrior = 0.15; ///< standard deviation of the slope's difference from 1
constexpr double spreadPrior = 0.6; ///< expected deviation of measured changes from their predictions
constexpr double spreadCount = 6;   ///< number of measurements whose weight spreadPrior has
constexpr double floorNoise = 0.3;  ///< value of Guess::noise for an estimate of 0

double scaled(double nats) {
    return std::asinh(nats / smallest);
}

/// tanh(x): approximately the derivative of a scaled change x with respect to the logarithm of a factor on the change.
/// It is 0 for no change, and almost 1 or -1 for large changes.
double lever(double x) {
    return x / std::sqrt(1 + x * x);
}

double square(double x) {
    return x * x;
}

} // namespace

ChangeScale::ChangeScale() {
    for (std::size_t i = 0; i < terms; ++i)
        m_precision[i][i] = 1 / square(i == 0 ? offsetPrior : i + 1 < terms ? kindPrior : slopePrior);
}

/// Solves m_precision w = right by a Cholesky factorisation. The prior makes the matrix positive definite.
ChangeScale::Terms ChangeScale::solved(const Terms& right) const {
    std::array<Terms, terms> lower{};
    for (std::size_t i = 0; i < terms; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = m_precision[i][j];
            for (std::size_t k = 0; k < j; ++k)
                sum -= lower[i][k] * lower[j][k];
            lower[i][j] = i == j ? std::sqrt(sum) : sum / lower[j][j];
        }
    Terms result = right;
    for (std::size_t i = 0; i < terms; ++i) {
        for (std::size_t k = 0; k < i; ++k)
            result[i] -= lower[i][k] * result[k];
        result[i] /= lower[i][i];
    }
    for (std::size_t i = terms; i-- > 0;) {
        for (std::size_t k = i + 1; k < terms; ++k)
            result[i] -= lower[k][i] * result[k];
        result[i] /= lower[i][i];
    }
    return result;
}

double ChangeScale::spread() const {
    return std::sqrt((spreadCount * square(spreadPrior) + m_squares) / (spreadCount + static_cast<double>(m_learnt)));
}

ChangeScale::Guess ChangeScale::guess(const RawChange& change) const {
    Guess guess;
    const double x = scaled(change.nats);
    const double at = lever(x);
    guess.terms[0] = at;
    for (std::size_t kind = 0; kind < cutKinds; ++kind)
        guess.terms[kind + 1] = at * change.shares[kind];
    guess.terms[terms - 1] = at * (std::abs(x) - tenth);
    const Terms line = solved(m_weighted);
    const Terms along = solved(guess.terms);
    double variance = 0;
    guess.middle = x;
    for (std::size_t i = 0; i < terms; ++i) {
        guess.middle += guess.terms[i] * line[i];
        variance += guess.terms[i] * along[i];
    }
    guess.noise = std::sqrt(square(floorNoise) + square(at));
    guess.deviation = std::sqrt(square(guess.noise) + variance);
    return guess;
}

Prediction ChangeScale::predict(const RawChange& change) const {
    const Guess found = guess(change);
    const double half = quantile * spread() * found.deviation;
    const auto nats = [](double x) { return smallest * std::sinh(x); };
    return {nats(found.middle), nats(found.middle - half), nats(found.middle + half)};
}

void ChangeScale::learn(const RawChange& change, double measuredNats) {
    if (!std::isfinite(change.nats) || !std::isfinite(measuredNats))
        return;
    const Guess before = guess(change);
    const double y = scaled(measuredNats);
    m_squares += square((y - before.middle) / before.deviation);
    ++m_learnt;
    const double weight = 1 / square(before.noise * spreadPrior);
    for (std::size_t i = 0; i < terms; ++i) {
        m_weighted[i] += weight * before.terms[i] * (y - scaled(change.nats));
        for (std::size_t j = 0; j < terms; ++j)
            m_precision[i][j] += weight * before.terms[i] * before.terms[j];
    }
}

std::array<double, cutKinds> ChangeScale::factors() const {
    constexpr double tenthOfANat = 0.1;
    std::array<double, cutKinds> factors{};
    for (std::size_t kind = 0; kind < cutKinds; ++kind) {
        RawChange change{tenthOfANat, {}};
        change.shares[kind] = 1;
        factors[kind] = predict(change).nats / tenthOfANat;
    }
    return factors;
}

} // namespace secateur
