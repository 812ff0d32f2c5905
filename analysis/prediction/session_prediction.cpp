#include "analysis/prediction/session_prediction.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

namespace secateur {

namespace {

constexpr std::array<std::string_view, 4> ablations{"ablation_head", "ablation_attention", "ablation_mlp",
                                                    "ablation_block"}; // in the order of Gate::Of

/// Measured changes of the loss, in nats, by gate; NaN = not measured.
std::vector<double> singlesOf(const Session& session, const GateEffects& effects) {
    std::vector<double> singles(effects.gates.size(), std::numeric_limits<double>::quiet_NaN());
    for (const MetricResult& result : session.results) {
        if (result.measurement.maskDigest != "dense" || result.request.options.contains("of"))
            continue;
        for (std::size_t gate = 0; gate < singles.size(); ++gate) {
            const Gate& own = effects.gates[gate];
            const auto kind = static_cast<std::size_t>(own.of);
            if (kind >= ablations.size() || result.request.info->id != ablations[kind])
                continue;
            const auto layer = static_cast<std::size_t>(own.layer);
            const auto column = own.head < 0 ? std::size_t{0} : static_cast<std::size_t>(own.head);
            if (layer >= result.values.rows() || column >= result.values.columns())
                continue;
            const double value = result.values(layer, column);
            if (std::isfinite(value) && result.errorAt(layer, column) == 0) // estimates are no measurements
                singles[gate] = value;
        }
    }
    return singles;
}

} // namespace

std::optional<Predictor> predictorOf(const Session& session) {
    if (!session.prediction)
        return std::nullopt;
    Predictor predictor(session.model.spec, session.prediction, singlesOf(session, session.prediction->effects));
    for (const Evaluation& stored : session.evaluations) {
        const SessionMask* mask = session.mask(stored.mask.digest);
        if (!mask || !stored.text || stored.text->perplexity.rules.protocol != TextProtocol::tokenPpl)
            continue;
        const Evaluation evaluation = compared(session, stored);
        if (evaluation.text && evaluation.text->reference)
            predictor.learn(mask->record.mask, evaluation.text->reference->difference.nats);
    }
    return predictor;
}

} // namespace secateur
