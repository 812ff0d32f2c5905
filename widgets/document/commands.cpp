#include "widgets/document/commands.h"

#include "widgets/document/document.h"

#include <QClipboard>
#include <QFileInfo>
#include <QGuiApplication>

namespace secateur {

namespace {

std::string fullPath(const QString& path) {
    return QFileInfo(path).absoluteFilePath().toStdString();
}

} // namespace

std::string modelPath(const Document& document) {
    const std::string& path = document.session().model.path;
    // Where a session says that its checkpoint lay is for the person to read.
    return document.model() ? fullPath(QString::fromStdString(path)) : path;
}

std::string plotText(const Document& document, const std::string& figure) {
    const bool fromSession = !document.model() && !document.sessionPath().isEmpty();
    return shellText(plotCommand(fromSession ? fullPath(document.sessionPath()) : modelPath(document), figure));
}

QString linesOf(const std::vector<CommandLine>& commands) {
    QStringList lines;
    for (const CommandLine& command : commands)
        lines << QString::fromStdString(shellText(command));
    return lines.join('\n');
}

void copyCommands(const std::vector<CommandLine>& commands) {
    QGuiApplication::clipboard()->setText(linesOf(commands));
}

} // namespace secateur
