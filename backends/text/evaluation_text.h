#pragma once

#include "analysis/text/scored_text.h"
#include "analysis/model/model.h"
#include "analysis/base/progress.h"

namespace secateur {

/// Reads a text and cuts it for a model with the model's own tokenizer.
/// @throws Error naming the text or the model; UsageError for rules that do not go together; Cancelled
EvaluationText readEvaluationText(const Model& model, const TextRequest& request, const Progress& progress = {});

} // namespace secateur
