#pragma once

#include "analysis/text/scored_text.h"
#include "analysis/model/model.h"
#include "analysis/prediction/prediction.h"
#include "analysis/base/progress.h"

#include <cstdint>
#include <memory>
#include <string>

namespace secateur {

/// How much of a text masks are predicted from.
struct PredictionRules {
    std::int64_t tokens = 1024;
    std::int64_t sequenceLength = sampledLength;
    int passes = fewestSignPasses;
};

/// Why nothing can be predicted of a model on texts, in a sentence without its full stop; empty where it can.
std::string predictionRefusal(const ModelSpec& spec);

/// From the beginning of a text, in float32, of the dense model.
/// @throws Error where predictionRefusal() says why, or the text is too short; as gateEffects()
std::shared_ptr<const PredictionBasis> predictionBasis(const Model& model, const EvaluationText& text,
                                                       const PredictionRules& rules, const Progress& progress);

} // namespace secateur
