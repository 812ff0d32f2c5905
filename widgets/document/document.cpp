#include "widgets/document/document.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "widgets/document/comparison.h"
#include "widgets/document/mask_editor.h"

#include <QFileInfo>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace secateur {

/// What an opening brings back from the worker.
struct Document::Opened {
    Session session;
    std::shared_ptr<const Model> model;
    QString sessionPath;
    QString notice;
};

namespace {

/// Where a session's checkpoint may be: at its path, from here or from the session, or beside the session.
std::vector<std::string> checkpointCandidates(const std::string& modelPath, const std::string& sessionPath) {
    const std::filesystem::path stored = modelPath;
    const std::filesystem::path folder = std::filesystem::absolute(sessionPath).parent_path();
    std::vector<std::string> candidates;
    for (const auto& path : {stored, folder / stored, folder / stored.filename()}) {
        std::error_code ignored;
        if (!stored.empty() && std::filesystem::exists(path, ignored))
            candidates.push_back(path.string());
    }
    return candidates;
}

} // namespace

bool Document::isModelFile(const QString& path) const {
    return std::ranges::any_of(m_services.modelExtensions, [&](const std::string& extension) {
        return path.endsWith(QString::fromStdString(extension), Qt::CaseInsensitive);
    });
}

Document::Document(Services services, JobRunner* jobs, QObject* parent)
    : QObject(parent)
    , m_services(std::move(services))
    , m_jobs(jobs)
    , m_masks(new MaskEditor(this))
    , m_comparison(new Comparison(this, jobs)) {
    connect(m_masks, &MaskEditor::maskChanged, this, &Document::lookForStale);
    for (auto change : {&MaskEditor::maskChanged, &MaskEditor::listChanged, &MaskEditor::protectionChanged})
        connect(m_masks, change, this, &Document::noteChange);
    connect(jobs, &JobRunner::progressed, this, &Document::onProgressed);
    connect(jobs, &JobRunner::finished, this, &Document::onFinished);
    connect(jobs, &JobRunner::cancelled, this, &Document::onCancelled);
    connect(jobs, &JobRunner::failed, this, &Document::onFailed);
}

Document::~Document() {
    m_jobs->cancelAll();
}

void Document::open(const QString& path) {
    m_jobs->cancel(m_opening);
    const auto work = [this, file = path.toStdString(), services = m_services](const Progress& progress) {
        Opened opened;
        if (services.isSession(file)) {
            opened = readSession(services, file, progress);
        } else {
            opened.model = services.openModel(file, progress);
            opened.session.model = opened.model->card();
            opened.session.created = utcNow();
        }
        return [this, opened = std::move(opened)]() mutable { adopt(std::move(opened)); };
    };
    m_opening = m_jobs->start(tr("Opening %1").arg(QFileInfo(path).fileName()), JobRunner::Priority::interactive, work);
}

void Document::recover(const QString& autosaved, const QString& session) {
    m_jobs->cancel(m_opening);
    const auto work = [this, autosaved = autosaved.toStdString(), session = session.toStdString(),
                       services = m_services](const Progress& progress) {
        Opened opened = readSession(services, autosaved, progress);
        opened.sessionPath.clear();
        std::error_code ignored;
        if (!session.empty() && std::filesystem::exists(session, ignored)) {
            Session base = services.readSession(session);
            if (base.model.fingerprint == opened.session.model.fingerprint) {
                opened.session.results = std::move(base.results);
                opened.sessionPath = QString::fromStdString(session);
            }
        }
        return [this, opened = std::move(opened), autosaved]() mutable {
            adopt(std::move(opened));
            setModified(true);
            emit recovered(QString::fromStdString(autosaved));
        };
    };
    m_opening = m_jobs->start(tr("Restoring unsaved masks"), JobRunner::Priority::interactive, work);
}

Document::Opened Document::readSession(const Services& services, const std::string& path, const Progress& progress) {
    Opened opened;
    opened.session = services.readSession(path);
    opened.sessionPath = QString::fromStdString(path);
    const ModelCard& card = opened.session.model;
    for (const std::string& candidate : checkpointCandidates(card.path, path)) {
        try {
            std::shared_ptr<const Model> model = services.openModel(candidate, progress);
            if (model->fingerprint() == card.fingerprint) {
                opened.model = std::move(model);
                return opened;
            }
            opened.notice = tr("%1 is not the checkpoint this session was made from.").arg(candidate.c_str());
        } catch (const std::exception& error) {
            opened.notice = tr("The session's checkpoint does not open: %1").arg(error.what());
        }
    }
    if (opened.notice.isEmpty())
        opened.notice = tr("The checkpoint was not found at %1.").arg(card.path.c_str());
    opened.notice += tr(" All that is stored can be seen; File > Locate model… finds it for new measurements.");
    return opened;
}

