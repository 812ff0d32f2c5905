#pragma once

#include "analysis/evaluation/text_evaluator.h"
#include "analysis/session/session.h"
#include "widgets/evaluations/evaluation_choice.h"
#include "widgets/evaluations/extra_items.h"

#include <optional>
#include <string_view>

namespace secateur {

// Results that a session holds, so that they are not measured again.

/// The session's run of the chosen text under a mask: the latest of those with the most windows; null if there is none.
/// @param textDigest of the text's windows; empty = not known, so the text's name and rules decide
const Evaluation* storedRun(const Session& session, std::string_view maskDigest, const KeptChoice& kept,
                            std::string_view textDigest = {});

/// A stored run as the evaluation of its mask, with the stored run of the dense model on the same text if there is one.
MaskEvaluation storedEvaluation(const Session& session, const Evaluation& stored);

/// The session's result of an extra item under a mask.
std::optional<ExtraResult> storedResult(const Session& session, const ExtraItem& item, std::string_view maskDigest);

} // namespace secateur
