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
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// The mean of a distance over sequences.
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

/// Runs all sequences under both plans, and computes the distances in float64.
/// @param run, reference plans of model.runner() @param batchTokens maximum number of tokens of a batch, including
/// padding @param referenceModel the model of the reference's plan, if it is another one: without an adapter
/// @throws Error for models without pooled output, an empty set, and outputs that are zero or not finite; Cancelled
PooledDistance pooledDistance(const Model& model, const Plan& run, const Plan& reference, const SequenceSet& set,
                              std::int64_t batchTokens = 4096, const Progress& progress = {},
                              const Model* referenceModel = nullptr);

/// The user's choice of a prompt to continue.
struct PromptRequest {
    std::string text;
    int newTokens = 128; ///< maximum number of new tokens; EOS ends the text earlier
    Sampling sampling = {};
    SpecialText special = SpecialText::plain; ///< how "<s>" and other special tokens in the text are read

    bool operator==(const PromptRequest&) const = default;
};

/// The text with which a model continues a prompt.
struct PromptContinuation {
    PromptRequest prompt;
    std::string text; ///< the new text, without the prompt
    Continuation continuation;
};

/// The tokens of a prompt. @throws Error if the prompt has no tokens
std::vector<int> encodedPrompt(const PromptRequest& prompt, const Tokenizer& tokenizer);

/// Called with new text as soon as later tokens cannot change it.
using TextSink = std::function<void(std::string_view text)>;

/// Continues a prompt. @throws as encodedPrompt() and generate(); Cancelled
PromptContinuation continuePrompt(const Model& model, const Plan& plan, const Tokenizer& tokenizer,
                                  const PromptRequest& prompt, const Progress& progress = {},
                                  const TextSink& sink = {});

/// Number of prompts that continuePrompts() continues at once: a step of generation reads each weight once for all of
/// them.
inline constexpr std::size_t promptsAtOnce = 8;

/// Continues several prompts. Prompt i is sampled with the seed of `settings` plus i.
/// @param settings its text is not read @throws as continuePrompt()
std::vector<PromptContinuation> continuePrompts(const Model& model, const Plan& plan, const Tokenizer& tokenizer,
                                                std::span<const std::string> texts, const PromptRequest& settings,
                                                const Progress& progress = {});

/// The mask under which an evaluation was made.
struct EvaluatedMask {
    std::string name;             ///< name for display; empty = dense
    std::string digest = "dense"; ///< digest of the mask (resources/manual/formats.md, Digests and fingerprint)
};

/// The adapter that changed the model's weights in an evaluation (Adapter).
struct EvaluatedAdapter {
    std::string name;   ///< name for display
    std::string digest; ///< digest of the adapter (resources/manual/formats.md); empty = no adapter

    bool isPresent() const { return !digest.empty(); }
};

/// A reference run of the model without an adapter on the same windows, and the difference from it.
struct ReferenceText {
    EvaluatedMask mask;
    Perplexity perplexity;
    LossDifference difference; ///< loss of the run minus loss of the reference
};

struct TextEvaluation {
    std::string source; ///< file or folder, or "built-in"
    std::string digest; ///< digest of the token ids of all windows
    Perplexity perplexity;
    std::optional<ReferenceText> reference;
    std::size_t windows = 0; ///< number of windows in the whole text; a stopped run has scored fewer

    bool isComplete() const { return perplexity.windows.size() >= windows; }
};

/// Distance of an encoder's pooled outputs from those of a reference, on the same sequences.
struct PooledEvaluation {
    std::string source; ///< file or folder, or "built-in"
    std::string digest; ///< digest of the token ids of all sequences
    std::int64_t sequenceLength = 0;
    EvaluatedMask reference;
    PooledDistance distance;
    std::int64_t mostTokens = 0; ///< maximum number of tokens that was chosen; 0 = not known
};

/// A reference run of the model without an adapter on the same questions, and the differences from it.
struct ReferenceTask {
    EvaluatedMask mask;
    TaskRun run;
    std::vector<MetricDifference> differences; ///< run minus reference, for each metric
};

struct TaskEvaluation {
    std::string name;          ///< file name without suffix; with its folder if two tasks have the same name
    std::string source;        ///< path of the task file
    std::string_view formatId; ///< id in taskFormats()
    std::size_t questions = 0; ///< number of questions in the file
    TaskRules rules;
    std::vector<std::string> classNames; ///< class names of a classifier, if the checkpoint states them
    TaskRun run;
    std::optional<ReferenceTask> reference;
    std::string digest = {}; ///< digest of the questions, including examples
};

/// All results of one evaluation of a model under a mask.
struct Evaluation {
    EvaluatedMask mask;
    std::string dtype;
    std::string device;
    std::optional<TextEvaluation> text;
    double seconds = 0;
    int reusedLayers = 0; ///< number of layers that did not run, because their outputs were cached
    std::vector<std::string> warnings;
    std::vector<TaskEvaluation> tasks = {};
    std::string created = {}; ///< time in UTC as ISO 8601; only set in saved evaluations
    std::optional<PooledEvaluation> pooled = {};
    std::optional<Latency> latency = {};
    std::vector<Prefill> prefills = {};
    std::int64_t parameters = 0;     ///< number of parameters that the mask keeps (price.h); 0 = not counted
    double kvBytesPerToken = 0;      ///< bytes of the KV cache per token, for the kept KV heads in 16 bits
    EvaluatedMask timedAgainst = {}; ///< mask of the reference in `latency` and `prefills`
    std::vector<PromptContinuation> continuations = {};
    std::optional<Prediction> predicted = {}; ///< change of the loss that was predicted before the run; not saved
    EvaluatedAdapter adapter = {};            ///< of all runs; references have none

    /// Whether the runs are those of a mask without an adapter.
    bool isOf(std::string_view maskDigest) const { return mask.digest == maskDigest && !adapter.isPresent(); }
};

/// The name of what was evaluated: "dense", "M.json", "M.json + adapter".
std::string shownName(const EvaluatedMask& mask, const EvaluatedAdapter& adapter = {});

} // namespace secateur
