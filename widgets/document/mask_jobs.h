#pragma once

#include <QObject>
#include <QString>

#include <string>

namespace secateur {

class Document;
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
    /// Writes a checkpoint without the units that the current mask cuts.
    void exportMasked(const QString& path);
    /// Runs a greedy strategy, which measures again after each step, on the chosen calibration text. Its result
    /// replaces the current mask; if that was edited meanwhile, the result is added as a new mask.
    /// @param request whose base is the current mask @param action shown to the user
    void pruneGreedily(const PruneRequest& request, const QString& action);

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
