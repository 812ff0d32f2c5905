#pragma once

#include <QObject>
#include <QString>

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
    explicit MaskJobs(Document* document);

    /// Adds the mask of a file to the list and makes it current. Fails for other files and other models.
    void openMask(const QString& path);
    /// Writes the current mask to a mask file.
    void saveMask(const QString& path);
    /// The export target that the current mask is written as; null = none that is available can hold it.
    const ExportTarget* exportTarget() const;
    /// Writes a checkpoint of the model under the current mask.
    void exportModel(const QString& path);
    /// Runs a strategy on the chosen text in the background. Its mask replaces the current one, or is added under a
    /// name of its own where the current one has changed since.
    /// @param request whose base is the current mask @param action name of the step in the undo list
    void prune(const PruneRequest& request, const QString& action);

signals:
    void maskSaved(const QString& path);
    void maskOpened(const QString& path);
    /// @param sentence what was written, and how well it agrees
    void exported(const QString& sentence);

private:
    void takePruned(const PruneRequest& request, const std::string& base, const QString& action,
                    const PruneResult& result);

    Document* m_document;
};

} // namespace secateur
