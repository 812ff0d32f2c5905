#include "widgets/evaluations/adapter_evaluation.h"

#include "analysis/evaluation/text_evaluator.h"
#include "analysis/model/kernels.h"
#include "analysis/running/runner.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_names.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/evaluations/extra_runner.h"
#include "widgets/evaluations/live_evaluation.h"

#include <QDir>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace secateur {

namespace {

/// All that the job needs, copied on the GUI thread.
struct AdapterTask {
    Services services;
    std::shared_ptr<const Model> model; ///< without an adapter
    KeptChoice kept;
    EvaluatorOptions pace;
    std::vector<TaskRequest> tasks; ///< of a classifier
    Session stored;                 ///< only with evaluations, of which those of the dense model are used
};

/// Scores the text under one mask.
class AdapterScorer {
public:
    AdapterScorer(const AdapterTask& task, const Progress& progress)
        : m_task(task)
        , m_options(task.pace) {
        TextRequest request = task.kept.choice.text;
        request.rules.mostTokens = textTokens(*task.model, task.kept, task.pace.type, progress);
        m_text = task.services.readText(*task.model, request, progress);
        // Both models run in the type of the model without an adapter, so that they can be compared.
        m_options.type = task.model->runner().plan(PruningMask(task.model->spec()), task.pace.type)->type();
        m_options.streamBudget = task.services.availableMemory() / evaluationStreamShare;
        m_options.alone = true;
    }

    Evaluation score(const Model& model, const PruningMask& mask, const Progress& progress) const {
        TextEvaluator evaluator(model, m_text.scored, m_options, progress.part(0, 0));
        MaskEvaluation found = evaluator.evaluate(mask, {}, progress);
        Evaluation evaluation = wanted();
        evaluation.text->perplexity = std::move(found.run);
        evaluation.text->windows = found.windows;
        evaluation.reusedLayers = found.reusedLayers;
        evaluation.warnings = m_task.services.overwrittenFiles(*m_task.model);
        return evaluation;
    }

    /// The whole run of the dense model, from the session if it holds one.
    Evaluation dense(const Progress& progress) const {
        const Evaluation* known = sameText(m_task.stored, wanted(), "dense");
        if (known && known->text->isComplete())
            return *known;
        return score(*m_task.model, PruningMask(m_task.model->spec()), progress);
    }

private:
    /// An evaluation of the text without losses.
    Evaluation wanted() const {
        Evaluation evaluation;
        evaluation.dtype = secateur::name(m_options.type);
        evaluation.device = m_task.model->kernels().device();
        TextEvaluation text;
        text.source = m_text.source;
        text.digest = m_text.digest;
        text.perplexity.rules = m_text.scored.rules;
        evaluation.text = std::move(text);
        return evaluation;
    }

    const AdapterTask& m_task;
    EvaluatorOptions m_options;
    EvaluationText m_text;
};

} // namespace

namespace {

/// The evaluations of a model with an adapter, and of the dense model without it.
struct AdapterScores {
    std::optional<Evaluation> dense; ///< empty if there is none to compare with
    Evaluation run;
};

AdapterScores scoreText(const AdapterTask& task, const Model& adapted, const PruningMask& mask,
                        const Progress& progress) {
    const AdapterScorer scorer(task, progress.part(0, 0));
    AdapterScores scores;
    scores.dense = scorer.dense(progress.part(0, 0.5));
    scores.run = scorer.score(adapted, mask, progress.part(0.5, 1));
    return scores;
}

void addTask(Evaluation& evaluation, ExtraResult result) {
    evaluation.dtype = result.dtype;
    evaluation.device = result.device;
    evaluation.seconds += result.seconds;
    for (std::string& warning : result.warnings)
        if (std::ranges::find(evaluation.warnings, warning) == evaluation.warnings.end())
            evaluation.warnings.push_back(std::move(warning));
    evaluation.tasks.push_back(std::move(result.task).value());
}

/// The answers of a classifier to the chosen tasks. The dense model is compared with if its classes are the same.
AdapterScores scoreTasks(const AdapterTask& task, const std::shared_ptr<const Model>& adapted, const PruningMask& mask,
                         const Progress& progress) {
    const bool isComparable =
        task.model->has(-1, WeightName::classifier) && task.model->spec().classes == adapted->spec().classes;
    ExtraRunner dense(task.model, task.services, task.pace.type);
    ExtraRunner own(adapted, task.services, task.pace.type);
    AdapterScores scores;
    if (isComparable)
        scores.dense.emplace();
    for (std::size_t i = 0; i < task.tasks.size(); ++i) {
        const auto count = static_cast<double>(task.tasks.size());
        const Progress part = progress.part(static_cast<double>(i) / count, static_cast<double>(i + 1) / count);
        std::optional<ExtraResult> reference;
        if (isComparable)
            reference = dense.run(task.tasks[i], PruningMask(task.model->spec()), nullptr, part.part(0, 0.5));
        addTask(scores.run, own.run(task.tasks[i], mask, reference ? &*reference : nullptr, part.part(0.5, 1)));
        if (reference)
            addTask(*scores.dense, *std::move(reference));
    }
    return scores;
}

} // namespace

