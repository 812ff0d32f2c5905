#pragma once

#include <QObject>
#include <QString>

#include <string>

namespace secateur {

class Document;
struct PruneRequest;
struct PruneResult;

/// What takes a while with the masks of a document and runs in jobs: mask files, export, pruning step by step.
class MaskJobs : public QObject {
    Q_OBJECT

public:
    explicit MaskJobs(Document* document);

    /// Adds a mask file to the masks, and edits it. What is not a mask, or of another model, fails.
    void openMask(const QString& path);
    /// The current mask, as a file for scripts and other people.
    void saveMask(const QString& path);
    /// Writes a checkpoint without the units that the current mask cuts.
    void exportMasked(const QString& path);
    /// Runs a strategy that measures again after each step, on the chosen calibration text, in the background. Its
    /// mask becomes the current one, or one of its own where the current one is another by then.
    /// @param request whose base is the current mask @param action for the person
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
