#include "analysis/metrics/screened_ablation.h"

#include "analysis/base/statistics.h"
#include "analysis/metrics/gate_effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace secateur {

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t leastSpread = 12; ///< minimum number of units that are ablated to test the prediction
constexpr double spreadShare = 0.06;    ///< share of all units that are ablated to test the prediction
constexpr double roundPasses = 2;       ///< passes of the whole model that each round of ablations adds

/// The predicted increase of the loss without a unit, and its second-order term. The error of the prediction (the
/// higher orders) grows with the second-order term, even if that and the first-order term cancel.
struct ExpectedChange {
    double rise = missing;
    double curvature = missing;
};

/// The factor that corrects predictions, and the error of predictions relative to the second-order term.
struct Fit {
    double factor = 1;
    double spread = 0;
    double floor = 0; ///< median second-order term

    double error(const ExpectedChange& estimate) const { return spread * (estimate.curvature + floor); }
};

Fit fitOf(std::span<const ExpectedChange> expected, std::span<const double> exact) {
    std::vector<double> sizes;
    for (const ExpectedChange& estimate : expected)
        sizes.push_back(estimate.curvature);
    Fit fit;
    fit.floor = percentile(sizes, 50);
    double products = 0;
    double squares = 0;
    std::size_t count = 0;
    const auto forEachKnown = [&](const auto& use) {
        for (std::size_t i = 0; i < exact.size(); ++i)
            if (const double size = sizes[i] + fit.floor; std::isfinite(exact[i]) && size > 0)
                use(expected[i].rise / size, exact[i] / size);
    };
    forEachKnown([&](double x, double y) {
        products += x * y;
        squares += x * x;
        ++count;
    });
    fit.factor = products > 0 ? products / squares : 1;
    double residuals = 0;
    forEachKnown([&](double x, double y) { residuals += (y - fit.factor * x) * (y - fit.factor * x); });
    fit.spread =
        count > 1 ? std::sqrt(residuals / static_cast<double>(count - 1)) : std::numeric_limits<double>::infinity();
    return fit;
}

/// The middle between the N-th lowest value and the next; NaN if there are at most N values. @param lowest N
double cutOffOf(std::span<const double> values, std::size_t lowest) {
    std::vector<double> sorted;
    std::ranges::copy_if(values, std::back_inserter(sorted), [](double value) { return std::isfinite(value); });
    std::ranges::sort(sorted);
    return lowest == 0 || lowest >= sorted.size() ? missing : (sorted[lowest - 1] + sorted[lowest]) / 2;
}

class Screening {
public:
    Screening(const Model& model, const AblationRun& run, const MetricRequest& request, const LayerSink& layerDone)
        : m_model(model)
        , m_run(run)
        , m_request(request)
        , m_layerDone(layerDone)
        , m_table(model.spec(), run.plan.mask(), std::span(&request, 1), {})
        , m_costs(model.spec(), run.plan.mask(), run.sequences)
        , m_lowest(static_cast<std::size_t>(request.whole("screen"))) {
        for (int layer = 0; layer < model.spec().layerCount(); ++layer)
            for (AblationPart& part : m_table.missing(layer, 0))
                m_parts.push_back(std::move(part));
        m_exact.assign(m_parts.size(), missing);
        m_measured = m_exact;
        for (const MetricResult& known : run.memory.known)
            if (known.request.resultId() == request.resultId() && known.standardError && known.features.size() == 1)
                readExact(known);
    }

    MetricResult measure(const Progress& progress) {
        const double exact = exactShare(m_request) * sumOf(std::vector<bool>(m_parts.size(), true));
        const double split = screeningPasses / (screeningPasses + exact);
        m_expected = expectedOf(progress.part(0, split));
        std::vector<bool> wanted =
            m_lowest >= m_parts.size() ? std::vector<bool>(m_parts.size(), true) : spreadEvenly();
        const bool isBounded = exactShare(m_request) < 1;
        double left = exact;
        double done = 0;
        while (std::ranges::count(wanted, true) > 0) {
            left -= sumOf(wanted) + roundPasses;
            const double next = left > 0 ? 1 - left / exact : (1 + done) / 2;
            ablate(wanted, progress.part(split + (1 - split) * done, split + (1 - split) * next));
            if (!m_result.isWhole)
                return std::move(m_result);
            done = next;
            wanted = mostDoubtful(isBounded ? left - roundPasses : std::numeric_limits<double>::infinity());
        }
        fill();
        m_result.isWhole = true;
        return std::move(m_result);
    }

private:
    void readExact(const MetricResult& known) {
        for (std::size_t i = 0; i < m_parts.size(); ++i) {
            const auto layer = static_cast<std::size_t>(m_parts[i].layer);
            if ((*known.standardError)(layer, m_parts[i].column) == 0)
                keep(i,
                     {known.values(layer, m_parts[i].column), known.features.front().values(layer, m_parts[i].column)});
        }
    }

