#pragma once

#include "analysis/metrics/ablation.h"
#include "analysis/strategies/gradient_change.h"
#include "analysis/metrics/measure_choice.h"
#include "analysis/metrics/measure_forward.h"
#include "backends/text/sequence_text.h"

#include <span>
#include <vector>

namespace secateur {

/// measureForward(), measureGradient() and measureAblation() on a text, with all that a measurement says of itself.
/// Stopped, it gives what it has of each request, and nothing of those that it had not come to.
std::vector<MetricResult> measureOnText(const Model& model, const Plan& plan, const SequenceText& text,
                                        std::span<const MetricRequest> requests, std::int64_t batchTokens,
                                        const Progress& progress, const LayerSink& layerDone = {});

/// measureAblation() alone, on a text likewise: of the parts that are not known yet.
std::vector<MetricResult> ablateOnText(const Model& model, const Plan& plan, const SequenceText& text,
                                       std::span<const MetricRequest> requests, std::int64_t batchTokens,
                                       const AblationMemory& memory, const Progress& progress,
                                       const LayerSink& layerDone = {});

/// What a measurement under a plan was made of. @param dataDigest of the text or the task
Measurement measurementOf(const Model& model, const Plan& plan, const std::string& dataDigest);

/// Any metrics in the order asked: those of weights of the whole model, and the others on what was chosen. Only those
/// have a digest of their data. @throws as measure(), readSequenceText() and measureOnText()
std::vector<MetricResult> measureOnChoice(const Model& model, std::span<const MetricRequest> requests,
                                          const MeasureChoice& choice, const Progress& progress,
                                          const LayerSink& layerDone);

/// gradientChange() on a text that a person chose, as measureOnChoice() takes it.
GradientChange gradientChangeOnChoice(const Model& model, const GradientChangeRequest& request,
                                      const MeasureChoice& choice, const Progress& progress);

} // namespace secateur
