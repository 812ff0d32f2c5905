#include "widgets/training/recovery.h"

#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace secateur {

namespace {

/// Adds the mask of a run to the list, unless it is there. It becomes the current one if the user has not turned to
/// another mask since. @param trained mask under which the run trained
void list(Document* document, const QString& name, const std::optional<MaskRecord>& mask, const PruningMask& trained) {
    MaskEditor* masks = document->masks();
    const auto isSame = [&](const NamedMask& one) { return one.record->mask == mask->mask; };
    if (!mask || std::ranges::any_of(masks->state().masks, isSame))
        return;
    const bool isWaiting = masks->mask() == trained;
    const std::size_t current = masks->state().current;
    masks->addMask(name, *mask);
    if (!isWaiting)
        masks->setCurrent(current);
}

bool isSameRun(const RecoveryRequest& one, const RecoveryRequest& other) {
    return one.settings == other.settings && one.data == other.data && one.mask.mask == other.mask.mask;
}

} // namespace

Recovery::Recovery(Document* document, JobRunner* jobs, const QString& folder, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_jobs(jobs)
    , m_folder(folder.toStdString()) {
    connect(document, &Document::opened, this, &Recovery::forget);
    connect(jobs, &JobRunner::progressed, this, [this](quint64 job, double fraction, const QString&, double left) {
        if (job == 0 || job != m_job)
            return;
        m_fraction = fraction;
        m_secondsLeft = left;
        takeNews();
        emit changed();
    });
    connect(jobs, &JobRunner::finished, this, [this](quint64 job) { end(job, State::done); });
    connect(jobs, &JobRunner::cancelled, this,
            [this](quint64 job) { end(job, m_state == State::cancelling ? State::cancelled : State::paused); });
    connect(jobs, &JobRunner::failed, this, [this](quint64 job, const QString& message) {
        if (job == m_job)
            m_failure = message;
        end(job, State::failed);
    });
}

bool Recovery::canResume() const {
    return m_state == State::paused || (m_state == State::failed && !m_curve.records.empty());
}

bool Recovery::hasResult() const {
    return !isBusy() && !m_key.empty() && !m_curve.records.empty();
}

bool Recovery::hasAdapter() const {
    return hasResult() && m_request.settings.hasAdapter();
}

double Recovery::tokensPerSecond() const {
    double seconds = 0;
    double tokens = 0;
    for (const StepRecord& record : m_curve.records) {
        seconds += record.seconds;
        tokens += static_cast<double>(record.tokens);
    }
    return seconds > 0 ? tokens / seconds : 0;
}

void Recovery::start(const TrainingSettings& settings, const std::string& data) {
    if (isBusy() || !m_document->model() || !m_document->services().recover)
        return;
    const NamedMask& mask = m_document->masks()->state().edited();
    RecoveryRequest request{settings, data, *mask.record, m_folder, false};
    // The same run once more begins again, rather than showing its end.
    request.startsAnew = m_state != State::none && isSameRun(request, m_request);
    m_request = std::move(request);
    m_maskName = QString::fromStdString(mask.name);
    m_curve = {};
    m_key.clear();
    launch();
}

void Recovery::resume() {
    if (!canResume())
        return;
    m_request.startsAnew = false;
    launch();
}

void Recovery::pause() {
    if (m_state != State::running)
        return;
    setState(State::pausing);
    m_jobs->cancel(m_job);
}

void Recovery::cancel() {
    if (canResume())
        return finish(State::cancelled);
    if (!isBusy())
        return;
    setState(State::cancelling);
    m_jobs->cancel(m_job);
}

void Recovery::launch() {
    m_news = std::make_shared<Mailbox<News>>();
    m_fraction = 0;
    m_secondsLeft = -1;
    m_failure.clear();
    m_job = m_document->start(tr("Recovering %1").arg(m_maskName), JobRunner::Priority::background, work());
    setState(State::running);
}

/// Runs on the thread of the job. @param sent number of records that were posted before
void Recovery::post(Mailbox<News>& news, const TrainingRun& run, std::size_t& sent) {
    news.put([&](News& latest) {
        if (latest.curve.records.empty())
            latest.from = sent;
        const auto added = run.records.begin() + static_cast<std::ptrdiff_t>(sent);
        latest.curve.records.insert(latest.curve.records.end(), added, run.records.end());
        latest.curve.scores = run.scores;
        latest.curve.steps = run.steps;
        if (!run.dense.empty())
            latest.curve.denseNats = meanNats(run.dense);
        latest.key = run.key;
    });
    sent = run.records.size();
}

JobRunner::Work Recovery::work() const {
    return [document = m_document, recover = m_document->services().recover, model = m_document->model(),
            request = m_request, news = m_news](const Progress& progress) mutable {
        request.mask.modelName = model->card().name;
        request.mask.fingerprint = model->fingerprint();
        std::size_t sent = 0;
        const std::vector<std::string> warnings =
            recover(*model, request, [&](const TrainingRun& run) { post(*news, run, sent); }, progress);
        return [document, warnings] {
            for (const std::string& warning : warnings)
                emit document->noticed(QString::fromStdString(warning));
        };
    };
}

void Recovery::takeNews() {
    News latest = m_news->take();
    if (latest.key.empty())
        return;
    m_key = std::move(latest.key);
    std::vector<StepRecord> records = std::move(m_curve.records);
    records.resize(std::min(records.size(), latest.from));
    records.insert(records.end(), latest.curve.records.begin(), latest.curve.records.end());
    m_curve = std::move(latest.curve);
    m_curve.records = std::move(records);
}

void Recovery::end(quint64 job, State state) {
    if (job == 0 || job != m_job)
        return;
    m_job = 0;
    takeNews();
    const bool isEmpty = m_curve.records.empty() && (state == State::paused || state == State::cancelled);
    finish(isEmpty ? State::none : state);
}

void Recovery::finish(State state) {
    setState(state);
    if ((state != State::done && state != State::cancelled) || !hasResult())
        return;
    if (m_request.settings.trainsCompensation)
        listMask();
    emit trained();
}

/// Adds the mask with its trained compensation to the list.
void Recovery::listMask() {
    const auto work = [document = m_document, open = m_document->services().recoveredModel, model = m_document->model(),
                       request = m_request, key = m_key,
                       name = tr("%1, trained").arg(m_maskName)](const Progress&) mutable {
        request.mask.modelName = model->card().name;
        request.mask.fingerprint = model->fingerprint();
        const std::optional<MaskRecord> mask = open(model, request, key).mask;
        return [document, mask, name, trained = request.mask.mask] { list(document, name, mask, trained); };
    };
    m_document->start(tr("Reading the trained mask"), JobRunner::Priority::files, work);
}

void Recovery::save(const QString& folder) {
    if (!hasResult())
        return;
    const auto work = [document = m_document, write = m_document->services().writeRecovered,
                       model = m_document->model(), request = m_request, key = m_key, folder](const Progress&) mutable {
        request.mask.modelName = model->card().name;
        request.mask.fingerprint = model->fingerprint();
        write(*model, request, key, folder.toStdString());
        const QString saved =
            request.settings.hasAdapter() ? tr("Saved the adapter to %1.") : tr("Saved the mask to %1.");
        return [document, notice = saved.arg(folder)] { emit document->noticed(notice); };
    };
    m_document->start(tr("Saving the training"), JobRunner::Priority::files, work);
}

void Recovery::setState(State state) {
    m_state = state;
    emit changed();
}

/// Another model was opened. Its predecessor's jobs are cancelled by the document.
void Recovery::forget() {
    m_job = 0;
    m_curve = {};
    m_key.clear();
    setState(State::none);
}

} // namespace secateur
