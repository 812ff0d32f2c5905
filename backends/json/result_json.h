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

// The documents that `--json` prints, indented (resources/manual/formats.md, JSON output). Numbers keep all digits; a
// unit that is missing or has no value is null.

std::string inspectJson(const ModelCard& card);
/// The card with one more field, "tensors".
std::string inspectJson(const ModelCard& card, const std::vector<TensorInfo>& tensors);

/// The tokenizer, and for each token of a text its id, its spelling and its bytes [begin, end) in the text.
std::string tokensJson(const Tokenizer& tokenizer, std::string_view text, const Encoding& encoding);

/// @param mask under which metrics ran the model; without a name = dense
/// @param peakBytes maximum resident memory of the process @param warnings about model and run; none = the card's
std::string measureJson(const ModelCard& card, std::span<const MetricResult> results, const EvaluatedMask& mask,
                        double seconds, std::int64_t peakBytes, std::span<const std::string> warnings = {});

/// A prompt and its continuation, with the text and its tokens.
std::string generationJson(const PromptContinuation& written, double seconds, std::span<const std::string> warnings);

/// @param card with its fingerprint @param answers whether all answers to the questions of tasks are listed
std::string evaluationJson(const ModelCard& card, const Evaluation& evaluation, bool answers = false);
/// Evaluations of one model under several masks: common fields once, and an entry of "runs" for each mask.
/// @param runs at least one
std::string evaluationsJson(const ModelCard& card, std::span<const Evaluation> runs, double seconds,
                            std::span<const std::string> warnings);

/// The written files, and their difference from the masked model.
std::string exportJson(const ExportResult& result);

/// The contents of a session: metrics without their values, evaluations with differences to the dense model.
std::string sessionJson(const Session& session);

std::string errorJson(const Error& error);

/// The numbers and labels of a figure.
std::string figureJson(const Figure& figure);

/// A report of progress, as one line.
std::string progressJson(double fraction, std::string_view text);
/// The line before all reports of progress, with the expected duration.
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