    void keep(std::size_t part, const AblationEffect& effect) {
        m_measured[part] = effect.value;
        m_table.set(m_parts[part], effect);
    }

    /// Predicts the increase of the loss without each unit to second order, F_uu / 2 - g_u. A common factor is fitted
    /// later.
    std::vector<ExpectedChange> expectedOf(const Progress& progress) const {
        const CutUnit of = m_request.info->ranks.value();
        const GateKinds kinds{
            of == CutUnit::head, of == CutUnit::attention, of == CutUnit::mlp, of == CutUnit::block, false, false};
        const bool isText = m_model.spec().family == Family::decoder;
        const std::vector<TokenSequence> pieces =
            isText ? shortSequences(m_run.sequences, sampledLength, std::numeric_limits<std::int64_t>::max())
                   : std::vector(m_run.sequences.begin(), m_run.sequences.end());
        const GateEffects effects = gateEffects(m_model, {m_run.plan, pieces, m_run.labels, m_run.batchTokens},
                                                fewestSignPasses, progress, kinds);
        std::vector<ExpectedChange> expected;
        for (const AblationPart& part : m_parts)
            expected.push_back(estimateOf(effects, part));
        return expected;
    }

    ExpectedChange estimateOf(const GateEffects& effects, const AblationPart& part) const {
        const int first = m_run.plan.mask().tiedTo(part.layer).front();
        const auto found = std::ranges::find_if(effects.gates, [&](const Gate& gate) {
            return gate.layer == first && (gate.head < 0 || gate.head == static_cast<int>(part.column));
        });
        const auto gate = static_cast<std::size_t>(found - effects.gates.begin());
        const double curvature = effects.fisher(gate, gate) / 2;
        return {curvature - effects.slopes[gate], curvature};
    }

    /// The cost of ablating the wanted units, in passes through all layers.
    double sumOf(const std::vector<bool>& wanted) const {
        double sum = 0;
        for (std::size_t i = 0; i < wanted.size(); ++i)
            sum += wanted[i] ? costOf(i) : 0;
        return sum;
    }

    double costOf(std::size_t part) const { return m_costs.without(m_parts[part]) + m_costs.lmHead(); }

