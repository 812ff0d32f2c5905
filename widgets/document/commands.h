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
struct NamedMask;

/// The open model's absolute path, for use in a command.
std::string modelPath(const Document& document);

/// The command that draws a figure of metrics. It reads the model, or the session if the checkpoint was not found.
/// @param figure "id[:key=value]..."
CommandLine plotLine(const Document& document, const std::string& figure);
/// plotLine() as text.
std::string plotText(const Document& document, const std::string& figure);

/// Commands as text, quoted for a shell, one per line.
QString linesOf(const std::vector<CommandLine>& commands);
/// Copies commands to the clipboard, one per line.
void copyCommands(const std::vector<CommandLine>& commands);

/// Copies the commands that repeat a result to the clipboard. A command that runs under a mask needs a mask file. This
/// is a file that was opened or saved and still holds the mask. If there is none, the mask is written next to the
/// session, or to a path that the user chooses.
class CommandCopier : public QObject {
    Q_OBJECT

public:
    CommandCopier(Document* document, JobRunner* jobs, QObject* parent = nullptr);

    /// Copies the commands that measure results. @param keys keys of results; those that are not measured, and those of
    /// a part of a text, are left out
    void copyMeasuring(const std::vector<std::string>& keys);
    void copyEvaluation(const Evaluation& evaluation);
    /// Copies the commands of the strategy that made the current mask, and of its compensation. If no command makes the
    /// mask, copies the one that prints it.
    void copyMask();
    /// Copies commands that run the model under the current mask.
    /// @param commands returns the commands for a path of the mask file; an empty path means the dense model
    void copyUnderMask(std::function<std::vector<CommandLine>(const std::string& maskFile)> commands);
    /// Copies the command that exports the model under the current mask.
    void copyExport();

public slots:
    /// Answers placeWanted(): writes the mask to `path` and copies the commands.
    void place(const QString& path);

signals:
    /// Emitted after commands were copied. @param note says where the commands' mask file is, and what the commands
    /// leave out; empty = neither
    void copied(const QString& commands, const QString& note);
    /// Emitted if the mask needs a file and there is no session file to write it next to.
    void placeWanted(const QString& suggestedName);
    void failed(const QString& message);

private:
    /// Commands that are copied once their mask is in a file.
    struct Wanted {
        std::string name;
        MaskRecord record;
        std::function<std::vector<CommandLine>(const std::string& maskFile)> commands;
        QString note;
    };
    struct Found {
        std::string path; ///< path of the mask file; empty = not known yet
        bool isNew = false;
    };

    void copy(const std::vector<CommandLine>& commands, const QString& note = {});
    void copyCompensation(const NamedMask& mask);
    void findMaskFile(Wanted wanted);
    void start(std::function<Found(const MaskRecord&)> find);
    void finish(const Found& found);

    Document* m_document;
    JobRunner* m_jobs;
    QStringList m_maskFiles; ///< mask files that were opened or saved, the latest first
    std::optional<Wanted> m_wanted;
    std::set<quint64> m_own;
    quint64 m_turn = 0; ///< number of the current request; results of earlier requests are dropped
};

} // namespace secateur
