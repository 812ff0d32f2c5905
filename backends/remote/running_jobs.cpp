#include "analysis/base/error.h"
#include "analysis/evaluation/asked_task.h"
#include "analysis/evaluation/latency.h"
#include "analysis/evaluation/text_evaluator_state.h"
#include "analysis/metrics/measure_stages.h"
#include "analysis/metrics/metric_wire.h"
#include "analysis/prediction/prediction.h"
#include "analysis/running/run_speed.h"
#include "analysis/tasks/task_wire.h"
#include "backends/remote/model_facts.h"
#include "backends/remote/remote_jobs.h"
#include "backends/text/task_file.h"

#include <algorithm>
#include <array>

namespace secateur {

namespace {

PlanFacts planJob(JobSide& side, const JobControl& /*control*/, const FarPlan& wanted) {
    const auto made = side.plan(wanted);
    return {made->type(), made->reason(), made->isResident()};
}

bool togetherJob(JobSide& side, const JobControl& /*control*/, const FarPlan& one, const FarPlan& other) {
    return side.services().stayTogether(*side.plan(one), *side.plan(other));
}

RunSpeed speedJob(JobSide& side, const JobControl& control, const FarPlan& wanted) {
    return runSpeed(side.model(), *side.plan(wanted), control.progress);
}

double stepJob(JobSide& side, const JobControl& control, const FarPlan& wanted) {
    return stepSeconds(side.model(), *side.plan(wanted), control.progress);
}

/// What all jobs of a TextEvaluator take.
struct EvaluatorChoice {
    ScoredText text;
    ComputeType type = ComputeType::automatic;
    std::int64_t batchTokens = 0;
    double groupSeconds = 0;
    bool alone = false;
};

void checkIds(const JobSide& side, const std::vector<int>& ids) {
    const int vocab = side.model().spec().vocab;
    if (!std::ranges::all_of(ids, [vocab](int id) { return id >= 0 && id < vocab; }))
        throw Error("A message has tokens beyond the vocabulary");
}

void check(const JobSide& side, const EvaluatorChoice& choice) {
    constexpr std::int64_t mostBatch = std::int64_t{1} << 24;
    const ScoredText& text = choice.text;
    if (text.firstScored.size() != text.windows.sequences.size() || choice.batchTokens < 1 ||
        choice.batchTokens > mostBatch || !(choice.groupSeconds >= 0))
        throw Error("A message has a text that cannot be scored");
    for (std::size_t i = 0; i < text.windows.sequences.size(); ++i) {
        const TokenSequence& window = text.windows.sequences[i];
        const bool isPage = text.rules.protocol != TextProtocol::wordPpl || window.document < text.pages.size();
        if (window.ids.size() < 2 || text.firstScored[i] < 1 || text.firstScored[i] >= window.ids.size() || !isPage)
            throw Error("A message has a text that cannot be scored");
        checkIds(side, window.ids);
    }
}

/// Uses the evaluator of a text under the losses that the other side knows. Of jobs with the same text, one runs.
template <typename Use>
auto withEvaluator(JobSide& side, const JobControl& control, const EvaluatorChoice& choice,
                   const std::vector<KnownLosses>& known, const Use& use) {
    check(side, choice);
    constexpr int share = 4; // as in the window (evaluationStreamShare)
    const auto make = [&] {
        const EvaluatorOptions options{.type = choice.type,
                                       .streamBudget = side.services().availableMemory() / share,
                                       .batchTokens = choice.batchTokens,
                                       .groupSeconds = choice.groupSeconds,
                                       .alone = choice.alone};
        return std::make_unique<TextEvaluator>(side.model(), choice.text, options, control.progress.part(0, 0));
    };
    return side.evaluators().use(wireBytes(choice), make, [&](TextEvaluator& evaluator) {
        for (const KnownLosses& losses : known)
            evaluator.know(losses.mask, losses.losses);
        return use(evaluator);
    });
}

EvaluatorFacts evaluatorFactsJob(JobSide& side, const JobControl& control, const EvaluatorChoice& choice,
                                 const PruningMask& /*mask*/, const std::vector<KnownLosses>& known) {
    return withEvaluator(side, control, choice, known, [](const TextEvaluator& evaluator) {
        return EvaluatorFacts{evaluator.type(), evaluator.streamInterval(), evaluator.streamBytes()};
    });
}

double expectedSecondsJob(JobSide& side, const JobControl& control, const EvaluatorChoice& choice,
                          const PruningMask& mask, const std::vector<KnownLosses>& known) {
    return withEvaluator(side, control, choice, known,
                         [&](const TextEvaluator& evaluator) { return evaluator.expectedSeconds(mask); });
}

MaskEvaluation evaluateJob(JobSide& side, const JobControl& control, const EvaluatorChoice& choice,
                           const PruningMask& mask, const std::vector<KnownLosses>& known) {
    return withEvaluator(side, control, choice, known, [&](TextEvaluator& evaluator) {
        return evaluator.evaluate(
            mask, [&](const MaskEvaluation& found) { control.part(wireBytes(found)); }, control.progress);
    });
}

TaskRun askJob(JobSide& side, const JobControl& control, const FarPlan& wanted, AskedTask& asked) {
    asked.judge = answerJudge(asked.task, asked.path);
    return askTask(side.model(), *side.plan(wanted), side.tokenizer(), asked, control.progress);
}

Latency latencyJob(JobSide& side, const JobControl& control, const FarPlan& run,
                   const std::optional<FarPlan>& reference, bool takeTurns, LatencyRules& rules) {
    rules.clock = steadyClock();
    checkIds(side, rules.text);
    const auto own = side.plan(run);
    const auto other = reference ? side.plan(*reference) : nullptr;
    return generationLatency(side.model(), {*own, other.get(), takeTurns}, rules, control.progress);
}

PooledDistance distanceJob(JobSide& side, const JobControl& control, const FarPlan& run, const FarPlan& reference,
                           const SequenceSet& set, std::int64_t batchTokens) {
    return pooledDistance(side.model(), *side.plan(run), *side.plan(reference), set, batchTokens, control.progress);
}

PromptContinuation continuationJob(JobSide& side, const JobControl& control, const FarPlan& wanted,
                                   const PromptRequest& prompt) {
    return continuePrompt(side.model(), *side.plan(wanted), side.tokenizer(), prompt, control.progress,
                          [&](std::string_view text) { control.part(wireBytes(std::string(text))); });
}

void check(const AttentionRules& rules) {
    constexpr int most = 1 << 20;
    if (rules.streamBudget < 0 || rules.thumbnailSide < 1 || rules.thumbnailSide > most || rules.mapSide < 1 ||
        rules.mapSide > most)
        throw Error("A message asks for an impossible attention map");
}

template <typename Use>
auto withReader(JobSide& side, const PruningMask& mask, const std::vector<int>& ids, const AttentionRules& rules,
                const Use& use) {
    check(rules);
    checkIds(side, ids);
    const auto make = [&] { return std::make_unique<AttentionReader>(side.shared(), mask, ids, rules); };
    return side.readers().use(wireBytes(mask, ids, rules), make, use);
}

void checkHead(const ModelSpec& spec, int layer, std::optional<int> head) {
    const bool isIn = layer >= 0 && layer < spec.layerCount();
    if (!isIn || (head && (*head < 0 || *head >= spec.layers[static_cast<std::size_t>(layer)].heads)))
        throw Error("A message asks for a head that the model does not have");
}

LayerAttention attentionLayerJob(JobSide& side, const JobControl& control, const PruningMask& mask,
                                 const std::vector<int>& ids, const AttentionRules& rules, int layer,
                                 const std::optional<int>& head) {
    checkHead(side.model().spec(), layer, head);
    return withReader(side, mask, ids, rules,
                      [&](const AttentionReader& reader) { return reader.layer(layer, head, control.progress); });
}

std::optional<AttentionPart> attentionPartJob(JobSide& side, const JobControl& control, const PruningMask& mask,
                                              const std::vector<int>& ids, const AttentionRules& rules, HeadId head,
                                              const MapWindow& window) {
    checkHead(side.model().spec(), head.layer, head.head);
    const auto tokens = static_cast<int>(std::ssize(ids));
    const auto isIn = [tokens](int first, int count) { return first >= 0 && count > 0 && first <= tokens - count; };
    if (!isIn(window.firstQuery, window.queries) || !isIn(window.firstKey, window.keys) || window.cells < 1 ||
        std::int64_t{window.rows()} * window.columns() > std::int64_t{rules.mapSide} * rules.mapSide)
        throw Error("A message asks for an impossible attention map");
    return withReader(side, mask, ids, rules,
                      [&](const AttentionReader& reader) { return reader.part(head, window, control.progress); });
}

std::shared_ptr<const PredictionBasis> basisJob(JobSide& side, const JobControl& control, const EvaluationText& text,
                                                const PredictionRules& rules) {
    constexpr int most = 1 << 20;
    if (rules.tokens < 1 || rules.sequenceLength < 2 || rules.passes < 1 || rules.passes > most)
        throw Error("A message asks for an impossible prediction");
    return predictionBasis(side.model(), text, rules, control.progress);
}

constexpr std::array runningRows{
    JobOf<planJob>::row("plan", "The dtype of a plan, and whether its weights fit in memory."),
    JobOf<togetherJob>::row("stay_together", "Whether two plans fit in memory together."),
    JobOf<speedJob>::row("run_speed", "Times a layer and the LM head."),
    JobOf<stepJob>::row("step_seconds", "Times a step of generation."),
    JobOf<evaluatorFactsJob>::row("evaluator", "Prepares a text to be scored."),
    JobOf<expectedSecondsJob>::row("expected_seconds", "Expected seconds to score a text under a mask."),
    JobOf<evaluateJob>::row("evaluate", "Scores a text under a mask. Parts: the result so far."),
    JobOf<askJob>::row("ask_task", "Answers the questions of a task."),
    JobOf<latencyJob>::row("generation_latency", "Times generation."),
    JobOf<distanceJob>::row("pooled_distance", "Compares pooled outputs of an encoder."),
    JobOf<continuationJob>::row("continue_prompt", "Continues a prompt. Parts: new text."),
    JobOf<attentionLayerJob>::row("attention_layer", "Attention maps of a layer."),
    JobOf<attentionPartJob>::row("attention_part", "A part of the attention map of a head."),
    JobOf<basisJob>::row("prediction_basis", "Measures the gradients for predictions."),
};

} // namespace

std::span<const RemoteJob> runningJobs() {
    return runningRows;
}

} // namespace secateur
