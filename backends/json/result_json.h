#pragma once

#include "analysis/base/error.h"
#include "analysis/evaluation/evaluation.h"
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

// The JSON documents that `--json` prints, indented (resources/manual/formats.md, JSON output). Numbers have all
// digits. A unit that is missing or has no value is null.

std::string inspectJson(const ModelCard& card);
/// The model card, with the tensors in the additional field "tensors".
std::string inspectJson(const ModelCard& card, const std::vector<TensorInfo>& tensors);

/// The tokenizer, and the tokens of a text. Each token has its id, its spelling and its bytes [begin, end) in the text.
std::string tokensJson(const Tokenizer& tokenizer, std::string_view text, const Encoding& encoding);

/// @param mask the mask under which metrics ran the model; without a name = dense
/// @param peakBytes maximum resident memory of the process @param warnings about model and run; none = those of the
/// card
std::string measureJson(const ModelCard& card, std::span<const MetricResult> results, const EvaluatedMask& mask,
                        double seconds, std::int64_t peakBytes, std::span<const std::string> warnings = {});

/// The results of one task.
struct TaskResults {
    std::string task; ///< name of the task
    std::vector<MetricResult> results;
};

/// The document of `ablate` on several tasks: as measureJson(), with data and metrics for each task.
std::string measureTasksJson(const ModelCard& card, std::span<const TaskResults> tasks, const EvaluatedMask& mask,
                             double seconds, std::int64_t peakBytes, std::span<const std::string> notes);

/// A prompt and its continuation with the tokens of both.
std::string generationJson(const PromptContinuation& written, double seconds, std::span<const std::string> warnings);
/// Several prompts with their continuations.
std::string generationsJson(std::span<const PromptContinuation> written, double seconds,
                            std::span<const std::string> warnings);

/// @param card must contain the fingerprint @param answers whether all answers to the questions of tasks are listed
std::string evaluationJson(const ModelCard& card, const Evaluation& evaluation, bool answers = false);
/// Evaluations of one model under several masks. Fields that all have in common come first; "runs" has an entry for
/// each mask. @param runs at least one evaluation
std::string evaluationsJson(const ModelCard& card, std::span<const Evaluation> runs, double seconds,
                            std::span<const std::string> warnings);

/// The files that an export wrote, and the difference of its logits from those of the masked model.
std::string exportJson(const ExportResult& result);

/// The contents of a session: metrics without their values, and evaluations with their differences from the dense
/// model.
std::string sessionJson(const Session& session);

std::string errorJson(const Error& error);

/// A report of progress in one line. @param fraction from 0 to 1
std::string progressJson(double fraction, std::string_view text);
/// The line in front of all reports of progress. It contains the expected duration.
std::string forecastJson(double expectedSeconds, std::string_view text);

/// An item that `list KIND` prints in one line.
struct ListItem {
    std::string id;
    std::string summary;
    std::string source; ///< source in the literature; may be empty
    std::vector<OptionInfo> options;
    /// Names and texts of further fields.
    std::vector<std::pair<std::string, std::string>> fields;
};

std::string listJson(std::string_view kind, const std::vector<ListItem>& items);

} // namespace secateur
