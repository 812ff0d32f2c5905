#pragma once

#include "analysis/compensation/compensation_mode.h"
#include "analysis/masks/mask_record.h"
#include "analysis/strategies/prune.h"
#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace secateur {

class Document;
struct ExportResult;
struct ExportTarget;
struct FittedMask;
struct SequenceText;

/// A name as the name of a file that needs no quoting in a shell: "my mask (2)" -> "my-mask-2".
QString fileNameOf(const std::string& name);

/// Jobs on the masks of a document: reading and writing mask files, export, pruning in steps, compensation.
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
    /// The type of the matrices that the user chose for a target: "F16"; empty = as stored.
    std::string exportType(const ExportTarget* target) const;
    void setExportType(const ExportTarget* target, const std::string& type) { m_exportTypes[target] = type; }
    /// Whether an export is a .gguf file and not a folder. ExportSize::isOneFile also knows the source's files.
    bool isOneFile(const ExportTarget& target) const;
    /// A name for an export of the current mask, without an ending: "SmolLM2-sinks".
    QString exportName() const;
    /// Exports the model under the current mask to exportTarget().
    /// @param mayReplace whether files of an earlier export may be replaced @returns 0 if no target can hold the mask
    JobRunner::Id exportModel(const QString& path, bool mayReplace = false);
    /// Runs a strategy on the chosen text in the background. Its mask replaces the current mask. If the current mask
    /// changed in the meantime, the new mask is added to the list under a new name.
    /// @param action name of the undo step @param watch follows a strategy that reports its steps, on the job's thread
    /// @param tokens maximum number of tokens of the text; 0 = as Measurements chooses
    JobRunner::Id prune(const PruneRequest& request, const QString& action, const PruneWatch& watch = {},
                        std::int64_t tokens = 0);
    /// Fits a compensation to the current mask in the background. The compensated mask replaces it as that of prune().
    /// @param mode neither `own` nor `none`
    JobRunner::Id compensate(CompensationMode mode, std::shared_ptr<const SequenceText> text);
    /// Removes the compensation of the current mask.
    void removeCompensation();

signals:
    void maskSaved(const QString& path);
    void maskOpened(const QString& path);
    /// Emitted after an export. @param sentence about the written files and their agreement with the masked model
    void exported(const QString& sentence);
    /// Emitted with the result of an export before exported(). @param job number that exportModel() returned
    void written(quint64 job, const ExportResult& result);
    /// Emitted when the mask of a fit is the current one. @param job number that compensate() returned
    void fitted(quint64 job, const FittedMask& fit);

private:
    /// The current mask when a job starts that makes another from it.
    struct Start {
        quint64 generation = 0; ///< Document::generation()
        std::string name;
        std::shared_ptr<const MaskRecord> record;
    };

    Start startNow() const;
    void takePruned(const Start& start, const PruneRequest& request, const QString& action, const PruneResult& result);
    /// Replaces the current mask. If it changed since the start, adds a mask to the list.
    /// @param name of an added mask
    void take(const Start& start, const QString& action, const QString& name, PruningMask mask, MaskProvenance made);

    Document* m_document;
    const ExportTarget* m_chosenTarget = nullptr; ///< a row of the table, or null
    std::map<const ExportTarget*, std::string> m_exportTypes;
    std::map<JobRunner::Id, QString> m_exporting; ///< for each job that exports, the path
};

} // namespace secateur
