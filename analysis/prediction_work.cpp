#include "analysis/prediction_work.h"

#include "analysis/error.h"
#include "analysis/kernels.h"
#include "analysis/runner.h"
#include "analysis/text.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace secateur {

namespace {

constexpr std::size_t shortestSequence = 16;

std::vector<TokenSequence> sequencesOf(const SequenceSet& windows, const PredictionRules& rules) {
    std::vector<TokenSequence> sequences;
    auto left = static_cast<std::size_t>(rules.tokens);
    for (const TokenSequence& window : windows.sequences)
        for (std::size_t begin = 0; begin < window.ids.size() && left > 0;) {
            const std::size_t count =
                std::min({static_cast<std::size_t>(rules.sequenceLength), window.ids.size() - begin, left});
            if (count >= shortestSequence || sequences.empty()) {
                const auto first = window.ids.begin() + static_cast<std::ptrdiff_t>(begin);
                TokenSequence& part = sequences.emplace_back();
                part.ids.assign(first, first + static_cast<std::ptrdiff_t>(count));
                part.types.assign(count, 0);
            }
            begin += count;
            left -= count;
        }
    return sequences;
}

} // namespace

std::string predictionRefusal(const ModelSpec& spec) {
    return spec.family == Family::encoder ? "an encoder has no loss on a text without labels" : "";
}

std::shared_ptr<const PredictionBasis> predictionBasis(const Model& model, const EvaluationText& text,
                                                       const PredictionRules& rules, const Progress& progress) {
    if (const std::string refusal = predictionRefusal(model.spec()); !refusal.empty())
        throw Error("No prediction: " + refusal, model.card().path);
    const auto plan = model.runner().plan(PruningMask(model.spec()), ComputeType::float32);
    const std::vector<TokenSequence> sequences = sequencesOf(text.scored.windows, rules);
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
