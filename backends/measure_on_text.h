#pragma once

#include "analysis/measure_forward.h"
#include "backends/sequence_text.h"

#include <span>
#include <vector>

namespace secateur {

/// measureForward() on a text, with all that a measurement says of itself.
std::vector<MetricResult> measureOnText(const Model& model, const Plan& plan, const SequenceText& text,
                                        std::span<const MetricRequest> requests, std::int64_t batchTokens,
                                        const Progress& progress, const LayerSink& layerDone = {});

/// Any metrics of the whole model in the order asked: those that need a text on the built-in one, as much of it as the
/// model reads in a minute. Only those have a digest of their data. @throws as measure() and measureForward()
std::vector<MetricResult> measureOnBuiltInText(const Model& model, std::span<const MetricRequest> requests,
                                               const Progress& progress, const LayerSink& layerDone);

} // namespace secateur
