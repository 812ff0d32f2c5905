#include "app/cli/evaluate_prediction.h"

#include "analysis/prediction/prediction.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace secateur::cli {

std::optional<Predictor> predictorFor(bool isAsked, const ReadyModel& ready, const EvaluationText& text,
                                      std::optional<EvaluationKeeper>& keeper, const Progress& progress) {
    const bool isPerToken = text.scored.rules.protocol == TextProtocol::tokenPpl;
    if (isAsked && !isPerToken)
        throw UsageError("says what a mask costs per token: it goes with --protocol token_ppl", "--predict");
    if (!isPerToken)
        return std::nullopt;
    if (keeper && keeper->session().prediction)
        return predictorOf(keeper->session());
    if (!isAsked)
        return std::nullopt;
    auto basis = predictionBasis(*ready.model, text, {}, progress);
    if (keeper) {
        keeper->keep(basis);
        return predictorOf(keeper->session());
    }
    return Predictor(ready.model->spec(), std::move(basis));
}

std::optional<Prediction> predicted(const std::optional<Predictor>& predictor, const PruningMask& mask,
                                    std::vector<std::string>& warnings) {
    if (!predictor)
        return std::nullopt;
    if (const std::string refusal = predictor->refusal(mask); !refusal.empty()) {
        const std::string warning = "no prediction: " + refusal;
        if (std::ranges::find(warnings, warning) == warnings.end())
            warnings.push_back(warning);
        return std::nullopt;
    }
    return predictor->predict(mask);
}

std::string sentence(const Prediction& prediction) {
    return fmt::format("{}{} ({} to {})", prediction.nats > 0 ? "+" : "", significant(prediction.nats),
                       significant(prediction.low), significant(prediction.high));
}

} // namespace secateur::cli
