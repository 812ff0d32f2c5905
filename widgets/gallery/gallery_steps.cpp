#include "widgets/gallery/gallery_steps.h"

#include "analysis/base/error.h"
#include "widgets/document/commands.h"
#include "widgets/document/document.h"
#include "widgets/gallery/step_process.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QLockFile>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

const RecipeStep* stepOf(const std::vector<RecipeStep>& steps, const std::string& id) {
    const auto found = std::ranges::find(steps, id, &RecipeStep::id);
    return found == steps.end() ? nullptr : &*found;
}

/// The session that a command works on: the open one, with what an earlier command has left in the file.
Session sessionToRun(const Services& services, Session open, const std::string& file) {
    if (!QFile::exists(QString::fromStdString(file)))
        return open;
    Session left;
    try {
        left = services.readSession(file);
    } catch (const Error&) {
        return open; // the file of another version, or of a disk that was full
    }
    if (left.model.fingerprint != open.model.fingerprint)
        return open;
    join(left, open);
    open.results = std::move(left.results);
    open.masks = std::move(left.masks);
    open.evaluations = std::move(left.evaluations);
    open.curves = std::move(left.curves);
    open.prediction = std::move(left.prediction);
    return open;
}

} // namespace

GallerySteps::GallerySteps(Document* document, JobRunner* jobs, std::vector<GalleryPaper> papers,
                           const QString& program, const QString& folder, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_jobs(jobs)
    , m_papers(std::move(papers))
    , m_program(program)
    , m_folder(folder) {
    connect(document, &Document::opened, this, &GallerySteps::forget);
    connect(document, &Document::modelLocated, this, &GallerySteps::changed);
    connect(jobs, &JobRunner::progressed, this, [this](quint64 job, double fraction, const QString& text, double left) {
        if (job == 0 || job != m_job)
            return;
        m_fraction = fraction;
        m_secondsLeft = left;
        m_text = text;
        if (const News news = m_news->take(); !news.command.isEmpty())
            m_command = news.command;
        emit progressed();
    });
    connect(jobs, &JobRunner::finished, this, [this](quint64 job) { end(job, {}, false); });
    connect(jobs, &JobRunner::failed, this, [this](quint64 job, const QString& message) { end(job, message, false); });
    connect(jobs, &JobRunner::cancelled, this, [this](quint64 job) { end(job, {}, true); });
}

void GallerySteps::setChoice(SweepSize size, NamedFiles files) {
    m_size = size;
    m_files = std::move(files);
}

/// A file in a folder of the model, where commands may put other files beside it.
std::string GallerySteps::sessionFile() const {
    const QByteArray path = QByteArray::fromStdString(modelPath(*m_document));
    const QByteArray digest = QCryptographicHash::hash(path, QCryptographicHash::Sha256).toHex().left(16);
    return (m_folder + '/' + QString::fromLatin1(digest) + "/session.h5").toStdString();
}

RecipeChoice GallerySteps::choice() const {
    return {modelPath(*m_document), sessionFile(), m_size, m_files.paths, m_files.bytes};
}

QString GallerySteps::problem() const {
    if (!m_document->isOpen())
        return tr("No model is open.");
    if (!m_document->model())
        return tr("The checkpoint was not found, so that nothing can be measured: File > Locate model…");
    return whyNotRun(m_program);
}

bool GallerySteps::isWaiting(const StepKey& step) const {
    return std::ranges::find(m_waiting, step) != m_waiting.end();
}

QString GallerySteps::failure(const StepKey& step) const {
    const auto found = m_failures.find(step);
    return found == m_failures.end() ? QString() : found->second;
}

const GalleryPaper* GallerySteps::paperOf(const StepKey& step) const {
    const auto found = std::ranges::find(m_papers, step.paper, &GalleryPaper::id);
    return found == m_papers.end() ? nullptr : &*found;
}

void GallerySteps::run(const std::vector<StepKey>& steps) {
    if (!problem().isEmpty())
        return;
    for (const StepKey& step : steps) {
        if (isRunning(step) || isWaiting(step) || !paperOf(step))
            continue;
        m_failures.erase(step);
        m_stopped.erase(step);
        m_waiting.push_back(step);
    }
    if (!isBusy())
        startNext();
    emit changed();
}

void GallerySteps::stop() {
    m_waiting.clear();
    if (m_job != 0)
        m_jobs->cancel(m_job);
    emit changed();
}

void GallerySteps::startNext() {
    m_current.reset();
    m_job = 0;
    m_fraction = 0;
    m_secondsLeft = -1;
    m_text.clear();
    m_command.clear();
    if (m_waiting.empty())
        return;
    m_current = m_waiting.front();
    m_waiting.pop_front();
    m_news = std::make_shared<Mailbox<News>>();
    const QString title = tr("%1: %2").arg(paperOf(*m_current)->title, QString::fromStdString(m_current->step));
    m_job = m_jobs->start(title, JobRunner::Priority::background, work(*m_current));
}

JobRunner::Work GallerySteps::work(const StepKey& key) {
    return [this, key, steps = paperOf(key)->steps, choice = choice(), program = m_program, news = m_news,
            open = std::make_shared<Session>(m_document->session()), model = m_document->model(),
            services = m_document->services(), generation = m_document->generation()](const Progress& progress) {
        const QString folder = QFileInfo(QString::fromStdString(choice.session)).path();
        if (!QDir().mkpath(folder))
            throw Error("the folder cannot be made", folder.toStdString());
        QLockFile lock(folder + "/lock"); // another window may work on the same model
        lock.setStaleLockTime(0);
        if (!lock.tryLock(0))
            throw Error(lock.error() == QLockFile::LockFailedError
                            ? "is in use: another window measures figures of this model"
                            : "cannot be written to",
                        folder.toStdString());
        if (open->model.fingerprint.empty())
            open->model.fingerprint = model->fingerprint();
        const Session before = sessionToRun(services, std::move(*open), choice.session);
        const std::vector<RecipeStep> all = steps(choice, before);
        const RecipeStep* step = stepOf(all, key.step);
        if (step && !step->reason.empty())
            throw Error(step->reason);
        services.writeSession(before, choice.session);
        StepOutcome outcome;
        if (step && !step->isDone) {
            news->put([&](News& latest) {
                latest.command = QString::fromStdString(shellText(stepCommand(program, step->arguments)));
            });
            progress.report(0, step->summary);
            outcome = runStep(program, step->arguments, progress);
        }
        auto measured = std::make_shared<const Session>(services.readSession(choice.session));
        return std::function<void()>([this, measured, outcome, generation, file = choice.session] {
            if (generation != m_document->generation())
                return; // the next step on that model finds the file
            m_document->joinSession(*measured);
            QFile::remove(QString::fromStdString(file));
            if (outcome.status != 0)
                throw Error(outcome.sentence.toStdString());
        });
    };
}

/// Takes over what a cancelled command has measured.
void GallerySteps::takeOverRest() {
    const std::string file = sessionFile();
    const auto work = [this, file, read = m_document->services().readSession,
                       generation = m_document->generation()](const Progress&) {
        if (!QFile::exists(QString::fromStdString(file)))
            return std::function<void()>();
        auto measured = std::make_shared<const Session>(read(file));
        return std::function<void()>([this, measured, file, generation] {
            if (generation != m_document->generation())
                return;
            m_document->joinSession(*measured);
            if (!isBusy()) // otherwise a new command works on the file
                QFile::remove(QString::fromStdString(file));
        });
    };
    m_document->start(tr("Results of a cancelled measurement"), JobRunner::Priority::files, work);
}

void GallerySteps::end(quint64 job, const QString& failure, bool isStopped) {
    if (job == 0 || job != m_job || !m_current)
        return;
    const StepKey step = *m_current;
    if (!failure.isEmpty())
        m_failures[step] = failure;
    if (isStopped) { // by the panel Jobs too: the user wants the processor back
        m_stopped.insert(step);
        m_waiting.clear();
        takeOverRest();
    }
    startNext();
    emit changed();
}

/// Another model was opened. The document has cancelled the job.
void GallerySteps::forget() {
    m_waiting.clear();
    m_failures.clear();
    m_stopped.clear();
    startNext();
    emit changed();
}

} // namespace secateur
