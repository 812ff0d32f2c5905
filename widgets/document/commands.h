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

/// The open model's absolute path, for a command.
std::string modelPath(const Document& document);

/// The command that draws a figure of metrics: from the model, or from the session if the checkpoint was not found.
/// @param figure "id[:key=value]..."
CommandLine plotLine(const Document& document, const std::string& figure);
/// plotLine() as text.
std::string plotText(const Document& document, const std::string& figure);

/// Commands as text, quoted for a shell, one per line.
QString linesOf(const std::vector<CommandLine>& commands);
/// Puts these lines on the clipboard.
void copyCommands(const std::vector<CommandLine>& commands);

/// Puts the commands that repeat a result on the clipboard. A command under a mask needs a mask file: a file with that
/// mask that was opened or saved, or else one that is written next to the session or where the user chooses.
class CommandCopier : public QObject {
    Q_OBJECT

public:
    CommandCopier(Document* document, JobRunner* jobs, QObject* parent = nullptr);

    /// The commands that measure results. @param keys results that are not measured are left out
    void copyMeasuring(const std::vector<std::string>& keys);
    void copyEvaluation(const Evaluation& evaluation);
    /// Copies the command of the strategy that made the current mask; for other masks, the command that prints the
    /// mask.
    void copyMask();
    /// Copies commands that run the model under the current mask.
    /// @param commands returns the commands for the path of the mask file; an empty path = the dense model
    void copyUnderMask(std::function<std::vector<CommandLine>(const std::string& maskFile)> commands);
    /// Copies the command that exports the model under the current mask.
    void copyExport();

public slots:
    /// Answers placeWanted(): writes the mask there and copies the commands.
    void place(const QString& path);

signals:
    /// @param note where the mask file of the commands is; empty = nothing to note
    void copied(const QString& commands, const QString& note);
    /// The mask needs a file, and there is no session file to put it next to.
    void placeWanted(const QString& suggestedName);
    void failed(const QString& message);

private:
    /// Commands that wait for a mask file.
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
    QStringList m_maskFiles; ///< mask files that were opened or saved, the latest first
    std::optional<Wanted> m_wanted;
    std::set<quint64> m_own;
    quint64 m_turn = 0; ///< results of an earlier request are dropped
};

} // namespace secateur
