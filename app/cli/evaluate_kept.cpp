#include "app/cli/evaluate_kept.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/model/kernels.h"
#include "analysis/prediction/prediction.h"
#include "app/cli/ranks.h"
#include "backends/base/runtime.h"
#include "backends/engine/adapted_model.h"
#include "backends/session/mask_json.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace secateur::cli {

EvaluationKeeper::EvaluationKeeper(std::string path, const Model& model)
    : m_path(std::move(path)) {
    m_session = sessionToExtend(m_path, fullCard(baseOf(model)));
}

std::string EvaluationKeeper::add(const std::string& name, const MaskRecord& mask) {
    if (mask.mask.keepsAll())
        return name;
    return secateur::add(m_session, SessionMask{name, maskDigest(mask.mask), mask});
}

void EvaluationKeeper::keep(Evaluation evaluation) {
    evaluation.created = utcNow();
    evaluation.adapter = named(m_session, evaluation.adapter);
    Session more;
    more.model = m_session.model;
    more.created = evaluation.created;
    const auto mask = std::ranges::find(m_session.masks, evaluation.mask.name, &SessionMask::name);
    if (mask != m_session.masks.end())
        more.masks.push_back(*mask);
    more.evaluations.push_back(evaluation);
    addToResults(more, m_path);
    secateur::add(m_session, std::move(evaluation));
}

void EvaluationKeeper::keep(std::shared_ptr<const PredictionBasis> basis) {
    Session more;
    more.model = m_session.model;
    more.created = utcNow();
    more.prediction = basis;
    addToResults(more, m_path);
    m_session.prediction = std::move(basis);
}

namespace {

/// Time of a group of windows, after which partial results are written. If each group has to read the weights again, a
/// stop loses at most the running group; otherwise at most the running batch.
constexpr double groupSeconds = 600;

Evaluation runOf(const ReadyModel& ready, const EvaluatedMask& mask, const EvaluatedAdapter& adapter) {
    Evaluation run{mask, std::string(name(ready.plan->type())), ready.model->kernels().device(), {}, 0, 0, {}};
    run.adapter = adapter;
    return run;
}

/// The possessive form of a mask's name: "the dense model's", "M.json's".
std::string possessive(const EvaluatedMask& mask, const EvaluatedAdapter& adapter) {
    const bool isDense = mask.name.empty() && !adapter.isPresent();
    return (isDense ? "the dense model" : shownName(mask, adapter)) + "'s";
}

void note(ReadyModel& ready, std::string text) {
    if (std::ranges::find(ready.warnings, text) == ready.warnings.end())
        ready.warnings.push_back(std::move(text));
}

ReferenceText referenceOf(const Evaluation& reference, const TextEvaluation& run) {
    return {reference.mask, reference.text->perplexity, pairedDifference(run.perplexity, reference.text->perplexity)};
}

} // namespace

KeptText::KeptText(EvaluationKeeper& keeper, ReadyModel& ready, const EvaluationText& text, std::int64_t batchTokens)
    : m_keeper(keeper)
    , m_ready(ready)
    , m_text(text)
    , m_batchTokens(batchTokens)
    , m_warnings(ready.warnings) {}

Evaluation KeptText::evaluationOf(const Run& wanted) const {
    Evaluation evaluation = runOf(m_ready, wanted.mask, wanted.adapter);
    evaluation.warnings = m_warnings;
    evaluation.text = TextEvaluation{m_text.source, m_text.digest, {}, {}};
    evaluation.text->perplexity.rules = m_text.scored.rules;
    evaluation.text->windows = m_text.scored.windows.sequences.size();
    return evaluation;
}

TextEvaluator& KeptText::evaluatorOf(const Model& model, const Progress& progress) {
    const auto found = m_evaluators.find(&model);
    if (found != m_evaluators.end())
        return found->second;
    const EvaluatorOptions options{
        m_ready.plan->type(), availableMemory() / 4, m_batchTokens, groupSeconds, true, cluster()};
    return m_evaluators.try_emplace(&model, model, m_text.scored, options, progress).first->second;
}

void KeptText::keepPart(Evaluation evaluation, const Run& wanted) {
    std::optional<MaskEvaluation> part = evaluatorOf(wanted.model, {}).known(wanted.cuts);
    if (!part)
        return;
    spdlog::warn("{} of {} windows are saved in {}: the same command continues from there", part->run.windows.size(),
                 part->windows, m_keeper.path());
    evaluation.text->perplexity = std::move(part->run);
    m_keeper.keep(std::move(evaluation));
}

