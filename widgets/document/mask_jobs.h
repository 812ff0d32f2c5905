#pragma once

#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <map>
#include <string>

namespace secateur {

class Document;
struct ExportTarget;
struct PruneRequest;
struct PruneResult;

/// Jobs on the masks of a document: reading and writing mask files, export, greedy pruning.
class MaskJobs : public QObject {
    Q_OBJECT

public:
    MaskJobs(Document* document, JobRunner* jobs);

    /// Adds the mask of a file to the list and makes it current. Fails for files of other kinds, and for masks of other
    /// models.
    void openMask(const QString& path);
    /// Writes the current mask to a mask file.
    void saveMask(const QString& path);
    /// The export target for the current mask; null if no available target can hold it.
    const ExportTarget* exportTarget() const;
    /// Writes a checkpoint of the model under the current mask.
    void exportModel(const QString& path);
    /// Runs a strategy on the chosen text in the background. Its mask replaces the current one; if that has changed
    /// meanwhile, it is added to the list under a new name.
    /// @param request its base is the current mask @param action name of the undo step
    void prune(const PruneRequest& request, const QString& action);

signals:
    void maskSaved(const QString& path);
    void maskOpened(const QString& path);
    /// @param sentence about the written files and their agreement with the masked model
    void exported(const QString& sentence);

private:
    void takePruned(const PruneRequest& request, const std::string& base, const QString& action,
                    const PruneResult& result);

    Document* m_document;
    std::map<JobRunner::Id, QString> m_exporting; ///< for each job that exports, the path
};

} // namespace secateur
