#include "widgets/window/recent_files.h"

#include <QFileInfo>
#include <QSettings>

namespace secateur {

namespace {

constexpr auto key = "recent";
constexpr qsizetype most = 10;

} // namespace

QStringList recentFiles() {
    QStringList files = QSettings().value(key).toStringList();
    files.removeIf([](const QString& path) { return !QFileInfo::exists(path); });
    return files;
}

void rememberRecentFile(const QString& path) {
    const QString absolute = QFileInfo(path).absoluteFilePath();
    QStringList files = recentFiles();
    files.removeAll(absolute);
    files.prepend(absolute);
    QSettings().setValue(key, files.mid(0, most));
}

void forgetRecentFiles() {
    QSettings().remove(key);
}

} // namespace secateur
