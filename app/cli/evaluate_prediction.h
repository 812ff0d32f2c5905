#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/text/evaluation_text.h"
#include "analysis/prediction/prediction.h"
#include "app/cli/cli_common.h"
#include "app/cli/evaluation_keeper.h"

#include <optional>

namespace secateur::cli {

/// What says before a run what a mask will cost: what the session has for that, else, where it is asked for, made of
/// the text, and kept in the session where there is one. Nothing else, nor for texts that are scored per word.
/// @throws Error, UsageError where it is asked for and cannot be had; Cancelled
std::optional<Predictor> predictorFor(bool isAsked, const ReadyModel& ready, const EvaluationText& text,
                                      std::optional<EvaluationKeeper>& keeper, const Progress& progress);

/// Of one mask; why there is none is added to the warnings.
std::optional<Prediction> predicted(const std::optional<Predictor>& predictor, const PruningMask& mask,
                                    std::vector<std::string>& warnings);

/// For people: "+0.12 (0.05 to 0.3)".
std::string sentence(const Prediction& prediction);

} // namespace secateur::cli
