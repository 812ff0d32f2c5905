#pragma once

#include "analysis/session/session.h"

#include <optional>
#include <string>
#include <string_view>

namespace secateur {

/// Names a measurement of a metric as RESULT_ID or RESULT_ID@KEY, or a difference of two measurements as
/// RESULT_ID@KEY-OTHER. KEY and OTHER are results of measurementKey(), or `reference` for the latest result in the
/// session's reference. An empty key means the latest result in the session.
struct ResultKey {
    std::string resultId;
    std::string key;
    std::optional<std::string> subtracted; ///< key of the measurement that is subtracted, in a difference

    std::string text() const;
};

/// The key of results in Session::reference.
inline constexpr std::string_view referenceKey = "reference";

ResultKey parseResultKey(std::string_view text);
/// The key as text, with the result id in its form for file names.
std::string fileForm(const ResultKey& key);

/// Eight hexadecimal digits of a hash of mask, data, dtype and device. Metrics that are measured together have the same
/// key.
std::string measurementKey(const Measurement& measurement);

/// The measurement that a key names; null if there is none, or if the key names a difference.
const MetricResult* findResult(const Session& session, const ResultKey& key);

/// The measurement or difference that a key names. It has a label if the session has several measurements of this
/// result. A difference is NaN where either value is NaN, has no prefix lengths, and treats the errors of estimates as
/// independent. Empty if a measurement is missing, the shapes differ, or the values are classes.
std::optional<MetricResult> resolveResult(const Session& session, const ResultKey& key);

/// The label that resolveResult() gives, without computing values.
std::string labelOf(const Session& session, const ResultKey& key);

/// "built-in text, 1,024 tokens · dense model", "weights · bfloat16": the conditions of a measurement.
std::string measuredOn(const Session& session, const MetricResult& result);

/// The label of a result: the conditions in which its measurement differs from others of the same result id. Empty if
/// there are no others.
std::string distinction(const Session& session, const MetricResult& result);

} // namespace secateur
