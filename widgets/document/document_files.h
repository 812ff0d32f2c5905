#pragma once

#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <map>

namespace secateur {

class Document;

/// Opens models and sessions into a document, and saves its session. Work runs in jobs.
class DocumentFiles : public QObject {
    Q_OBJECT

public:
    DocumentFiles(Document* document, JobRunner* jobs);

    /// Whether a path has an extension of model files.
    bool isModelFile(const QString& path) const;
    /// Opens a model or a session; the previous one stays open until the new one is read. Then measures the weight
    /// metrics of a model. A second call cancels the first.
    void open(const QString& path);
    /// Opens the checkpoint of an open session without one. It must have the session's fingerprint.
    void locateModel(const QString& path);
    /// Opens an autosaved session as unsaved changes. @param session the file that was open; empty = none
    void recover(const QString& autosaved, const QString& session);
    void saveSession(const QString& path);
    bool isOpening() const { return m_opening != 0; }
    bool isSaving() const { return !m_saving.empty(); }

signals:
    void saved(const QString& path);
    /// The autosaved session given to recover() was opened.
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
