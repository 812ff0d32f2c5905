#include "widgets/evaluations/live_evaluation.h"

#include "analysis/model/kernels.h"
#include "analysis/running/runner.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/evaluations/mask_prediction.h"
#include "widgets/evaluations/stored_evaluation.h"

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

} // namespace

/// The scored text and the evaluator with its cached runs. Only the job that holds the mutex may use them.
struct LiveEvaluation::Bench {
    std::mutex mutex;
    std::shared_ptr<const Model> model;
    KeptChoice kept;
    EvaluatorOptions pace;
    Services services;
    std::unique_ptr<TextEvaluator> evaluator;
    EvaluationTextInfo info;

    void prepare(const Progress& progress);
    std::int64_t tokens(const Progress& progress);
    /// Takes over losses of earlier runs on exactly this text.
    void know(const std::vector<StoredRun>& runs);
};

/// Results of the running job that the GUI thread has not taken yet.
struct LiveEvaluation::Figures {
    std::optional<EvaluationTextInfo> text;
    std::optional<std::int64_t> usualTokens;
    std::optional<double> expectedSeconds;
    std::optional<MaskEvaluation> found;
    std::vector<std::string> warnings; ///< of `found`
};

std::int64_t LiveEvaluation::Bench::tokens(const Progress& progress) {
    if (!kept.tokens())
        kept.usualTokens = textTokens(*model, kept, pace.type, progress);
    return *kept.tokens();
}

void LiveEvaluation::Bench::know(const std::vector<StoredRun>& runs) {
    for (const auto& [mask, evaluation] : runs) {
        const TextEvaluation& text = evaluation.text.value();
        if (text.digest == info.digest && text.perplexity.rules == info.rules && evaluation.dtype == info.dtype &&
            evaluation.device == info.device)
            evaluator->know(mask, text.perplexity.windows);
    }
}

void LiveEvaluation::Bench::prepare(const Progress& progress) {
    if (evaluator)
        return;
    TextRequest request = kept.choice.text;
    request.rules.mostTokens = tokens(progress.part(0, 0));
    EvaluationText text = services.readText(*model, request, progress.part(0, 0));
    info.source = text.source;
    info.digest = text.digest;
    info.windows = text.scored.windows.sequences.size();
    info.tokens = text.scored.windows.tokens;
    info.rules = text.scored.rules;
    EvaluatorOptions options = pace;
    options.streamBudget = services.availableMemory() / evaluationStreamShare;
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
    m_wanted.text.rules.window = 512; // more windows give a narrower interval
    m_kept.choice = m_wanted;
    m_pause->setSingleShot(true);
    m_pause->setInterval(pauseMs);
    connect(m_pause, &QTimer::timeout, this, [this] {
        if (m_document->measurements()->state(firstResult) == MetricState::computing)
            m_pause->start();
        else
            evaluate();
    });
    connect(document, &Document::opened, this, &LiveEvaluation::restore);
    connect(document, &Document::modelLocated, this, &LiveEvaluation::reset);
    connect(document->masks(), &MaskEditor::maskChanged, this, &LiveEvaluation::followMask);
    connect(document->masks(), &MaskEditor::previewChanged, this, &LiveEvaluation::changed);
    connect(jobs, &JobRunner::progressed, this, [this](quint64 job) {
        if (job == m_job)
            takeIncoming();
    });
    connect(jobs, &JobRunner::failed, this, &LiveEvaluation::onFailed);
    connect(jobs, &JobRunner::cancelled, this, &LiveEvaluation::onCancelled);
}

bool LiveEvaluation::isPreviewed() const {
    return m_document->masks()->preview().has_value();
}

void LiveEvaluation::choose(const EvaluationChoice& choice) {
    const bool sameText = choice.text == m_kept.choice.text && choice.tokens == m_kept.choice.tokens;
    constexpr std::int64_t mostUsual = 8192; // more is only usual for the text of a stored evaluation
    if (choice.text != m_kept.choice.text && m_kept.usualTokens > mostUsual)
        m_kept.usualTokens.reset();
    m_kept.choice = choice;
    if (!sameText) {
        m_wanted.text = choice.text;
        m_wanted.tokens = choice.tokens;
    }
    m_wanted.isAutomatic = choice.isAutomatic;
    m_wanted.extra = choice.extra;
    keepChoice();
    m_extra->choose(extraChoice());
    if (sameText)
        followMask();
    else
        reset();
}

void LiveEvaluation::restore() {
    m_kept = secateur::keptChoice(m_document->session(), m_wanted);
    keepChoice();
    reset();
    emit choiceChanged();
}

/// Writes the choice into the session's view.
void LiveEvaluation::keepChoice() {
    if (m_document->isOpen())
        for (const auto& [name, value] : viewOf(m_kept))
            m_document->setView(name, value);
}

bool LiveEvaluation::hasLoss() const {
    return !m_document->isOpen() || m_document->spec().family != Family::encoder;
}

/// The chosen extra measurements, with the pooled distance for encoders that have one.
ExtraChoice LiveEvaluation::extraChoice() const {
    ExtraChoice extra = m_kept.choice.extra;
    const std::shared_ptr<const Model>& model = m_document->model();
    if (model && givesPooledOutput(*model) && m_document->services().readSequences) {
        PooledRequest request;
        request.path = m_kept.choice.text.path;
        request.mostTokens = m_kept.choice.tokens.value_or(request.mostTokens);
        extra.pooled = request;
    }
    return extra;
}

