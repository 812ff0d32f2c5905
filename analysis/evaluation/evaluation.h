#pragma once

#include "analysis/evaluation/change_scale.h"
#include "analysis/evaluation/latency.h"
#include "analysis/evaluation/perplexity.h"
#include "analysis/evaluation/pooled_distance.h"
#include "analysis/evaluation/prefill.h"
#include "analysis/evaluation/prompt_continuation.h"
#include "analysis/tasks/task_run.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

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