AdapterEvaluation::AdapterEvaluation(Document* document, JobRunner* jobs, LiveEvaluation* live, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_jobs(jobs)
    , m_live(live) {
    connect(jobs, &JobRunner::finished, this, &AdapterEvaluation::end);
    connect(jobs, &JobRunner::cancelled, this, &AdapterEvaluation::end);
    connect(jobs, &JobRunner::failed, this, &AdapterEvaluation::end);
    connect(document, &Document::opened, this, [this] { end(m_job); });
}

bool AdapterEvaluation::isPossible() const {
    const Services& services = m_document->services();
    return m_document->model() && services.openAdapter &&
           (m_document->spec().family == Family::decoder ? services.readText != nullptr
                                                         : !m_live->extra()->choice().tasks.empty());
}

void AdapterEvaluation::evaluateFolder(const QString& folder) {
    if (!isPossible() || isBusy())
        return;
    const auto open = [open = m_document->services().openAdapter, path = folder.toStdString()](
                          const std::shared_ptr<const Model>& model) { return open(model, path); };
    start(QDir(folder).dirName(), open, *m_document->masks()->state().edited().record);
}

void AdapterEvaluation::evaluateRun(const RecoveryRequest& request, const std::string& key, const QString& maskName) {
    if (isBusy() || !m_document->services().recoveredModel)
        return;
    if (!isPossible())
        return emit m_document->noticed(
            tr("The result is not evaluated: choose a task in More measurements… of the panel Evaluations."));
    const auto open = [open = m_document->services().recoveredModel, request,
                       key](const std::shared_ptr<const Model>& model) { return open(model, request, key); };
    start(request.settings.hasAdapter() ? tr("%1 + adapter").arg(maskName) : tr("%1, trained").arg(maskName), open,
          request.mask);
}

void AdapterEvaluation::start(const QString& name, const Open& open, const MaskRecord& mask) {
    AdapterTask task{m_document->services(), m_document->model(), m_live->keptChoice(), m_live->pace(), {}, {}};
    if (m_document->spec().family == Family::encoder)
        task.tasks = m_live->extra()->choice().tasks;
    task.stored.evaluations = m_document->session().evaluations;
    const auto work = [this, task = std::move(task), open, mask](const Progress& progress) {
        const OpenedAdapter opened = open(task.model);
        const MaskRecord record = opened.mask.value_or(mask);
        AdapterScores scores = task.tasks.empty() ? scoreText(task, *opened.model, record.mask, progress)
                                                  : scoreTasks(task, opened.model, record.mask, progress);
        scores.run.adapter = opened.adapter;
        return [this, scores = std::move(scores), record, warnings = opened.warnings] {
            keep(scores.dense, scores.run, record, warnings);
        };
    };
    m_name = name;
    m_job = m_document->start(tr("Evaluating %1").arg(name), JobRunner::Priority::background, work);
    emit changed();
}

void AdapterEvaluation::cancel() {
    if (isBusy())
        m_jobs->cancel(m_job);
}

/// Adds the evaluations to the session. The mask gets its name in the list of masks, if it is there.
void AdapterEvaluation::keep(const std::optional<Evaluation>& dense, Evaluation run, MaskRecord mask,
                             const std::vector<std::string>& warnings) {
    mask.modelName = m_document->session().model.name;
    mask.fingerprint = m_document->session().model.fingerprint;
    run.mask = {maskTitle(mask), m_document->services().maskDigest(mask.mask)};
    run.mask.name = shownName(run.mask, m_document->masks()->state().masks, m_document->listedDigests());
    const Evaluation* known = dense && dense->text ? sameText(m_document->session(), *dense, "dense") : nullptr;
    if (dense && !(known && known->text->isComplete()))
        m_document->addEvaluation(*dense, MaskRecord{PruningMask(m_document->spec()), {}, {}, {}, {}});
    m_document->addEvaluation(std::move(run), mask);
    for (const std::string& warning : warnings)
        emit m_document->noticed(QString::fromStdString(warning));
}

void AdapterEvaluation::end(quint64 job) {
    if (job == 0 || job != m_job)
        return;
    m_job = 0;
    emit changed();
}

} // namespace secateur