void LiveEvaluation::reset() {
    abandon();
    m_shown.reset();
    m_state = State::idle; // until followMask(): signals of the parts below find no result
    m_done.clear();
    m_text.reset();
    if (!m_bench || m_bench->model != m_document->model()) {
        m_warnings.clear();
        m_extra->reset();
    }
    m_bench.reset();
    if (m_document->model()) {
        m_bench = std::make_shared<Bench>();
        m_bench->model = m_document->model();
        m_bench->kept = m_kept;
        m_bench->pace = m_pace;
        m_bench->services = m_document->services();
    }
    m_extra->choose(extraChoice());
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
    if (showKnown())
        return;
    if (!m_bench || !m_bench->services.readText)
        return setState(State::unavailable);
    if (choice().isAutomatic)
        m_pause->start();
    setState(!hasLoss() ? State::noLoss : choice().isAutomatic ? State::waiting : State::idle);
}

bool LiveEvaluation::showKnown() {
    const auto known = std::ranges::find(m_done, m_document->masks()->mask(), &Done::mask);
    m_shown = known == m_done.end() ? stored() : std::optional(known->found);
    if (!m_shown)
        return false;
    setState(m_shown->isComplete() ? State::complete : State::stopped);
    if (m_state == State::complete && choice().isAutomatic)
        m_extra->begin();
    return true;
}

/// The session's result for the current mask. With a model it has to be compared with the dense model.
std::optional<MaskEvaluation> LiveEvaluation::stored() {
    if (!m_document->isOpen() || m_document->session().evaluations.empty() || !hasLoss())
        return std::nullopt;
    const std::string digest = m_document->listedDigests().at(m_document->masks()->state().current);
    const std::string text = m_text ? m_text->digest : std::string();
    const Evaluation* run = storedRun(m_document->session(), digest, m_kept, text);
    if (!run)
        return std::nullopt;
    MaskEvaluation found = storedEvaluation(m_document->session(), *run);
    if (m_bench && found.dense.windows.empty())
        return std::nullopt;
    if (!m_text)
        m_text = EvaluationTextInfo{run->text->source,  run->text->digest, run->dtype,     run->device,
                                    run->text->windows, found.run.tokens,  found.run.rules};
    return found;
}

std::vector<LiveEvaluation::StoredRun> LiveEvaluation::storedRuns(const PruningMask& mask) const {
    std::vector<StoredRun> runs;
    if (m_document->session().evaluations.empty())
        return runs;
    for (const PruningMask& wanted : {PruningMask(m_document->spec()), mask})
        if (const Evaluation* run = storedRun(m_document->session(), m_document->services().maskDigest(wanted), m_kept))
            runs.push_back({wanted, *run});
    return runs;
}

void LiveEvaluation::setState(State state) {
    m_state = state;
    emit changed();
}

void LiveEvaluation::evaluate() {
    if (m_state == State::complete || m_state == State::noLoss)
        m_extra->begin();
    if (!m_bench || m_state == State::running || m_state == State::complete || m_state == State::noLoss)
        return;
    m_pause->stop();
    m_incoming = std::make_shared<Mailbox<Figures>>();
    const auto work = [this, bench = m_bench, incoming = m_incoming, mask = m_document->masks()->mask(),
                       stored = storedRuns(m_document->masks()->mask())](const Progress& progress) {
        const std::lock_guard onlyUser(bench->mutex);
        bench->prepare(progress);
        bench->know(stored);
        incoming->put([&](Figures& figures) {
            figures.text = bench->info;
            figures.usualTokens = bench->kept.usualTokens;
            figures.expectedSeconds = bench->evaluator->expectedSeconds(mask);
        });
        const auto sink = [&incoming, &bench](const MaskEvaluation& found) {
            incoming->put([&](Figures& figures) {
                figures.found = found;
                figures.warnings = bench->services.overwrittenFiles(*bench->model);
            });
        };
        MaskEvaluation found = bench->evaluator->evaluate(mask, sink, progress);
        sink(found);
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
    if (figures.text && m_text && figures.text->digest != m_text->digest)
        m_done.clear(); // stored results are of an earlier version of the text
    if (figures.text)
        m_text = std::move(figures.text);
    if (figures.usualTokens && figures.usualTokens != m_kept.usualTokens) {
        m_kept.usualTokens = figures.usualTokens;
        keepChoice();
        emit choiceChanged();
    }
    if (figures.expectedSeconds)
        m_expectedSeconds = figures.expectedSeconds;
    if (!figures.found)
        return;
    m_shown = std::move(figures.found);
    m_warnings = std::move(figures.warnings);
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
    evaluation.warnings = m_warnings;
    return evaluation;
}

void LiveEvaluation::finish(const PruningMask& mask, const MaskEvaluation& found) {
    std::erase_if(m_done, [&](const Done& done) { return done.mask == mask; });
    m_done.push_back({mask, found});
    m_shown = found;
    MaskRecord dense;
    dense.mask = PruningMask(m_document->spec());
    const Evaluation reference = kept(found.dense, 0);
    const Evaluation* known = sameText(m_document->session(), reference, "dense");
    if (!known || known->text->perplexity.windows.size() < found.dense.windows.size())
        m_document->addEvaluation(reference, dense);
    if (!mask.keepsAll())
        m_document->addEvaluation(kept(found.run, found.reusedLayers), *m_document->masks()->state().edited().record);
    setState(found.isComplete() ? State::complete : State::stopped);
    emit evaluated(mask, found);
    m_prediction->take(mask, found, choice().text);
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
