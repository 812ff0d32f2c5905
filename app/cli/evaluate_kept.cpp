#include "app/cli/evaluate_kept.h"

#include "analysis/model/kernels.h"
#include "backends/base/runtime.h"
#include "backends/session/mask_digest.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace secateur::cli {

namespace {

/// What is lost at most where the weights are read again for each group of windows; else it is one batch.
constexpr double groupSeconds = 600;

double since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Evaluation evaluationOf(const ReadyModel& ready, const EvaluatedMask& mask) {
    return {mask, std::string(name(ready.plan->type())), ready.model->kernels().device(), {}, 0, 0, {}};
}

/// "the dense model's", "M.json's"
std::string possessive(const EvaluatedMask& mask) {
    return (mask.name.empty() ? "the dense model" : mask.name) + "'s";
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

Evaluation KeptText::wanted(const EvaluatedMask& mask) const {
    Evaluation evaluation = evaluationOf(m_ready, mask);
    evaluation.warnings = m_warnings;
    evaluation.text = TextEvaluation{m_text.source, m_text.digest, {}, {}};
    evaluation.text->perplexity.rules = m_text.scored.rules;
    evaluation.text->windows = m_text.scored.windows.sequences.size();
    return evaluation;
}

void KeptText::keepPart(Evaluation evaluation, const PruningMask& cuts) {
    std::optional<MaskEvaluation> part = m_evaluator->known(cuts);
    if (!part)
        return;
    spdlog::warn("{} of {} windows are kept in {}: the same command goes on from there", part->run.windows.size(),
                 part->windows, m_keeper.path());
    evaluation.text->perplexity = std::move(part->run);
    m_keeper.keep(std::move(evaluation));
}

Evaluation KeptText::under(const EvaluatedMask& mask, const PruningMask& cuts, const Progress& progress) {
    Evaluation run = wanted(mask);
    const Evaluation* known = m_keeper.text(run);
    if (known && known->text->windows != run.text->windows)
        known = nullptr; // the file says so, but this text has others
    if (known && known->text->isComplete()) {
        note(m_ready, fmt::format("{} losses are those of {}", possessive(mask), m_keeper.path()));
        run.text = known->text;
        return run;
    }
    const auto begin = std::chrono::steady_clock::now();
    if (!m_evaluator) {
        const EvaluatorOptions options{m_ready.plan->type(), availableMemory() / 4, m_batchTokens, groupSeconds, true};
        m_evaluator.emplace(*m_ready.model, m_text.scored, options, progress.part(0, 0));
    }
    if (known) {
        const std::vector<WindowLoss>& losses = known->text->perplexity.windows;
        note(m_ready, fmt::format("{} losses of {} of {} windows are those of {}", possessive(mask), losses.size(),
                                  run.text->windows, m_keeper.path()));
        m_evaluator->know(cuts, losses);
    }
    try {
        MaskEvaluation found = m_evaluator->evaluate(cuts, {}, progress);
        run.text->perplexity = std::move(found.run);
        run.reusedLayers = found.reusedLayers;
        run.seconds = since(begin);
    } catch (const Cancelled&) {
        run.seconds = since(begin);
        keepPart(std::move(run), cuts);
        throw;
    }
    m_keeper.keep(run);
    return run;
}

TextEvaluation KeptText::under(const Contender& run, const std::optional<Contender>& reference,
                               const Progress& progress) {
    std::optional<Evaluation> other;
    if (reference)
        other = under(reference->mask, reference->plan->mask(), progress.part(0, 0.5));
    TextEvaluation text = under(run.mask, run.plan->mask(), progress.part(reference ? 0.5 : 0, 1)).text.value();
    if (other)
        text.reference = referenceOf(*other, text);
    return text;
}

std::vector<Evaluation> KeptText::under(const std::vector<std::string>& names, const std::vector<PruningMask>& masks,
                                        const Progress& progress) {
    const auto count = static_cast<double>(masks.size() + 1);
    const Evaluation dense = under({}, PruningMask(m_ready.model->spec()), progress.part(0, 1 / count));
    std::vector<Evaluation> runs;
    for (std::size_t i = 0; i < masks.size(); ++i) {
        const auto done = static_cast<double>(i + 1);
        runs.push_back(
            under({names[i], maskDigest(masks[i])}, masks[i], progress.part(done / count, (done + 1) / count)));
        runs.back().text->reference = referenceOf(dense, *runs.back().text);
    }
    return runs;
}

TaskRun keptTask(EvaluationKeeper& keeper, ReadyModel& ready, const Contender& contender, const Tokenizer& tokenizer,
                 const AskedTask& asked, const Progress& progress) {
    Evaluation evaluation = evaluationOf(ready, contender.mask);
    TaskEvaluation task = taskEvaluation(asked, {});
    if (const TaskEvaluation* known = keeper.task(evaluation, task)) {
        note(ready,
             fmt::format("{} answers to {} are those of {}", possessive(contender.mask), task.name, keeper.path()));
        return known->run;
    }
    const auto begin = std::chrono::steady_clock::now();
    evaluation.warnings = ready.warnings;
    task.run = askTask(*ready.model, *contender.plan, tokenizer, asked, progress);
    evaluation.seconds = since(begin);
    evaluation.tasks = {task};
    keeper.keep(std::move(evaluation));
    return std::move(task.run);
}

} // namespace secateur::cli
