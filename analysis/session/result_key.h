#pragma once

#include "analysis/session/session.h"

#include <optional>
#include <string>
#include <string_view>

namespace secateur {

/// Which measurement of a metric is meant (written RESULT_ID, RESULT_ID@KEY, or RESULT_ID@KEY-OTHER for a difference).
/// A key is measurementKey(), or `reference` for the latest of the session's reference; empty = the latest.
struct ResultKey {
    std::string resultId;
    std::string key;
    std::optional<std::string> subtracted; ///< the key of what is taken away from it

    std::string text() const;
};

/// The key of what a session's results are compared with.
inline constexpr std::string_view referenceKey = "reference";

ResultKey parseResultKey(std::string_view text);
/// The key with its id as in file names and figures.
std::string fileForm(const ResultKey& key);

/// Eight hexadecimal digits of mask, data, type and device: metrics measured together share it.
std::string measurementKey(const Measurement& measurement);

/// The measurement that a key means; null when there is none, and for differences.
const MetricResult* findResult(const Session& session, const ResultKey& key);

/// The same for differences too, with a label wherever the session has more than one measurement of that result.
/// A difference has NaN where either has none, its standard error is that of independent estimates, and it has neither
/// classes nor lengths. Nothing when one of both is missing or they are of different shapes.
std::optional<MetricResult> resolveResult(const Session& session, const ResultKey& key);

/// What resolveResult() gives its result for a label, without its values.
std::string labelOf(const Session& session, const ResultKey& key);

/// "built-in text, 1,024 tokens · whole model", "weights · bfloat16": what sets a measurement apart.
std::string measuredOn(const Session& session, const MetricResult& result);

/// The same in a word or two where the session holds several measurements of this result, for labels; else empty.
std::string distinction(const Session& session, const MetricResult& result);

} // namespace secateur
