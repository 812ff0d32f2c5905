#pragma once

// For sources only: brings the JSON library with it.

#include "analysis/evaluation/evaluation.h"
#include "analysis/evaluation/latency.h"
#include "analysis/evaluation/prefill.h"
#include "analysis/metrics/metric.h"

#include <nlohmann/json.hpp>

#include <string>

namespace secateur {

// Parts of the documents of result_json.h and mask_result_json.h.

using OrderedJson = nlohmann::ordered_json;

/// Indented. Text from files and paths need not be UTF-8: what is not is replaced rather than refused.
std::string jsonText(const OrderedJson& document);

/// null where a value is not finite: JSON has no NaN.
OrderedJson finiteOrNull(double value);

/// A result in measureJson().
OrderedJson metricFields(const MetricResult& result, const ModelSpec& spec);
/// The text that a model was measured on.
OrderedJson dataFields(const MeasuredData& data, const std::string& digest);

/// A task in evaluationJson(), without the name of the reference's mask.
OrderedJson taskFields(const TaskEvaluation& task, bool answers);

/// Times in evaluationJson(). @param reference the mask that the reference ran under, as JSON
OrderedJson latencyFields(const Latency& latency, const OrderedJson& reference);
OrderedJson prefillFields(const Prefill& prefill, const OrderedJson& reference);

} // namespace secateur
