#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/masks/mask_record.h"
#include "analysis/session/command_line.h"

#include <QObject>
#include <QString>
#include <QStringList>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace secateur {

class Document;
class JobRunner;

/// What is open as a command names it from anywhere: the model's full path.
std::string modelPath(const Document& document);

/// What draws a figure of metrics again: from the model, or from the session where the checkpoint is not here.
/// @param figure "id[:key=value]..."
std::string plotText(const Document& document, const std::string& figure);

/// As a person pastes them into a shell, a line each.
QString linesOf(const std::vector<CommandLine>& commands);
/// The same on the clipboard.
void copyCommands(const std::vector<CommandLine>& commands);

/// Puts on the clipboard what gives a result once more without the window. Where a command needs a mask as a file, the
/// file is there before it is copied: one that was opened or saved and holds the mask, else one beside the session,
/// else one where the person wants it.
class CommandCopier : public QObject {
    Q_OBJECT

public:
    CommandCopier(Document* document, JobRunner* jobs, QObject* parent = nullptr);

    /// What measures results once more. @param keys those that are not measured are left out
    void copyMeasuring(const std::vector<std::string>& keys);
    void copyEvaluation(const Evaluation& evaluation);
    /// What made the current mask, where a strategy did; else what shows it.
    void copyMask();
    /// What shows the model under the current mask. @param commands for a mask file; empty = dense
    void copyUnderMask(std::function<std::vector<CommandLine>(const std::string& maskFile)> commands);
    /// Of a masked export of the current mask.
    void copyExport();

public slots:
    /// Where the mask is to lie, after placeWanted(); goes on with what was to be copied.
    void place(const QString& path);

signals:
    /// @param note for the person to keep: where the mask lies that the commands name; empty = there is nothing to say
    void copied(const QString& commands, const QString& note);
    /// There is neither a file nor a session beside which it could lie.
    void placeWanted(const QString& suggestedName);
    void failed(const QString& message);

private:
    /// What is to be copied as soon as there is a mask file.
    struct Wanted {
        std::string name;
        MaskRecord record;
        std::function<std::vector<CommandLine>(const std::string& maskFile)> commands;
        QString note;
    };
    struct Found {
        std::string path; ///< empty = nowhere yet
        bool isNew = false;
    };

    void copy(const std::vector<CommandLine>& commands, const QString& note = {});
    void findMaskFile(Wanted wanted);
    void start(std::function<Found(const MaskRecord&)> find);
    void finish(const Found& found);

    Document* m_document;
    JobRunner* m_jobs;
    QStringList m_maskFiles; ///< that were opened or saved, the latest first
    std::optional<Wanted> m_wanted;
    std::set<quint64> m_own;
    quint64 m_turn = 0; ///< a later wish makes what an earlier one brings stale
};

} // namespace secateur