void Document::adopt(Opened opened) {
    ++m_generation;
    for (const auto& [job, measuring] : std::exchange(m_measuring, {}))
        m_jobs->cancel(job);
    m_partial.clear();
    m_differences.clear();
    m_opening = 0;
    m_session = std::move(opened.session);
    m_model = std::move(opened.model);
    m_prices.emplace(m_session.model);
    m_open = true;
    adoptMasks();
    restoreMeasuring();
    setSessionPath(opened.sessionPath);
    setModified(false);
    emit this->opened();
    if (!opened.notice.isEmpty())
        emit noticed(opened.notice);
    if (m_sessionPath.isEmpty())
        measure(parseMetricRequests("weights"));
}

void Document::locateModel(const QString& path) {
    const auto work = [this, file = path.toStdString(), open = m_services.openModel, generation = m_generation,
                       expected = m_session.model.fingerprint](const Progress& progress) {
        std::shared_ptr<const Model> model = open(file, progress);
        if (model->fingerprint() != expected)
            throw Error("this is not the checkpoint the session was made from (its fingerprint differs)", file,
                        "Open it by itself to measure it");
        return [this, model = std::move(model), generation, file] {
            if (generation != m_generation)
                return;
            m_model = model;
            m_session.model.path = file;
            noteChange();
            emit modelLocated();
        };
    };
    m_smallJobs.insert(
        m_jobs->start(tr("Looking at %1").arg(QFileInfo(path).fileName()), JobRunner::Priority::interactive, work));
}

void Document::saveSession(const QString& path) {
    const auto work = [this, file = path.toStdString(), write = m_services.writeSession, snapshot = snapshot(),
                       model = m_model, generation = m_generation, revision = m_revision](const Progress&) mutable {
        if (snapshot.model.fingerprint.empty() && model)
            snapshot.model.fingerprint = model->fingerprint();
        write(snapshot, file);
        return [this, file, generation, revision, fingerprint = snapshot.model.fingerprint] {
            if (generation != m_generation)
                return;
            m_session.model.fingerprint = fingerprint;
            setSessionPath(QString::fromStdString(file));
            setModified(revision != m_revision);
        };
    };
    const QString title = tr("Saving %1").arg(QFileInfo(path).fileName());
    m_saving.emplace(m_jobs->start(title, JobRunner::Priority::interactive, work), path);
}

void Document::end(JobRunner::Id job) {
    m_saving.erase(job);
    m_smallJobs.erase(job);
    if (job == m_opening)
        m_opening = 0;
    const auto measuring = m_measuring.extract(job);
    if (measuring.empty())
        return;
    for (const MetricRequest& request : measuring.mapped().requests) {
        const std::string id = request.resultId();
        m_partial.erase(id);
        emit stateChanged(QString::fromStdString(id));
        tellResultChanged(id);
    }
}

void Document::onFinished(quint64 job) {
    const auto saving = m_saving.extract(job);
    end(job);
    if (!saving.empty())
        emit saved(saving.mapped());
}

void Document::onCancelled(quint64 job) {
    const auto saving = m_saving.extract(job);
    end(job);
    if (!saving.empty())
        emit failed(tr("Saving was cancelled: %1 is as it was.").arg(saving.mapped()));
}

void Document::onFailed(quint64 job, const QString& message) {
    const bool own =
        job == m_opening || m_saving.contains(job) || m_smallJobs.contains(job) || m_measuring.contains(job);
    end(job);
    if (own)
        emit failed(message);
}

void Document::setSessionPath(const QString& path) {
    m_sessionPath = path;
    emit sessionPathChanged();
}

void Document::noteChange() {
    ++m_revision;
    setModified(true);
}

void Document::setModified(bool modified) {
    if (modified == m_modified)
        return;
    m_modified = modified;
    emit modifiedChanged();
}

} // namespace secateur
