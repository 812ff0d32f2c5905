#pragma once

#include "backends/session/mask_json.h"
#include "tests/support/sessions.h"

#include <string>
#include <utility>
#include <vector>

namespace secateur::test {

/// A mask that cuts `head` of layer 0 and drops the MLP of layer 2. With `deep` it also cuts neurons 3 to 8 of layer 1.
inline SessionMask drawnMask(const std::string& name, const ModelSpec& spec, std::size_t head, bool deep = false) {
    MaskRecord record{PruningMask(spec), "Ragged é", "sha256:feed", "drawn", {}};
    LayerMask first = record.mask.layer(0);
    first.heads[head] = false;
    record.mask.setLayer(0, first);
    LayerMask last = record.mask.layer(2);
    last.mlp = false;
    record.mask.setLayer(2, last);
    LayerMask middle = record.mask.layer(1);
    for (std::size_t i = 3; deep && i < 9; ++i)
        middle.neurons[i] = false;
    record.mask.setLayer(1, middle);
    MaskProvenance provenance;
    provenance.strategy = "by_hand";
    record.provenance = provenance;
    std::string digest = maskDigest(record.mask);
    return {name, std::move(digest), std::move(record)};
}

/// An evaluation that stopped after `windows` of the ten windows of a text. With TextProtocol::wordPpl each page has
/// two windows.
inline TextEvaluation drawnRun(TextProtocol protocol, double nats, std::size_t windows) {
    PerplexityRules rules{protocol, BosMode::firstOnly, 16, 160};
    std::vector<WindowLoss> losses;
    std::vector<PageSize> pages;
    const bool byWords = protocol == TextProtocol::wordPpl;
    for (std::size_t i = 0; i < windows; ++i)
        losses.push_back({nats += 0.1 + 1.0 / static_cast<double>(i + 3), 15, byWords ? i / 2 : 0, i});
    for (std::size_t page = 0; byWords && 2 * page < windows; ++page)
        pages.push_back({20 + static_cast<std::int64_t>(page), 90, page});
    TextEvaluation text{"texts/é.txt",
                        byWords ? "sha256:words" : "sha256:tokens",
                        perplexityOf(rules, std::move(losses), std::move(pages)),
                        {}};
    text.windows = 10;
    return text;
}

inline TaskEvaluation drawnTask(const char* format, const char* name) {
    TaskEvaluation task;
    task.name = name;
    task.source = "tasks/é.jsonl";
    task.formatId = taskFormat(format).id;
    task.questions = 9;
    task.rules.shots = {2, ShotChoice::drawn, 7};
    task.rules.limit = 3;
    task.digest = std::string("sha256:") + name;
    task.run.kind = taskFormat(format).kind;
    task.run.shots = shotLabel(task.rules.shots);
    return task;
}

inline TaskEvaluation drawnChoice(double nats) {
    TaskEvaluation task = drawnTask("arc", "choices");
    task.run.questions = {{1, "biology", 1, {{-nats, false}, {-1.5, true}, {-4, false}}, 1, 1, 0},
                          {4, "physics", 0, {{-2.25, true}, {-nats, false}}, 0, 1, 1},
                          {9, "biology", 1, {{-nats, true}, {-3, false}}, 0, 0, 0}};
    task.run.scores = taskScores(task.run.kind, task.run.questions);
    return task;
}

inline TaskEvaluation drawnWords() {
    TaskEvaluation task = drawnTask("lambada", "words");
    task.run.questions = {{2, "", 0, {{-0.5, true}}, 0, 0, 0}, {3, "", 0, {{-7.5, false}}, 0, 0, 0}};
    task.run.scores = taskScores(task.run.kind, task.run.questions);
    return task;
}

inline TaskEvaluation drawnAnswers() {
    TaskEvaluation task = drawnTask("generate", "answers");
    task.run.written = {{1, "It is 7.\n", "7", true, 1}, {5, "éa", "éa", false, 0.25}};
    task.run.scores = writtenScores(task.run.written);
    return task;
}

inline Evaluation drawnEvaluation(const EvaluatedMask& mask, std::optional<TextEvaluation> text,
                                  std::vector<TaskEvaluation> tasks = {}) {
    Evaluation evaluation;
    evaluation.mask = mask;
    evaluation.dtype = "float32";
    evaluation.device = "cpu";
    evaluation.text = std::move(text);
    evaluation.tasks = std::move(tasks);
    evaluation.seconds = 1.5;
    evaluation.warnings = {"a word"};
    evaluation.created = "2026-11-21T11:00:00Z";
    return evaluation;
}

/// Adds made-up run times, measured alternately with those of the dense model.
inline void addDrawnTimes(Evaluation& evaluation) {
    Latency latency;
    latency.rules.promptTokens = 5;
    latency.rules.newTokens = 32;
    latency.rules.warmup = 1;
    latency.rules.runs = 3;
    latency.run.seconds = {0.5, 0.75, 0.625};
    latency.reference = Timing{{1, 1.25, 1.125}};
    latency.speedup = speedup(*latency.reference, latency.run);
    evaluation.latency = latency;
    Prefill prefill{128, {{{0.1, 0.2, 0.15}}, {}}, PrefillTiming{{{0.3, 0.35, 0.3}}, {}}, {}};
    prefill.run.bySublayer = SublayerSeconds{{0.01, 0, 0.02}, {0.03, 0.04, 0}, -0.001, {0.02, 0.04}, {0.06, 0.08}};
    prefill.speedup = speedup(prefill.reference->timing, prefill.run.timing);
    Prefill longer = prefill;
    longer.tokens = 512;
    evaluation.prefills = {prefill, longer};
}

inline PromptContinuation drawnContinuation(const std::string& prompt, const std::string& text) {
    return {{prompt, 7, {0.5, 0.9, 11}, SpecialText::parsed}, text, {{5, 7, 0}, TextEnd::stopToken}};
}

/// A point with a mask of a session, and made-up numbers from `first` on.
inline CurvePoint drawnPoint(const Budget& budget, const std::string& mask, double first) {
    CurvePoint point{.key = {.budget = budget}, .mask = mask};
    point.removed = {1, 2, 3, 4, 5, 6, 7};
    point.parameters = 1'000;
    for (double CurvePoint::* number :
         {&CurvePoint::kvBytesPerToken, &CurvePoint::operationsPerToken, &CurvePoint::lossNats, &CurvePoint::deltaNats,
          &CurvePoint::deltaStandardError, &CurvePoint::perplexity, &CurvePoint::choosingSeconds,
          &CurvePoint::scoringSeconds})
        point.*number = first += 0.1;
    return point;
}

/// Curves of two strategies: points with a task, with seeds, not yet scored, failed, and with a smaller budget. The
/// second set has another scored text, and a distance of pooled outputs.
inline std::vector<Curves> drawnCurves(const std::vector<SessionMask>& masks) {
    Curves curves;
    CurveConditions& own = curves.conditions;
    own.calibration = {"texts/é.txt", 3, 90, 90, 32, "document", "first_only"};
    own.calibrationDigest = "sha256:calibration";
    own.scored = {"built-in", "sha256:scored", 160, 10, {TextProtocol::tokenPpl, BosMode::firstOnly, 16, 160}};
    own.dtype = "float32";
    own.device = "cpu";
    own.protect = "first_last";
    own.baseDigest = masks[0].digest;
    own.positions = 512;
    own.scoresCalibrationText = true;
    curves.tasks = {{"folder/choices", "tasks/é.jsonl", "arc", "sha256:rules", 3}};
    curves.latency = {5, 32};
    curves.warnings = {"a word"};
    curves.dense = drawnPoint({}, "dense", 1);
    curves.dense.deltaNats = curves.dense.deltaStandardError = missing;
    curves.dense.tasks = {{"folder/choices", "acc", 0.75, 0.25}};

    CurvePoint scored = drawnPoint({2}, masks[0].digest, 2);
    scored.tasks = {{"folder/choices", "acc", 0.5, 0.25, -0.25, 0.125}, {"folder/choices", "acc_norm", 1, missing}};
    scored.tokensPerSecond = 12.5;
    CurvePoint failed{.key = {.budget = {1.5}}, .error = "--budget: é is not \"whole\""};
    CurvePoint limited = drawnPoint({99, true, BudgetOf::kvBytes}, masks[1].digest, 3);
    limited.reached = Budget{66.66, true, BudgetOf::kvBytes};
    limited.key.compensation = "none";
    Curves second = curves;
    join(curves, {.conditions = own, .dense = curves.dense, .curves = {{"gate_norm", {failed, scored, limited}}}});
    for (int repetition = 0; repetition < 2; ++repetition) {
        CurvePoint point = drawnPoint({12.5, true}, masks[1].digest, 4 + repetition);
        point.key.repetition = repetition;
        point.key.seed = 7 + static_cast<std::uint64_t>(repetition);
        point.lossNats = point.deltaNats = point.deltaStandardError = point.perplexity = missing;
        join(curves, {.conditions = own, .dense = curves.dense, .curves = {{"random_head:per_layer=true", {point}}}});
    }
    second.conditions.scored.digest = "sha256:other";
    second.dense.pooledDistance = second.dense.pooledStandardError = 0;
    CurvePoint pooled = drawnPoint({2}, "sha256:of a mask that was removed", 5);
    pooled.pooledDistance = 0.25;
    pooled.pooledStandardError = 0.125;
    join(second, {.conditions = second.conditions, .dense = second.dense, .curves = {{"gate_norm", {pooled}}}});
    return {curves, second};
}

/// A session with two masks, curves, and all kinds of evaluations: of the dense model, of the masks, unfinished, and on
/// tasks.
inline Session evaluatedSession() {
    Session session = raggedSession();
    session.results.resize(1);
    session.view = {{"colours", "magma"}};
    const ModelSpec& spec = session.model.spec;
    session.masks = {drawnMask("cut.json", spec, 2), drawnMask("deep.json", spec, 3, true)};
    session.masks[1].record.provenance->fits = {{0, true, 0.3, 0.5, 0.25}, {1, false, 0, 0.125, 0.0625}};
    const EvaluatedMask first{"cut.json", session.masks[0].digest};
    const EvaluatedMask second{"deep.json", session.masks[1].digest};
    session.evaluations = {
        drawnEvaluation({}, drawnRun(TextProtocol::tokenPpl, 20, 10), {drawnChoice(2), drawnAnswers()}),
        drawnEvaluation(first, drawnRun(TextProtocol::tokenPpl, 21, 10), {drawnChoice(1), drawnWords()}),
        drawnEvaluation(second, drawnRun(TextProtocol::tokenPpl, 22, 4)),
        drawnEvaluation(first, drawnRun(TextProtocol::wordPpl, 30, 6))};
    addDrawnTimes(session.evaluations[1]);
    PooledEvaluation pooled{"texts/é.txt", "sha256:sequences", 128, {}, {{0.25, 0.125}, {0.5, missing}, true, 1, 9}};
    pooled.mostTokens = 4096;
    session.evaluations[2].pooled = pooled;
    session.evaluations[0].continuations = {drawnContinuation("Once é", " upon\n"), drawnContinuation("Two", "")};
    session.evaluations[1].continuations = {drawnContinuation("Once é", " there")};
    session.curves = drawnCurves(session.masks);
    return session;
}

} // namespace secateur::test
