#include "app/evaluate_kept.h"

#include "analysis/kernels.h"
#include "backends/available_memory.h"
#include "backends/data_digest.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

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

} // namespace

KeptText::KeptText(EvaluationKeeper& keeper, const ReadyModel& ready, const TextOptions& options, ScoredText text)
    : m_keeper(keeper)
    , m_ready(ready)
    , m_options(options)
    , m_text(std::move(text))
    , m_digest(dataDigest(m_text.windows))
    , m_warnings(ready.warnings) {}

Evaluation KeptText::wanted(const Contender& contender) const {
    Evaluation evaluation = evaluationOf(m_ready, contender.mask);
    evaluation.warnings = m_warnings;
    evaluation.text = TextEvaluation{m_options.path, m_digest, {}, {}};
    evaluation.text->perplexity.rules = m_text.rules;
    evaluation.text->windows = m_text.windows.sequences.size();
    return evaluation;
}

TextEvaluator& KeptText::evaluator(const Progress& progress) {
    if (!m_evaluator) {
        const EvaluatorOptions options{m_ready.plan->type(), availableMemory() / 4, m_options.batchTokens, groupSeconds,
                                       true};
        m_evaluator.emplace(*m_ready.model, m_text, options, progress);
    }
    return *m_evaluator;
}

void KeptText::keepPart(Evaluation evaluation, const PruningMask& mask) {
    const std::optional<MaskEvaluation> part = m_evaluator->known(mask);
    if (!part)
        return;
    spdlog::info("{} of {} windows are kept in {}", part->run.windows.size(), part->windows, m_keeper.path());
    evaluation.text->perplexity = part->run;
    m_keeper.keep(std::move(evaluation));
}

Evaluation KeptText::under(const Contender& contender, std::vector<std::string>& notes, const Progress& progress) {
    Evaluation run = wanted(contender);
    const Evaluation* known = m_keeper.text(run);
    if (known && known->text->windows != run.text->windows)
        known = nullptr; // a file that was changed by hand
    if (known && known->text->isComplete()) {
        notes.push_back(fmt::format("{} losses are those of {}", possessive(run.mask), m_keeper.path()));
        run.text = known->text;
        return run;
    }
    const PruningMask& mask = contender.plan->mask();
    const auto begin = std::chrono::steady_clock::now();
    TextEvaluator& scorer = evaluator(progress.part(0, 0));
    if (known) {
        notes.push_back(fmt::format("{} losses of {} of {} windows are those of {}", possessive(run.mask),
                                    known->text->perplexity.windows.size(), run.text->windows, m_keeper.path()));
        scorer.know(mask, known->text->perplexity.windows);
    }
    try {
        MaskEvaluation found = scorer.evaluate(mask, {}, progress);
        run.text->perplexity = std::move(found.run);
        run.reusedLayers = found.reusedLayers;
        run.seconds = since(begin);
    } catch (const Cancelled&) {
        run.seconds = since(begin);
        keepPart(std::move(run), mask);
        throw;
    }
    m_keeper.keep(run);
    return run;
}

TaskRun keptTask(EvaluationKeeper& keeper, const ReadyModel& ready, const Contender& contender,
                 const Tokenizer& tokenizer, const AskedTask& asked, std::vector<std::string>& notes,
                 const Progress& progress) {
    Evaluation evaluation = evaluationOf(ready, contender.mask);
    TaskEvaluation task = taskEvaluation(asked, {});
    if (const TaskEvaluation* known = keeper.task(evaluation, task)) {
        notes.push_back(
            fmt::format("{} answers to {} are those of {}", possessive(contender.mask), task.name, keeper.path()));
        return known->run;
    }
    const auto begin = std::chrono::steady_clock::now();
    task.run = askTask(*ready.model, *contender.plan, tokenizer, asked, progress);
    evaluation.seconds = since(begin);
    evaluation.warnings = ready.warnings;
    evaluation.tasks = {task};
    keeper.keep(std::move(evaluation));
    return std::move(task.run);
}

} // namespace secateur::cli
