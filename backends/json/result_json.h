#pragma once

#include "analysis/base/error.h"
#include "analysis/evaluation/evaluation.h"
#include "analysis/figures/figure.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model_card.h"
#include "analysis/session/session.h"
#include "analysis/text/tokenizer.h"
#include "backends/engine/open_model.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

struct ExportResult;

// What `--json` prints: one document each, indented, fields as the contract names them. Numbers keep every digit; a
// cell that does not exist or has no value is null.

std::string inspectJson(const ModelCard& card);
/// The card with one more field, "tensors".
std::string inspectJson(const ModelCard& card, const std::vector<TensorInfo>& tensors);

/// A text as tokens: what the tokenizer is, and of each token id, spelling and bytes [begin, end) of the text.
std::string tokensJson(const Tokenizer& tokenizer, std::string_view text, const Encoding& encoding);

/// @param mask under which those ran that need a run; with no name the dense model
/// @param peakBytes the process's greatest resident memory @param warnings of the model and its run; none = the card's
std::string measureJson(const ModelCard& card, std::span<const MetricResult> results, const EvaluatedMask& mask,
                        double seconds, std::int64_t peakBytes, std::span<const std::string> warnings = {});

/// A prompt and its continuation, whose tokens decode to `text`.
std::string generationJson(const PromptContinuation& written, double seconds, std::span<const std::string> warnings);

/// @param card with its fingerprint @param answers whether each answer to the questions of tasks is listed
std::string evaluationJson(const ModelCard& card, const Evaluation& evaluation, bool answers = false);
/// Several masks of one model, one after the other: what they have in common once, "runs" for each.
/// @param runs at least one
std::string evaluationsJson(const ModelCard& card, std::span<const Evaluation> runs, double seconds,
                            std::span<const std::string> warnings);

/// What was written, and how far it is from the masked model.
std::string exportJson(const ExportResult& result);

/// What a session holds: of metrics how they were measured, not their values; evaluations beside the dense model's.
std::string sessionJson(const Session& session);

std::string errorJson(const Error& error);

/// The numbers behind a figure and what it says of them.
std::string figureJson(const Figure& figure);

/// One line, for logs.
std::string progressJson(double fraction, std::string_view text);
/// The same at the beginning, with how long the work is expected to take.
std::string forecastJson(double expectedSeconds, std::string_view text);

/// One line of `list KIND`.
struct ListItem {
    std::string id;
    std::string summary;
    std::string source; ///< may be empty
    std::vector<OptionInfo> options;
    /// Further fields, name and text.
    std::vector<std::pair<std::string, std::string>> fields;
};

std::string listJson(std::string_view kind, const std::vector<ListItem>& items);

} // namespace secateur
