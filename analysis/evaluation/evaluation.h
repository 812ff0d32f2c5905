#pragma once

#include "analysis/base/progress.h"
#include "analysis/evaluation/change_scale.h"
#include "analysis/evaluation/latency.h"
#include "analysis/evaluation/perplexity.h"
#include "analysis/evaluation/prefill.h"
#include "analysis/model/model.h"
#include "analysis/running/generate.h"
#include "analysis/running/plan.h"
#include "analysis/running/sampling.h"
#include "analysis/tasks/task_run.h"
#include "analysis/text/sequences.h"
#include "analysis/text/tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A mean over sequences.
struct MeanDistance {
    double value = 0;
    double standardError = 0; ///< NaN for a single sequence
};

/// How far a mask moves what an encoder makes of texts: its pooled output p, or without a pooler the final state of the
/// first token.
struct PooledDistance {
    MeanDistance relative; ///< ||p - p_0|| / ||p_0||, Euclidean; p_0 of the run it is compared with
    MeanDistance cosine;   ///< 1 - cos(p, p_0)
    bool hasPooler = false;
    std::size_t sequences = 0;
    std::int64_t tokens = 0;
};

/// Whether a model is an encoder without a head: then lmHead() gives its pooled output.
bool givesPooledOutput(const Model& model);

/// Runs all sequences under both plans; distances are in float64.
/// @param run, reference plans of model.runner() @param batchTokens that run at once, padding included
/// @throws Error for models that give no pooled output, no sequences, and outputs that are zero or not finite;
/// Cancelled
PooledDistance pooledDistance(const Model& model, const Plan& run, const Plan& reference, const SequenceSet& set,
                              std::int64_t batchTokens = 4096, const Progress& progress = {});

/// A text that a model is to continue, as a person names it.
struct PromptRequest {
    std::string text;
    int newTokens = 128; ///< at most: the tokenizer's EOS ends the text
    Sampling sampling = {};
    SpecialText special = SpecialText::plain; ///< what "<s>" in the text means

    bool operator==(const PromptRequest&) const = default;
};

/// What a model put behind a prompt.
struct PromptContinuation {
    PromptRequest prompt;
    std::string text; ///< without the prompt's
    Continuation continuation;
};

/// @throws Error when there are none: nothing to begin with
std::vector<int> encodedPrompt(const PromptRequest& prompt, const Tokenizer& tokenizer);

/// Told of each piece of text as soon as it is certain.
using TextSink = std::function<void(std::string_view piece)>;

/// @throws as encodedPrompt() and generate(); Cancelled
PromptContinuation continuePrompt(const Model& model, const Plan& plan, const Tokenizer& tokenizer,
                                  const PromptRequest& prompt, const Progress& progress = {},
                                  const TextSink& sink = {});

/// What of a model ran.
struct EvaluatedMask {
    std::string name;             ///< for people; empty = dense
    std::string digest = "dense"; ///< contract.md, Mask JSON
};

/// What a run is compared with: on the same windows, of the same model.
struct ReferenceText {
    EvaluatedMask mask;
    Perplexity perplexity;
    LossDifference difference; ///< of the run to this one
};

struct TextEvaluation {
    std::string source; ///< file or folder, or "built-in"
    std::string digest; ///< of the token ids of all windows
    Perplexity perplexity;
    std::optional<ReferenceText> reference;
    std::size_t windows = 0; ///< of the whole text; more than were scored when a run was stopped

    bool isComplete() const { return perplexity.windows.size() >= windows; }
};

/// How far an encoder's pooled output is from that of what it is compared with, on the same sequences.
struct PooledEvaluation {
    std::string source; ///< as of TextEvaluation
    std::string digest; ///< of the token ids of all sequences
    std::int64_t sequenceLength = 0;
    EvaluatedMask reference;
    PooledDistance distance;
};

/// What a run of a task is compared with: the same questions, asked of the same model.
struct ReferenceTask {
    EvaluatedMask mask;
    TaskRun run;
    std::vector<MetricDifference> differences; ///< of the run to this one
};

struct TaskEvaluation {
    std::string name;          ///< the file's, without its ending; with its folder's where two would be the same
    std::string source;        ///< file
    std::string_view formatId; ///< of taskFormats()
    std::size_t questions = 0; ///< in the file
    TaskRules rules;
    std::vector<std::string> classNames; ///< of a classifier, where the checkpoint names them
    TaskRun run;
    std::optional<ReferenceTask> reference;
    std::string digest = {}; ///< of what is asked, examples included
};

/// How good a model is under a mask, by whatever was asked for.
struct Evaluation {
    EvaluatedMask mask;
    std::string dtype;
    std::string device;
    std::optional<TextEvaluation> text;
    double seconds = 0;
    int reusedLayers = 0; ///< whose streams were there from the dense model or a mask before
    std::vector<std::string> warnings;
    std::vector<TaskEvaluation> tasks = {};
    std::string created = {}; ///< ISO 8601, UTC; of what is kept
    std::optional<PooledEvaluation> pooled = {};
    std::optional<Latency> latency = {};
    std::vector<Prefill> prefills = {};
    std::int64_t parameters = 0;     ///< that the mask leaves (price.h); 0 = not counted
    double kvBytesPerToken = 0;      ///< as parameters; 16-bit numbers
    EvaluatedMask timedAgainst = {}; ///< what the references of latency and prefills ran
    std::vector<PromptContinuation> continuations = {};
    std::optional<Prediction> predicted = {}; ///< difference to the dense model, from before the run; not saved
};

} // namespace secateur
