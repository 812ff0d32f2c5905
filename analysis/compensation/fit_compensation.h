#pragma once

#include "analysis/base/progress.h"
#include "analysis/compensation/compensation_mode.h"
#include "analysis/masks/mask_record.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "analysis/text/sequences.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// The text to which a compensation is fitted.
struct FitText {
    std::span<const TokenSequence> sequences;
    std::int64_t batchTokens = 4096; ///< maximum tokens of a batch, including padding
    ComputeType type = ComputeType::automatic;
};

struct FittedMask {
    PruningMask mask;
    std::vector<FittedPart> parts; ///< in the order in which they were fitted
};

/// Whether a mask has a sublayer that lost some of its units and keeps others, or a bypass with values: only these are
/// fitted.
bool canCompensate(const ModelSpec& spec, const PruningMask& mask);

/// Fits a compensation to a mask (resources/manual/strategies.md, Modes of compensation), from the first layer to the
/// last, attention first. Without a sublayer to fit (canCompensate()) the mask only loses its earlier compensation. The
/// last fifth of the tokens is held out to choose mu; the chosen mu is then fitted on all tokens. An earlier
/// compensation of the mask is replaced.
/// @param mode `own` returns the mask as it is, `none` without a compensation
/// @throws Error if the text has too few tokens, layers share weights, or a projection's inputs are not finite;
/// Cancelled
FittedMask fitCompensation(const Model& model, const PruningMask& mask, CompensationMode mode, const FitText& text,
                           const Progress& progress);

/// The approximate cost in forward passes over the text.
/// @param tokens number of tokens of the text
double compensationPasses(const ModelSpec& spec, const PruningMask& mask, CompensationMode mode, std::int64_t tokens);

/// A compensation as the provenance of a mask states it.
struct NotedFit {
    CompensationMode mode = CompensationMode::none;
    std::string text = {};           ///< as MeasuredData::source; empty = not stated
    std::int64_t tokens = 0;         ///< number of tokens of the text; 0 = not stated
    std::int64_t sequenceLength = 0; ///< maximum length of its sequences; 0 = not stated
};

/// Adds a fit with its parts to the provenance of a mask. It replaces that of an earlier fit.
void noteFit(MaskProvenance& provenance, const NotedFit& fit, std::span<const FittedPart> parts);
/// The fit that a provenance states; empty = the compensation is that of the strategy, if there is one.
std::optional<NotedFit> notedFit(const MaskProvenance& provenance);
/// Adds to the provenance of a mask that its compensation was trained (recover). It replaces that of an earlier fit.
/// @param data source of the training data @param steps number of steps of the training
void noteTrained(MaskProvenance& provenance, const std::string& data, std::int64_t steps);
/// Whether a provenance states that the compensation was trained.
bool isNotedTrained(const MaskProvenance& provenance);
/// Whether an option of a provenance states a fit or a training. The other options belong to the strategy and its run.
bool isFitOption(std::string_view option);

/// A mask without its compensation.
PruningMask withoutCompensation(PruningMask mask);

} // namespace secateur
