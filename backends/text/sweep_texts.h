#pragma once

#include "analysis/base/progress.h"
#include "analysis/campaigns/campaign.h"
#include "analysis/model/model.h"
#include "analysis/text/scored_text.h"
#include "backends/text/sequence_text.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace secateur {

/// The user's choice of the calibration text and the scored text of a sweep.
struct SweepTextRequest {
    SequenceRequest calibration = {};   ///< no task; also for the scored text: field, and the split if `splitsBoth`
    std::optional<std::string> score{}; ///< file or folder; empty = the last third of the calibration's text is scored,
                                        ///< and only the rest is calibrated on
    PerplexityRules scored = {};        ///< for decoders; `mostTokens` limits the scored text of any model
    bool splitsBoth = false;            ///< whether the scored text is divided into documents as well
};

/// Reads both texts of a sweep and divides them for a model. Decoders get windows to score, encoders without a head
/// sequences for pooled distances, classifiers only the calibration text.
/// @returns inputs with texts, digests and warnings; without tasks and latency
/// @throws Error naming the text or the model, also for a text that is too short to be divided; UsageError for
/// contradictory options; Cancelled
SweepInputs readSweepTexts(const Model& model, const SweepTextRequest& request, const Progress& progress = {});

/// Divides documents into those of the first two thirds and those of the last third of all bytes. A single document is
/// divided at blank lines, a line break or a space. @throws Error if there is nothing to divide
std::pair<std::vector<std::string>, std::vector<std::string>> lastThirdApart(const std::vector<std::string>& documents);

} // namespace secateur
