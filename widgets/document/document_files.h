#pragma once

#include "widgets/document/document.h"
#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <functional>
#include <map>

namespace secateur {

/// Opens models and sessions into a document, and saves its session. Work runs in jobs.
class DocumentFiles : public QObject {
    Q_OBJECT

public:
    DocumentFiles(Document* document, JobRunner* jobs);

    /// Whether a path has the extension of a model file.
    bool isModelFile(const QString& path) const;
    /// Asks the user before an action loses changes, and then calls `next`. @param action "opening small.gguf"
    using Question = std::function<void(const QString& action, std::function<void()> next)>;

    /// Sets what asks before a new model replaces one that was changed while the new one was read. Without it, nothing
    /// asks.
    void askWith(Question question) { m_question = std::move(question); }
    /// Opens a model or a session; the previous one stays open until the new one is read. Then measures the weight
    /// metrics of a model. A second call cancels the first.
    void open(const QString& path);
    /// Opens the checkpoint of an open session whose checkpoint was not found. It must have the session's fingerprint.
    void locateModel(const QString& path);
    /// Opens an autosaved session as unsaved changes. @param session the session file that was open when it was
    /// autosaved; empty = none
    void recover(const QString& autosaved, const QString& session);
    void saveSession(const QString& path);
    bool isOpening() const { return m_opening != 0; }
    bool isSaving() const { return !m_saving.empty(); }

signals:
    /// The user cancelled the opening of a file.
    void openingCancelled();
    void saved(const QString& path);
    /// Emitted after recover() has opened an autosaved session.
    void recovered(const QString& autosaved);

private:
    /// The document's changes when an opening was requested.
    struct Before {
        bool isModified = false;
        MaskState masks;
    };

    Before before() const;
    /// Replaces what is open. If it was changed since `before`, asks first. @param then called after that
    void replace(const Before& before, const QString& action, Document::Opened opened, std::function<void()> then = {});
    void onFinished(quint64 job);
    void onCancelled(quint64 job);
    void onFailed(quint64 job);

    Document* m_document;
    JobRunner* m_jobs;
    Question m_question;
    JobRunner::Id m_opening = 0;
    std::map<JobRunner::Id, QString> m_saving; ///< for each job that saves, the path of the file
};

} // namespace secateur
