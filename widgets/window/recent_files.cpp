#include "widgets/window/recent_files.h"

#include "analysis/model/far_model.h"

#include <QFileInfo>
#include <QSettings>
#include <QVariantMap>

#include <iterator>

namespace secateur {

namespace {

// In the settings.
constexpr auto recentKey = "recent";
constexpr auto recentModelsKey = "recent.models"; ///< name of the model by path
constexpr qsizetype mostRecent = 10;

} // namespace

QStringList recentFiles() {
    QStringList files = QSettings().value(recentKey).toStringList();
    files.removeIf([](const QString& path) { return !isFarPath(path.toStdString()) && !QFileInfo::exists(path); });
    return files;
}

QStringList recentFilesOf(const QString& model) {
    const QVariantMap models = QSettings().value(recentModelsKey).toMap();
    QStringList files = recentFiles();
    files.removeIf([&](const QString& path) { return model.isEmpty() || models.value(path).toString() != model; });
    return files;
}

std::vector<std::string> recentPaths() {
    std::vector<std::string> paths;
    for (const QString& path : recentFiles())
        paths.push_back(path.toStdString());
    return paths;
}

void rememberRecentFile(const QString& path, const QString& model) {
    const bool isFar = isFarPath(path.toStdString());
    if (isFar && !path.startsWith(QString::fromUtf8(sshScheme.data(), std::ssize(sshScheme))))
        return; // cannot be opened without the command that starts its server
    const QString absolute = isFar ? path : QFileInfo(path).absoluteFilePath();
    QStringList files = recentFiles();
    files.removeAll(absolute);
    files.prepend(absolute);
    files = files.mid(0, mostRecent);
    const QVariantMap before = QSettings().value(recentModelsKey).toMap();
    QVariantMap models;
    for (const QString& file : files)
        models[file] = file == absolute ? model : before.value(file);
    QSettings().setValue(recentKey, files);
    QSettings().setValue(recentModelsKey, models);
}

void forgetRecentFiles() {
    QSettings().remove(recentKey);
    QSettings().remove(recentModelsKey);
}

} // namespace secateur
