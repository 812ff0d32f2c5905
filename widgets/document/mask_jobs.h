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

    /// Adds the mask of a file to the list and makes it current. Fails if the file is not a mask file, or the mask
    /// belongs to another model.
    void openMask(const QString& path);
    /// Writes the current mask to a mask file.
    void saveMask(const QString& path);
    /// The export target that exportModel() uses for the current mask: the chosen one or, if that cannot hold the mask,
    /// the first that can; null if no target can.
    const ExportTarget* exportTarget() const;
    void chooseExportTarget(const ExportTarget* target) { m_chosenTarget = target; }
    /// Exports the model under the current mask.
    void exportModel(const QString& path);
    /// Runs a strategy on the chosen text in the background. Its mask replaces the current mask. If the current mask
    /// changed in the meantime, the new mask is added to the list under a new name.
    /// @param request strategy and budget; its base is the current mask @param action name of the undo step
    void prune(const PruneRequest& request, const QString& action);

signals:
    void maskSaved(const QString& path);
    void maskOpened(const QString& path);
    /// Emitted after an export. @param sentence about the written files and their agreement with the masked model
    void exported(const QString& sentence);

private:
    void takePruned(const PruneRequest& request, const std::string& base, const QString& action,
                    const PruneResult& result);

    Document* m_document;
    const ExportTarget* m_chosenTarget = nullptr; ///< a row of the table, or null
    std::map<JobRunner::Id, QString> m_exporting; ///< for each job that exports, the path
};

} // namespace secateur
