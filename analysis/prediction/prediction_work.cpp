#include "analysis/prediction/prediction_work.h"

#include "analysis/base/error.h"
#include "analysis/model/kernels.h"
#include "analysis/running/runner.h"
#include "analysis/base/text.h"

#include <vector>

namespace secateur {

std::string predictionRefusal(const ModelSpec& spec) {
    return spec.family == Family::encoder ? "an encoder has no loss on a text without labels" : "";
}

std::shared_ptr<const PredictionBasis> predictionBasis(const Model& model, const EvaluationText& text,
                                                       const PredictionRules& rules, const Progress& progress) {
    if (const std::string refusal = predictionRefusal(model.spec()); !refusal.empty())
        throw Error("No prediction: " + refusal, model.card().path);
    const auto plan = model.runner().plan(PruningMask(model.spec()), ComputeType::float32);
    const std::vector<TokenSequence> sequences =
        shortSequences(text.scored.windows.sequences, rules.sequenceLength, rules.tokens);
    auto basis = std::make_shared<PredictionBasis>();
    basis->effects = gateEffects(model, {.plan = *plan, .sequences = sequences}, rules.passes, progress);
    basis->source = text.source;
    basis->digest = text.digest;
    basis->sequenceLength = rules.sequenceLength;
    basis->dtype = name(plan->type());
    basis->device = model.kernels().device();
    basis->created = utcNow();
    return basis;
}

} // namespace secateur
