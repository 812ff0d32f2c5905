#pragma once

#include "analysis/base/progress.h"
#include "analysis/evaluation/change_scale.h"
#include "analysis/evaluation/latency.h"
#include "analysis/evaluation/perplexity.h"
#include "analysis/evaluation/prefill.h"
#include "analysis/model/model.h"
#include "analysis/running/generate.h"
#include "analysis/running/runner.h"
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

/// A mean distance over sequences.
struct MeanDistance {
    double value = 0;
    double standardError = 0; ///< NaN for a single sequence
};

/// Distance between an encoder's pooled output under a mask, p, and under a reference plan, p_0. Without a pooler, p is
/// the final state of the first token.
struct PooledDistance {
    MeanDistance relative; ///< ||p - p_0|| / ||p_0||, Euclidean
    MeanDistance cosine;   ///< 1 - cos(p, p_0)
    bool hasPooler = false;
    std::size_t sequences = 0;
    std::int64_t tokens = 0;
};

/// Whether a model is an encoder without a classification head. Its lmHead() gives the pooled output.
bool givesPooledOutput(const Model& model);

/// Runs all sequences under both plans and computes distances in float64.
/// @param run, reference plans of model.runner() @param batchTokens maximum of a batch, padding included
/// @throws Error for models without pooled output, an empty set, and outputs that are zero or not finite; Cancelled
PooledDistance pooledDistance(const Model& model, const Plan& run, const Plan& reference, const SequenceSet& set,
                              std::int64_t batchTokens = 4096, const Progress& progress = {});

/// The user's choice of a prompt to continue.
struct PromptRequest {
    std::string text;
    int newTokens = 128; ///< maximum; EOS ends the text earlier
    Sampling sampling = {};
    SpecialText special = SpecialText::plain; ///< meaning of "<s>" and the like in the text

    bool operator==(const PromptRequest&) const = default;
};

/// A model's continuation of a prompt.
struct PromptContinuation {
    PromptRequest prompt;
    std::string text; ///< without the prompt
    Continuation continuation;
};

/// @throws Error if the prompt has no tokens
std::vector<int> encodedPrompt(const PromptRequest& prompt, const Tokenizer& tokenizer);

/// Called with each further piece of the text as soon as later tokens cannot change it.
using TextSink = std::function<void(std::string_view text)>;

/// @throws as encodedPrompt() and generate(); Cancelled
PromptContinuation continuePrompt(const Model& model, const Plan& plan, const Tokenizer& tokenizer,
                                  const PromptRequest& prompt, const Progress& progress = {},
                                  const TextSink& sink = {});

/// The mask of an evaluation.
struct EvaluatedMask {
    std::string name;             ///< as shown; empty = dense
    std::string digest = "dense"; ///< resources/manual/formats.md, Digests and fingerprint
};

/// A reference run of the same model on the same windows.
struct ReferenceText {
    EvaluatedMask mask;
    Perplexity perplexity;
    LossDifference difference; ///< run minus reference
};

struct TextEvaluation {
    std::string source; ///< file or folder, or "built-in"
    std::string digest; ///< of the token ids of all windows
    Perplexity perplexity;
    std::optional<ReferenceText> reference;
    std::size_t windows = 0; ///< number in the whole text; a stopped run has scored fewer

    bool isComplete() const { return perplexity.windows.size() >= windows; }
};

/// Distance of an encoder's pooled outputs from those of a reference, on the same sequences.
struct PooledEvaluation {
    std::string source; ///< as of TextEvaluation
    std::string digest; ///< of the token ids of all sequences
    std::int64_t sequenceLength = 0;
    EvaluatedMask reference;
    PooledDistance distance;
    std::int64_t mostTokens = 0; ///< maximum number of tokens that was chosen; 0 = not known
};

/// A reference run of the same model on the same questions.
struct ReferenceTask {
    EvaluatedMask mask;
    TaskRun run;
    std::vector<MetricDifference> differences; ///< run minus reference
};

struct TaskEvaluation {
    std::string name;          ///< of the file, without suffix; with its folder where two tasks have the same name
    std::string source;        ///< file
    std::string_view formatId; ///< of taskFormats()
    std::size_t questions = 0; ///< number in the file
    TaskRules rules;
    std::vector<std::string> classNames; ///< of a classifier, if the checkpoint names them
    TaskRun run;
    std::optional<ReferenceTask> reference;
    std::string digest = {}; ///< of the questions, examples included
};

/// All results of one evaluation of a model under a mask.
struct Evaluation {
    EvaluatedMask mask;
    std::string dtype;
    std::string device;
    std::optional<TextEvaluation> text;
    double seconds = 0;
    int reusedLayers = 0; ///< layers that were not run, because their outputs were cached
    std::vector<std::string> warnings;
    std::vector<TaskEvaluation> tasks = {};
    std::string created = {}; ///< time in ISO 8601, UTC; only in saved evaluations
    std::optional<PooledEvaluation> pooled = {};
    std::optional<Latency> latency = {};
    std::vector<Prefill> prefills = {};
    std::int64_t parameters = 0;     ///< kept under the mask (price.h); 0 = not counted
    double kvBytesPerToken = 0;      ///< size of the KV cache for one token, of the kept KV heads in 16 bits
    EvaluatedMask timedAgainst = {}; ///< the reference of `latency` and `prefills`
    std::vector<PromptContinuation> continuations = {};
    std::optional<Prediction> predicted = {}; ///< change of the loss, predicted before the run; not saved
};

} // namespace secateur
