#pragma once

// For sources only: includes the JSON library.

#include "analysis/evaluation/evaluation.h"
#include "analysis/evaluation/latency.h"
#include "analysis/evaluation/prefill.h"
#include "analysis/metrics/metric.h"
#include "analysis/session/session.h"

#include <nlohmann/json.hpp>

#include <string>

namespace secateur {

// Functions for parts of the JSON documents of result_json.h and mask_result_json.h.

using OrderedJson = nlohmann::ordered_json;

/// The document as indented text. Invalid UTF-8, which may come from files and paths, is replaced by U+FFFD.
std::string jsonText(const OrderedJson& document);

/// The value; null if it is not finite, because JSON has no NaN and no infinity.
OrderedJson finiteOrNull(double value);

/// The object of a result in measureJson().
OrderedJson metricFields(const MetricResult& result, const ModelSpec& spec);
/// The object that describes the text on which a model was measured.
OrderedJson dataFields(const MeasuredData& data, const std::string& digest);

/// The object of a task in evaluationJson(). It lacks the name of the reference's mask. @param answers whether all
/// answers are listed
OrderedJson taskFields(const TaskEvaluation& task, bool answers);

/// The fields of a set of curves in sweepJson() and sessionJson(). @param session the session with the masks of the curves
OrderedJson curvesFields(const Session& session, const Curves& curves);

/// The objects of measured times in evaluationJson(). @param reference the mask of the reference, as JSON
OrderedJson latencyFields(const Latency& latency, const OrderedJson& reference);
OrderedJson prefillFields(const Prefill& prefill, const OrderedJson& reference);

} // namespace secateur
