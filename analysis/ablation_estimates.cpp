#include "analysis/ablation_estimates.h"

#include "analysis/ablation_metrics.h"
#include "analysis/gate_gradients.h"
#include "analysis/gradient_scalars.h"
#include "analysis/padded_batches.h"

#include <algorithm>

namespace secateur {

namespace {

Gate::Of gateOf(AblatedPart part) {
    switch (part) {
    case AblatedPart::head:
        return Gate::Of::head;
    case AblatedPart::attention:
        return Gate::Of::attention;
    case AblatedPart::mlp:
        return Gate::Of::mlp;
    case AblatedPart::block:
        break;
    }
    return Gate::Of::block;
}

GateKinds kindsOf(std::span<const MetricRequest> requests) {
    const auto asks = [&](AblatedPart part) {
        return std::ranges::any_of(requests,
                                   [&](const MetricRequest& request) { return ablatedPart(request) == part; });
    };
    return {asks(AblatedPart::head), asks(AblatedPart::attention), asks(AblatedPart::mlp), asks(AblatedPart::block)};
}

/// Sums over sequences of the gates' gradients, and of the squares of those of single targets.
class GateSums {
public:
    GateSums(const Model& model, const AblationRun& run, const Gates& gates, int passes)
        : m_model(model)
        , m_run(run)
        , m_gates(gates)
        , m_scalars(model, run.sequences, run.labels)
        , m_batches(paddedBatches(run.sequences, run.batchTokens))
        , m_passes(model.spec().family == Family::decoder ? passes : 0)
        , m_slopes(gates.all().size())
        , m_squares(gates.all().size()) {}

    void run(const Progress& progress) {
        const auto scalars = [&](std::size_t batch) {
            std::vector<BackwardScalar> all;
            for (int pass = -1; pass < m_passes; ++pass)
                all.push_back(
                    m_scalars.scalar({Scalarisation::taskLoss, pass < 0 ? std::optional<int>() : std::optional(pass)},
                                     m_batches.batches[batch], m_batches.sequences[batch]));
            return all;
        };
        gateGradients(
            m_model, m_run.plan, m_batches.batches, m_gates, scalars,
            [&](std::size_t batch, std::size_t pass, const Matrix& found) { add(batch, pass, found); }, progress);
    }

    double expectedRise(std::size_t gate) const {
        double targets = 0;
        for (std::size_t i = 0; i < m_run.sequences.size(); ++i)
            targets += m_scalars.targets(i);
        const double fisher = m_squares[gate] / (targets * std::max(1, m_passes));
        return fisher / 2 - m_slopes[gate] / targets;
    }

private:
    /// Pass 0 is that of the mean loss of each sequence; where a sequence is one target, its square counts too.
    void add(std::size_t batch, std::size_t pass, const Matrix& found) {
        for (std::size_t row = 0; row < found.rows(); ++row)
            for (std::size_t gate = 0; gate < found.columns(); ++gate) {
                const double value = found(row, gate);
                if (pass == 0)
                    m_slopes[gate] += value * m_scalars.targets(m_batches.sequences[batch][row]);
                if (pass > 0 || m_passes == 0)
                    m_squares[gate] += value * value;
            }
    }

    const Model& m_model;
    const AblationRun& m_run;
    const Gates& m_gates;
    GradientScalars m_scalars;
    PaddedBatches m_batches;
    int m_passes;
    std::vector<double> m_slopes; ///< of each gate
    std::vector<double> m_squares;
};

} // namespace

std::vector<Matrix> expectedRises(const Model& model, const AblationRun& run, std::span<const MetricRequest> requests,
                                  int passes, const Progress& progress) {
    const ModelSpec& spec = model.spec();
    const Gates gates(spec, run.plan.mask(), kindsOf(requests));
    GateSums sums(model, run, gates, passes);
    sums.run(progress);
    std::vector<Matrix> rises;
    for (std::size_t request = 0; request < requests.size(); ++request) {
        Matrix& own = rises.emplace_back(spec.layers.size(), columnsFor(requests[request].info->scope, spec));
        const Gate::Of of = gateOf(ablatedPart(requests[request]));
        for (std::size_t gate = 0; gate < gates.all().size(); ++gate) {
            const Gate& found = gates.all()[gate];
            if (found.of != of)
                continue;
            const auto column = static_cast<std::size_t>(std::max(0, found.head));
            for (const int layer : run.plan.mask().tiedTo(found.layer))
                own(static_cast<std::size_t>(layer), column) = sums.expectedRise(gate);
        }
    }
    return rises;
}

} // namespace secateur
