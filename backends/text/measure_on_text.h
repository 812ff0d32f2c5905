#pragma once

#include "analysis/metrics/measure.h"
#include "analysis/strategies/gradient_change.h"
#include "analysis/strategies/prune.h"
#include "backends/text/sequence_text.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// What identifies a measurement under a plan. @param dataDigest of the text or the task
Measurement measurementOf(const Model& model, const Plan& plan, const std::string& dataDigest);

/// measure() on a chosen text. Warnings about the text are among those of each result on it.
/// @throws as measure() and readSequenceText()
std::vector<MetricResult> measureOnChoice(const Model& model, std::span<const MetricRequest> requests,
                                          const MeasureChoice& choice, const Progress& progress,
                                          const LayerSink& layerDone);

/// gradientChange() on a chosen text. @throws as gradientChange() and readSequenceText()
GradientChange gradientChangeOnChoice(const Model& model, const GradientChangeRequest& request,
                                      const MeasureChoice& choice, const Progress& progress);

/// pruneGreedily() on a text; the result names the text. @throws as pruneGreedily()
PruneResult pruneOnText(const Model& model, const PruneRequest& request, const SequenceText& text,
                        std::int64_t batchTokens, const Progress& progress);

/// The same on a chosen text. Without a number of tokens it takes as many as all steps together need five minutes for,
/// between 512 and 8,192. @throws as readSequenceText() and pruneGreedily()
PruneResult pruneOnChoice(const Model& model, const PruneRequest& request, const MeasureChoice& choice,
                          const Progress& progress);

/// The cost of a greedy run in plain passes over its text.
double greedyPasses(const ModelSpec& spec, const PruneRequest& request);

} // namespace secateur
