#pragma once

#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <map>

namespace secateur {

class Document;

/// Opens models and sessions into a document, and saves its session. Reading and writing run in jobs.
class DocumentFiles : public QObject {
    Q_OBJECT

public:
    DocumentFiles(Document* document, JobRunner* jobs);

    /// Whether a path has the extension of a model file.
    bool isModelFile(const QString& path) const;
    /// Opens a model or a session. The open one stays until the new one was read. Measures the weight metrics of a
    /// model. A second call cancels the first.
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
    void saved(const QString& path);
    /// Emitted after recover() has opened an autosaved session.
    void recovered(const QString& autosaved);

private:
    void onFinished(quint64 job);
    void onCancelled(quint64 job);
    void onFailed(quint64 job);

    Document* m_document;
    JobRunner* m_jobs;
    JobRunner::Id m_opening = 0;
    std::map<JobRunner::Id, QString> m_saving; ///< for each job that saves, the path of the file
};

} // namespace secateur