Evaluation KeptText::under(const Run& wanted, const Progress& progress) {
    Evaluation run = evaluationOf(wanted);
    const Evaluation* known = m_keeper.text(run);
    if (known && known->text->windows != run.text->windows)
        known = nullptr; // a run with the same digest but on other windows
    const std::string owner = possessive(wanted.mask, wanted.adapter);
    if (known && known->text->isComplete()) {
        note(m_ready, fmt::format("{} losses were read from {}", owner, m_keeper.path()));
        run.text = known->text;
        return run;
    }
    const auto begin = std::chrono::steady_clock::now();
    TextEvaluator& evaluator = evaluatorOf(wanted.model, progress.part(0, 0));
    if (known) {
        const std::vector<WindowLoss>& losses = known->text->perplexity.windows;
        note(m_ready, fmt::format("{} losses of {} of {} windows were read from {}", owner, losses.size(),
                                  run.text->windows, m_keeper.path()));
        evaluator.know(wanted.cuts, losses);
    }
    try {
        MaskEvaluation found = evaluator.evaluate(wanted.cuts, {}, progress);
        run.text->perplexity = std::move(found.run);
        run.reusedLayers = found.reusedLayers;
        run.seconds = secondsSince(begin);
    } catch (const Cancelled&) {
        run.seconds = secondsSince(begin);
        keepPart(std::move(run), wanted);
        throw;
    }
    m_keeper.keep(run);
    return run;
}

TextEvaluation KeptText::under(const PlannedMask& run, const std::optional<PlannedMask>& reference,
                               const Progress& progress) {
    const auto score = [this](const PlannedMask& planned, const Progress& part) {
        return under({planned.mask, planned.plan->mask(), *planned.model, planned.adapter}, part);
    };
    std::optional<Evaluation> other;
    if (reference)
        other = score(*reference, progress.part(0, 0.5));
    TextEvaluation text = score(run, progress.part(reference ? 0.5 : 0, 1)).text.value();
    if (other)
        text.reference = referenceOf(*other, text);
    return text;
}

std::vector<Evaluation> KeptText::under(const std::vector<std::string>& names, const std::vector<PruningMask>& masks,
                                        const Progress& progress) {
    const auto count = static_cast<double>(masks.size() + 1);
    const PruningMask all(m_ready.model->spec());
    const Evaluation dense = under({{}, all, m_ready.reference(), {}}, progress.part(0, 1 / count));
    std::vector<Evaluation> runs;
    for (std::size_t i = 0; i < masks.size(); ++i) {
        const auto done = static_cast<double>(i + 1);
        runs.push_back(under({{names[i], maskDigest(masks[i])}, masks[i], *m_ready.model, m_ready.adapter},
                             progress.part(done / count, (done + 1) / count)));
        runs.back().text->reference = referenceOf(dense, *runs.back().text);
    }
    return runs;
}

TaskRun keptTask(EvaluationKeeper& keeper, ReadyModel& ready, const PlannedMask& planned, const Tokenizer& tokenizer,
                 const AskedTask& asked, const Progress& progress) {
    Evaluation evaluation = runOf(ready, planned.mask, planned.adapter);
    TaskEvaluation task = taskEvaluation(asked, {});
    if (const TaskEvaluation* known = keeper.task(evaluation, task)) {
        note(ready, fmt::format("{} answers to {} were read from {}", possessive(planned.mask, planned.adapter),
                                task.name, keeper.path()));
        return known->run;
    }
    const auto begin = std::chrono::steady_clock::now();
    evaluation.warnings = ready.warnings;
    task.run = askTask(*planned.model, *planned.plan, tokenizer, asked, progress);
    evaluation.seconds = secondsSince(begin);
    evaluation.tasks = {task};
    keeper.keep(std::move(evaluation));
    return std::move(task.run);
}

std::optional<Predictor> predictorFor(bool isRequested, const ReadyModel& ready, const EvaluationText& text,
                                      std::optional<EvaluationKeeper>& keeper, const Progress& progress) {
    const bool isPerToken = text.scored.rules.protocol == TextProtocol::tokenPpl;
    if (isRequested && !isPerToken)
        throw UsageError("requires --protocol token_ppl: losses are predicted per token", "--predict");
    if (!isPerToken)
        return std::nullopt;
    const bool isKept = keeper && !ready.adapter.isPresent();
    if (isKept && keeper->session().prediction)
        return predictorOf(keeper->session());
    if (!isRequested)
        return std::nullopt;
    auto basis = predictionBasis(*ready.model, text, {}, progress);
    if (isKept) {
        keeper->keep(basis);
        return predictorOf(keeper->session());
    }
    return Predictor(ready.model->spec(), std::move(basis));
}

std::optional<Prediction> predicted(const std::optional<Predictor>& predictor, const PruningMask& mask,
                                    std::vector<std::string>& warnings) {
    if (!predictor)
        return std::nullopt;
    if (const std::string refusal = predictor->refusal(mask); !refusal.empty()) {
        const std::string warning = "no prediction: " + refusal;
        if (std::ranges::find(warnings, warning) == warnings.end())
            warnings.push_back(warning);
        return std::nullopt;
    }
    return predictor->predict(mask);
}

std::string sentence(const Prediction& prediction) {
    return fmt::format("{}{} nats/token (90 %: {} to {})", prediction.nats > 0 ? "+" : "", significant(prediction.nats),
                       significant(prediction.low), significant(prediction.high));
}

} // namespace secateur::cli
