#pragma once

#include <QString>
#include <QStringList>

#include <string>
#include <vector>

namespace secateur {

/// The files that were opened last, newest first. They are stored in the settings. Files that no longer exist are left
/// out.
QStringList recentFiles();
/// Those with a model of this name.
QStringList recentFilesOf(const QString& model);
/// recentFiles() in the form that Services::foundModels takes.
std::vector<std::string> recentPaths();
/// @param model name of the model in the file
void rememberRecentFile(const QString& path, const QString& model);
void forgetRecentFiles();

} // namespace secateur
