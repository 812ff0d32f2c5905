#include "widgets/document/document_files.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/model/far_model.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"

#include <QFileInfo>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace secateur {

namespace {

/// Existing paths at which a session's checkpoint may be: the stored path, relative to the working directory or to the
/// session's folder, and the stored file name in the session's folder.
std::vector<std::string> checkpointCandidates(const std::string& modelPath, const std::string& sessionPath) {
    if (isFarPath(modelPath))
        return {modelPath};
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

Document::Opened readSession(const Services& services, const std::string& path, const Progress& progress) {
    Document::Opened opened;
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
            opened.notice =
                DocumentFiles::tr("%1 is not the checkpoint this session was made from.").arg(candidate.c_str());
        } catch (const std::exception& error) {
            opened.notice = DocumentFiles::tr("The session's checkpoint cannot be opened: %1").arg(error.what());
        }
    }
    if (opened.notice.isEmpty())
        opened.notice = DocumentFiles::tr("The checkpoint was not found at %1.").arg(card.path.c_str());
    opened.notice += DocumentFiles::tr(" Stored results are shown. To measure more, use File > Locate model….");
    return opened;
}

/// Reads an autosaved session, which holds masks and evaluations but no metric results. Takes the results from the
/// session file that was open, if this file still exists and belongs to the same model.
Document::Opened readAutosaved(const Services& services, const std::string& autosaved, const std::string& session,
                               const Progress& progress) {
    Document::Opened opened = readSession(services, autosaved, progress);
    opened.sessionPath.clear();
    std::error_code ignored;
    if (session.empty() || !std::filesystem::exists(session, ignored))
        return opened;
    Session base = services.readSession(session);
    if (base.model.fingerprint == opened.session.model.fingerprint) {
        opened.session.results = std::move(base.results);
        opened.sessionPath = QString::fromStdString(session);
    }
    return opened;
}

} // namespace

DocumentFiles::DocumentFiles(Document* document, JobRunner* jobs)
    : QObject(document)
    , m_document(document)
    , m_jobs(jobs) {
    connect(jobs, &JobRunner::finished, this, &DocumentFiles::onFinished);
    connect(jobs, &JobRunner::cancelled, this, &DocumentFiles::onCancelled);
    connect(jobs, &JobRunner::failed, this, &DocumentFiles::onFailed);
}

bool DocumentFiles::isModelFile(const QString& path) const {
    return std::ranges::any_of(m_document->services().modelExtensions, [&](const std::string& extension) {
        return path.endsWith(QString::fromStdString(extension), Qt::CaseInsensitive);
    });
}

void DocumentFiles::open(const QString& path) {
    m_jobs->cancel(m_opening);
    const QString name = QFileInfo(path).fileName();
    const auto work = [this, name, before = before(), file = path.toStdString(),
                       services = m_document->services()](const Progress& progress) {
        Document::Opened opened;
        if (services.isSession(file)) {
            opened = readSession(services, file, progress);
        } else {
            opened.model = services.openModel(file, progress);
            opened.session.model = opened.model->card();
            opened.session.created = utcNow();
        }
        return [this, name, before, opened = std::move(opened)]() mutable {
            m_opening = 0;
            replace(before, tr("opening %1").arg(name), std::move(opened));
        };
    };
    m_opening = m_document->start(tr("Opening %1").arg(name), JobRunner::Priority::opening, work);
}

void DocumentFiles::recover(const QString& autosaved, const QString& session) {
    m_jobs->cancel(m_opening);
    const auto work = [this, before = before(), autosaved = autosaved.toStdString(), session = session.toStdString(),
                       services = m_document->services()](const Progress& progress) {
        Document::Opened opened = readAutosaved(services, autosaved, session, progress);
        return [this, before, opened = std::move(opened), autosaved]() mutable {
            m_opening = 0;
            replace(before, tr("restoring unsaved masks"), std::move(opened), [this, autosaved] {
                m_document->noteChange();
                emit recovered(QString::fromStdString(autosaved));
            });
        };
    };
    m_opening = m_document->start(tr("Restoring unsaved masks"), JobRunner::Priority::opening, work);
}

DocumentFiles::Before DocumentFiles::before() const {
    return {m_document->isModified(), m_document->masks()->state()};
}

void DocumentFiles::replace(const Before& before, const QString& action, Document::Opened opened,
                            std::function<void()> then) {
    const auto arrived = std::make_shared<Document::Opened>(std::move(opened)); // std::function copies
    const auto adopt = [this, arrived, then = std::move(then)] {
        m_document->adopt(std::move(*arrived));
        if (then)
            then();
    };
    const bool wasChanged =
        m_document->isModified() && (!before.isModified || m_document->masks()->state() != before.masks);
    if (wasChanged && m_question)
        m_question(action, adopt);
    else
        adopt();
}

void DocumentFiles::locateModel(const QString& path) {
    const auto work = [this, file = path.toStdString(), open = m_document->services().openModel,
                       generation = m_document->generation(),
                       expected = m_document->session().model.fingerprint](const Progress& progress) {
        std::shared_ptr<const Model> model = open(file, progress);
        if (model->fingerprint() != expected)
            throw Error("this is not the checkpoint the session was made from (its fingerprint differs)", file,
                        "Open it as a model to measure it");
        return [this, model = std::move(model), generation, file] {
            if (generation == m_document->generation())
                m_document->setModel(model, file);
        };
    };
    m_document->start(tr("Checking %1").arg(QFileInfo(path).fileName()), JobRunner::Priority::opening, work);
}

void DocumentFiles::saveSession(const QString& path) {
    const auto work = [this, file = path.toStdString(), write = m_document->services().writeSession,
                       snapshot = m_document->snapshot(), model = m_document->model(),
                       generation = m_document->generation(),
                       revision = m_document->revision()](const Progress&) mutable {
        if (snapshot.model.fingerprint.empty() && model)
            snapshot.model.fingerprint = model->fingerprint();
        write(snapshot, file);
        return [this, file, generation, revision, fingerprint = snapshot.model.fingerprint] {
            if (generation == m_document->generation())
                m_document->setSaved(QString::fromStdString(file), fingerprint, revision);
        };
    };
    const QString title = tr("Saving %1").arg(QFileInfo(path).fileName());
    m_saving.emplace(m_document->start(title, JobRunner::Priority::files, work), path);
}

void DocumentFiles::onFinished(quint64 job) {
    const auto saving = m_saving.extract(job);
    if (!saving.empty())
        emit saved(saving.mapped());
}

void DocumentFiles::onCancelled(quint64 job) {
    if (job != 0 && job == m_opening) {
        m_opening = 0;
        emit openingCancelled();
    }
    const auto saving = m_saving.extract(job);
    if (!saving.empty())
        emit m_document->failed(tr("Saving was cancelled. %1 is unchanged.").arg(saving.mapped()));
}

void DocumentFiles::onFailed(quint64 job) {
    if (job == m_opening)
        m_opening = 0;
    m_saving.erase(job);
}

} // namespace secateur
