#pragma once

#include <QStringList>

namespace secateur {

/// What was opened lately, newest first, kept in the settings. Files that are gone are left out.
QStringList recentFiles();
void rememberRecentFile(const QString& path);
void forgetRecentFiles();

} // namespace secateur