    /// The least certain of the units that reachesCutOff() marks: as many as cost at most `most` passes together.
    std::vector<bool> mostDoubtful(double most) const {
        const std::vector<double> values = estimates(m_exact);
        const std::vector<double> deviations = errors(m_exact);
        const std::vector<bool> reaches = reachesCutOff(values, deviations, m_lowest);
        const double cutOff = cutOffOf(values, m_lowest);
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < reaches.size(); ++i)
            if (reaches[i])
                order.push_back(i);
        std::ranges::stable_sort(order, {},
                                 [&](std::size_t i) { return std::abs(values[i] - cutOff) / deviations[i]; });
        std::vector<bool> chosen(reaches.size());
        for (const std::size_t i : order) {
            most -= costOf(i);
            if (most < 0)
                break;
            chosen[i] = true;
        }
        return chosen;
    }

    std::vector<bool> spreadEvenly() const {
        std::vector<std::size_t> order(m_parts.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, {}, [&](std::size_t i) { return m_expected[i].rise; });
        const auto count =
            std::min(order.size(),
                     std::max(leastSpread, static_cast<std::size_t>(spreadShare * static_cast<double>(order.size()))));
        std::vector<bool> chosen(order.size());
        for (std::size_t i = 0; i < count; ++i)
            chosen[order[(2 * i + 1) * order.size() / (2 * count)]] = true;
        return chosen;
    }

    std::vector<double> estimates(const std::vector<double>& exact) const {
        const Fit fit = fitOf(m_expected, exact);
        std::vector<double> values = exact;
        for (std::size_t i = 0; i < values.size(); ++i)
            if (std::isnan(values[i]))
                values[i] = fit.factor * m_expected[i].rise;
        return values;
    }

    std::vector<double> errors(const std::vector<double>& exact) const {
        const Fit fit = fitOf(m_expected, exact);
        std::vector<double> errors(exact.size());
        for (std::size_t i = 0; i < errors.size(); ++i)
            errors[i] = std::isnan(exact[i]) ? fit.error(m_expected[i]) : 0;
        return errors;
    }

    /// Ablates the wanted units that were not measured before. Further choices use the values of wanted units only, so
    /// that a continued run chooses the same units as an uninterrupted one.
    void ablate(const std::vector<bool>& wanted, const Progress& progress) {
        const MetricRequest exact{m_request.info, {}};
        AblationTable others(m_model.spec(), m_run.plan.mask(), std::span(&exact, 1), {});
        for (std::size_t i = 0; i < m_parts.size(); ++i)
            if (!wanted[i] || !std::isnan(m_measured[i]))
                others.set(m_parts[i], {});
        AblationRun run = m_run;
        run.memory = {others.results(), [&](const std::vector<MetricResult>& found) {
                          take(found.front(), wanted);
                          if (m_run.memory.more)
                              m_run.memory.more({m_result});
                      }};
        try {
            m_result = measureAblation(m_model, run, std::span(&exact, 1), progress).front();
            m_result.request = m_request;
            take(MetricResult(m_result), wanted);
        } catch (const Cancelled&) {
            if (std::ranges::all_of(m_measured, [](double value) { return std::isnan(value); }))
                throw;
            fill();
            m_result.isWhole = false;
        }
        for (std::size_t i = 0; i < m_parts.size(); ++i)
            if (wanted[i])
                m_exact[i] = m_measured[i];
    }

    void take(const MetricResult& found, const std::vector<bool>& wanted) {
        const bool isWhole = found.isWhole;
        for (std::size_t i = 0; i < m_parts.size(); ++i) {
            const auto layer = static_cast<std::size_t>(m_parts[i].layer);
            if (wanted[i] && std::isnan(m_measured[i]) && !std::isnan(found.values(layer, m_parts[i].column)))
                keep(i,
                     {found.values(layer, m_parts[i].column), found.features.front().values(layer, m_parts[i].column)});
        }
        m_result.data = found.data;
        m_result.seconds = found.seconds;
        fill();
        m_result.isWhole = isWhole;
    }

    /// Makes a result of the exact and predicted values so far.
    void fill() {
        const std::vector<double> values = estimates(m_measured);
        const std::vector<double> deviations = errors(m_measured);
        const ModelSpec& spec = m_model.spec();
        m_result.request = m_request;
        m_result.values = Matrix(spec.layers.size(), columnsFor(m_request.info->scope, spec));
        m_result.standardError = m_result.values;
        m_result.features = m_table.results().front().features;
        for (std::size_t i = 0; i < m_parts.size(); ++i)
            for (const int layer : m_run.plan.mask().tiedTo(m_parts[i].layer)) {
                // With fewer than two exact values the error of predictions is unknown, and no prediction is shown.
                const bool isKnown = std::isfinite(deviations[i]);
                m_result.values(static_cast<std::size_t>(layer), m_parts[i].column) = isKnown ? values[i] : missing;
                (*m_result.standardError)(static_cast<std::size_t>(layer), m_parts[i].column) =
                    isKnown ? deviations[i] : missing;
            }
        const auto exact = std::ranges::count_if(m_measured, [](double value) { return std::isfinite(value); });
        const auto inDoubt = std::ranges::count(reachesCutOff(values, deviations, m_lowest), true);
        m_result.warnings = {fmt::format(
            "screened: {} of {} values are exact, the others predicted{}", exact, m_parts.size(),
            inDoubt > 0 ? fmt::format("; {} of the predicted may or may not be among the {} lowest", inDoubt, m_lowest)
                        : "")};
        if (m_layerDone)
            for (int layer = 0; layer < spec.layerCount(); ++layer)
                m_layerDone({0, layer, m_result.values.row(static_cast<std::size_t>(layer)),
                             m_result.standardError->row(static_cast<std::size_t>(layer))});
    }

    const Model& m_model;
    const AblationRun& m_run;
    const MetricRequest& m_request;
    const LayerSink& m_layerDone;
    AblationTable m_table; ///< exact values
    AblationCosts m_costs;
    std::size_t m_lowest;
    std::vector<AblationPart> m_parts;
    std::vector<ExpectedChange> m_expected; ///< prediction for each part
    std::vector<double> m_exact;            ///< exact value of each part that was requested so far; NaN = not requested
    std::vector<double> m_measured;         ///< m_exact, and values from an earlier run; NaN = none
    MetricResult m_result;
};

} // namespace

std::vector<bool> reachesCutOff(std::span<const double> values, std::span<const double> errors, std::size_t lowest) {
    const double cutOff = cutOffOf(values, lowest);
    std::vector<bool> reaches(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        reaches[i] = errors[i] > 0 && std::abs(values[i] - cutOff) <= 2 * errors[i];
    return reaches;
}

MetricResult screenedAblation(const Model& model, const AblationRun& run, const MetricRequest& request,
                              const Progress& progress, const LayerSink& layerDone) {
    return Screening(model, run, request, layerDone).measure(progress);
}

} // namespace secateur
