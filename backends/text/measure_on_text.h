#pragma once

#include "analysis/metrics/measure.h"
#include "analysis/strategies/gradient_change.h"
#include "analysis/strategies/prune.h"
#include "backends/text/sequence_text.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// The conditions of a measurement under a plan. @param dataDigest digest of the text or the task
Measurement measurementOf(const Model& model, const Plan& plan, const std::string& dataDigest);

/// measure() on a chosen text. Warnings about the text are added to each result that used it.
/// @throws as measure() and readSequenceText()
std::vector<MetricResult> measureOnChoice(const Model& model, std::span<const MetricRequest> requests,
                                          const MeasureChoice& choice, const Progress& progress,
                                          const LayerSink& layerDone);

/// gradientChange() on a chosen text. @throws as gradientChange() and readSequenceText()
GradientChange gradientChangeOnChoice(const Model& model, const GradientChangeRequest& request,
                                      const MeasureChoice& choice, const Progress& progress);

/// A text as the input of strategies. Residual streams may use a share of the free memory.
/// @param text must outlive the result
CalibrationText calibrationText(const SequenceText& text, std::int64_t batchTokens);

/// Reads the text of a strategy's option `corpus`, divided like another text. Empty without this option.
/// @throws as readSequenceText()
std::optional<SequenceText> readCorpus(const Model& model, const StrategyRequest& strategy, SequenceRequest like,
                                       const Progress& progress);

/// prune() on a chosen text. If the choice does not limit the number of tokens, a strategy that cuts in steps reads as
/// many as all its steps can process in five minutes, but at least 512 and at most 8,192.
/// @param inputs watch and fileBytes; the others are filled in
/// @throws as measureOnChoice(), readSequenceText() and prune()
PruneResult pruneOnChoice(const Model& model, const PruneRequest& request, const MeasureChoice& choice,
                          PruneInputs inputs, const Progress& progress);

} // namespace secateur
