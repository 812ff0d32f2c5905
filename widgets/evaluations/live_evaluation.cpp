#include "widgets/evaluations/live_evaluation.h"

#include "analysis/model/kernels.h"
#include "analysis/running/run_speed.h"
#include "analysis/running/runner.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/evaluations/mask_prediction.h"

#include <QTimer>

#include <algorithm>
#include <mutex>
#include <utility>

namespace secateur {

namespace {

/// Milliseconds to wait after an edit, so that quick successive edits are measured only once.
constexpr int pauseMs = 350;

/// Id of the metric that is shown first when a model is opened. Evaluations start after it was measured.
constexpr auto firstResult = "gate_norm";

/// Residual streams in the cache may use 1/streamShare of the available memory. The weights need the rest.
constexpr std::int64_t streamShare = 4;

} // namespace

/// The scored text and the evaluator with its cached runs. Only the job that holds the mutex may use them.
struct LiveEvaluation::Bench {
    std::mutex mutex;
    std::shared_ptr<const Model> model;
    EvaluationChoice choice;
    EvaluatorOptions pace;
    Services services;
    std::unique_ptr<TextEvaluator> evaluator;
    EvaluationTextInfo info;

    void prepare(const Progress& progress);
};

/// Results of the running job that the GUI thread has not taken yet.
struct LiveEvaluation::Figures {
    std::optional<EvaluationTextInfo> text;
    std::optional<double> expectedSeconds;
    std::optional<MaskEvaluation> found;
};

void LiveEvaluation::Bench::prepare(const Progress& progress) {
    if (evaluator)
        return;
    TextRequest request = choice.text;
    const auto dense = [&] { return model->runner().plan(PruningMask(model->spec()), pace.type); };
    request.rules.mostTokens = choice.tokens
                                   ? *choice.tokens
                                   : interactiveTokens(runSpeed(*model, *dense(), progress.part(0, 0)), model->spec());
    EvaluationText text = services.readText(*model, request, progress.part(0, 0));
    info.source = text.source;
    info.digest = text.digest;
    info.windows = text.scored.windows.sequences.size();
    info.tokens = text.scored.windows.tokens;
    info.rules = text.scored.rules;
    EvaluatorOptions options = pace;
    options.streamBudget = services.availableMemory() / streamShare;
    evaluator = std::make_unique<TextEvaluator>(*model, std::move(text.scored), options, progress.part(0, 0));
    info.dtype = name(evaluator->type());
    info.device = model->kernels().device();
}

LiveEvaluation::LiveEvaluation(Document* document, JobRunner* jobs, const EvaluatorOptions& pace, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_jobs(jobs)
    , m_extra(new ExtraEvaluation(document, jobs, pace.type, this))
    , m_prediction(new MaskPrediction(document, jobs, this))
    , m_pause(new QTimer(this))
    , m_pace(pace) {
    m_choice.text.rules.window = 512; // smaller windows give more of them, hence a smaller standard error
    m_pause->setSingleShot(true);
    m_pause->setInterval(pauseMs);
    connect(m_pause, &QTimer::timeout, this, [this] {
        if (m_document->measurements()->state(firstResult) == MetricState::computing)
            m_pause->start();
        else
            evaluate();
    });
    connect(document, &Document::opened, this, &LiveEvaluation::reset);
    connect(document, &Document::modelLocated, this, &LiveEvaluation::reset);
    connect(document->masks(), &MaskEditor::maskChanged, this, &LiveEvaluation::followMask);
    connect(jobs, &JobRunner::progressed, this, [this](quint64 job) {
        if (job == m_job)
            takeIncoming();
    });
    connect(jobs, &JobRunner::failed, this, &LiveEvaluation::onFailed);
    connect(jobs, &JobRunner::cancelled, this, &LiveEvaluation::onCancelled);
}

void LiveEvaluation::choose(const EvaluationChoice& choice) {
    const bool sameText = choice.text == m_choice.text && choice.tokens == m_choice.tokens;
    m_choice = choice;
    m_extra->choose(choice.extra);
    if (sameText)
        followMask();
    else
        reset();
}

void LiveEvaluation::reset() {
    abandon();
    m_done.clear();
    m_text.reset();
    if (!m_bench || m_bench->model != m_document->model())
        m_extra->reset();
    m_bench.reset();
    if (m_document->model()) {
        m_bench = std::make_shared<Bench>();
        m_bench->model = m_document->model();
        m_bench->choice = m_choice;
        m_bench->pace = m_pace;
        m_bench->services = m_document->services();
    }
    followMask();
}

void LiveEvaluation::abandon() {
    m_pause->stop();
    m_jobs->cancel(std::exchange(m_job, 0));
    m_incoming.reset();
    m_expectedSeconds.reset();
    m_extra->abandon();
}

void LiveEvaluation::followMask() {
    abandon();
    m_shown.reset();
    if (!m_bench || !m_bench->services.readText)
        return setState(State::unavailable);
    const auto known = std::ranges::find(m_done, m_document->masks()->mask(), &Done::mask);
    if (known != m_done.end()) {
        m_shown = known->found;
        setState(m_shown->isComplete() ? State::complete : State::stopped);
        if (m_state == State::complete && m_choice.isAutomatic)
            m_extra->begin();
        return;
    }
    if (m_choice.isAutomatic)
        m_pause->start();
    setState(m_choice.isAutomatic ? State::waiting : State::idle);
}

void LiveEvaluation::setState(State state) {
    m_state = state;
    emit changed();
}

void LiveEvaluation::evaluate() {
    if (m_state == State::complete)
        m_extra->begin();
    if (!m_bench || m_state == State::running || m_state == State::complete)
        return;
    m_pause->stop();
    m_incoming = std::make_shared<Mailbox<Figures>>();
    const auto work = [this, bench = m_bench, incoming = m_incoming,
                       mask = m_document->masks()->mask()](const Progress& progress) {
        const std::lock_guard onlyUser(bench->mutex);
        bench->prepare(progress);
        incoming->put([&](Figures& figures) {
            figures.text = bench->info;
            figures.expectedSeconds = bench->evaluator->expectedSeconds(mask);
        });
        const auto sink = [&incoming](const MaskEvaluation& found) {
            incoming->put([&found](Figures& figures) { figures.found = found; });
        };
        MaskEvaluation found = bench->evaluator->evaluate(mask, sink, progress);
        return [this, incoming, mask, found = std::move(found)] {
            if (incoming != m_incoming)
                return;
            takeIncoming();
            m_job = 0;
            finish(mask, found);
        };
    };
    const QString name = QString::fromStdString(m_document->masks()->state().edited().name);
    const bool isDense = m_document->masks()->mask().keepsAll();
    m_job = m_jobs->start(isDense ? tr("Evaluating the dense model") : tr("Evaluating %1").arg(name),
                          JobRunner::Priority::interactive, work);
    setState(State::running);
}

void LiveEvaluation::takeIncoming() {
    if (!m_incoming)
        return;
    Figures figures = m_incoming->take();
    if (figures.text)
        m_text = std::move(figures.text);
    if (figures.expectedSeconds)
        m_expectedSeconds = figures.expectedSeconds;
    if (!figures.found)
        return;
    m_shown = std::move(figures.found);
    emit changed();
}

/// Converts the run of a text to an evaluation for the session.
Evaluation LiveEvaluation::kept(const Perplexity& run, int reusedLayers) const {
    Evaluation evaluation;
    evaluation.mask.name = m_document->masks()->state().edited().name;
    evaluation.dtype = m_text->dtype;
    evaluation.device = m_text->device;
    evaluation.reusedLayers = reusedLayers;
    TextEvaluation text;
    text.source = m_text->source;
    text.digest = m_text->digest;
    text.perplexity = run;
    text.windows = m_text->windows;
    evaluation.text = std::move(text);
    return evaluation;
}

void LiveEvaluation::finish(const PruningMask& mask, const MaskEvaluation& found) {
    std::erase_if(m_done, [&](const Done& done) { return done.mask == mask; });
    m_done.push_back({mask, found});
    m_shown = found;
    MaskRecord dense;
    dense.mask = PruningMask(m_document->spec());
    m_document->addEvaluation(kept(found.dense, 0), dense);
    if (!mask.keepsAll())
        m_document->addEvaluation(kept(found.run, found.reusedLayers), *m_document->masks()->state().edited().record);
    setState(found.isComplete() ? State::complete : State::stopped);
    emit evaluated(mask, found);
    m_prediction->take(mask, found, m_choice.text);
    if (m_state == State::complete)
        m_extra->begin();
}

void LiveEvaluation::stopHere() {
    if (m_state != State::running && m_state != State::waiting)
        return m_extra->stopHere();
    takeIncoming();
    abandon();
    if (m_shown && !m_shown->run.windows.empty())
        finish(m_document->masks()->mask(), MaskEvaluation(*m_shown));
    else
        setState(State::idle);
}

std::optional<double> LiveEvaluation::secondsLeft() const {
    if (m_state == State::complete || !m_expectedSeconds)
        return std::nullopt;
    return m_shown && !m_shown->run.windows.empty() ? m_shown->secondsLeft : *m_expectedSeconds;
}

void LiveEvaluation::onFailed(quint64 job, const QString& message) {
    if (job != m_job || m_job == 0)
        return;
    abandon();
    m_failure = message;
    setState(State::failed);
    m_extra->begin(); // tasks may work even if the text cannot be scored
}

void LiveEvaluation::onCancelled(quint64 job) {
    if (job == m_job && m_job != 0) // the user cancelled the job in the panel Jobs
        stopHere();
}

} // namespace secateur
