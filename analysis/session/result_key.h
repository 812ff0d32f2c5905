#pragma once

#include "analysis/session/session.h"

#include <optional>
#include <string>
#include <string_view>

namespace secateur {

/// Names one measurement of a metric: RESULT_ID, RESULT_ID@KEY, or RESULT_ID@KEY-OTHER for a difference. A key is a
/// measurementKey(), or `reference` for the latest result of the session's reference; empty = the latest.
struct ResultKey {
    std::string resultId;
    std::string key;
    std::optional<std::string> subtracted; ///< key of the subtrahend of a difference

    std::string text() const;
};

/// The key of Session::reference.
inline constexpr std::string_view referenceKey = "reference";

ResultKey parseResultKey(std::string_view text);
/// The key with its id as in file names and figures.
std::string fileForm(const ResultKey& key);

/// Eight hexadecimal digits of a hash of mask, data, dtype and device: metrics measured together share them.
std::string measurementKey(const Measurement& measurement);

/// The measurement that a key names; null if there is none, and for differences.
const MetricResult* findResult(const Session& session, const ResultKey& key);

/// The same for differences too, with a label where the session has several measurements of that result. A difference
/// is NaN where either value is NaN; its standard error is that of independent estimates; it has no lengths. None if a
/// measurement is missing, if the shapes differ, or for differences of classes.
std::optional<MetricResult> resolveResult(const Session& session, const ResultKey& key);

/// The label of resolveResult(), without computing values.
std::string labelOf(const Session& session, const ResultKey& key);

/// "built-in text, 1,024 tokens · whole model", "weights · bfloat16": the conditions of a measurement.
std::string measuredOn(const Session& session, const MetricResult& result);

/// For labels: the conditions in which it differs from other measurements of this result; empty if it is the only one.
std::string distinction(const Session& session, const MetricResult& result);

} // namespace secateur
