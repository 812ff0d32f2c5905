#pragma once

// For sources only: pulls in the JSON library.

#include "analysis/evaluation/evaluation.h"
#include "analysis/evaluation/latency.h"
#include "analysis/evaluation/prefill.h"
#include "analysis/metrics/metric.h"

#include <nlohmann/json.hpp>

#include <string>

namespace secateur {

// Parts of the documents of result_json.h and mask_result_json.h.

using OrderedJson = nlohmann::ordered_json;

/// The document as indented text. Texts from files and paths may be invalid UTF-8, which is replaced by U+FFFD.
std::string jsonText(const OrderedJson& document);

/// The value, or null if it is not finite, because JSON has no NaN.
OrderedJson finiteOrNull(double value);

/// The object of a result in measureJson().
OrderedJson metricFields(const MetricResult& result, const ModelSpec& spec);
/// The object of the text on which a model was measured.
OrderedJson dataFields(const MeasuredData& data, const std::string& digest);

/// The object of a task in evaluationJson(), without the name of the reference's mask.
OrderedJson taskFields(const TaskEvaluation& task, bool answers);

/// The objects of times in evaluationJson(). @param reference the reference's mask, as JSON
OrderedJson latencyFields(const Latency& latency, const OrderedJson& reference);
OrderedJson prefillFields(const Prefill& prefill, const OrderedJson& reference);

} // namespace secateur
