#pragma once

#include "analysis/export/export_card.h"
#include "tests/kills/writers.h"

#include <QDir>
#include <QRegularExpression>
#include <QStringList>

#include <algorithm>
#include <map>
#include <string>

namespace secateur::test {

using Files = std::map<QString, std::string>; ///< contents by name; names in subfolders include the folder

inline bool hasFinalName(const QString& name) {
    return !name.startsWith('.');
}

/// The contents of all files with final names. @throws Error if one is not whole
inline Files filesIn(const QString& folder) {
    Files files;
    for (const QFileInfo& item : QDir(folder).entryInfoList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot)) {
        if (!hasFinalName(item.fileName()))
            continue;
        if (item.isDir()) {
            for (const auto& [name, content] : filesIn(item.filePath()))
                files[item.fileName() + "/" + name] = content;
            continue;
        }
        files[item.fileName()] = contentOf(item.filePath().toStdString());
    }
    return files;
}

inline bool isCompensation(const QString& name) {
    return name.endsWith(".compensation.safetensors");
}

/// The files without compensations that no mask names: the old or the new one of a mask whose writing was interrupted.
inline Files withoutUnnamed(const Files& files) {
    Files named;
    for (const auto& file : files) {
        const auto names = [&](const auto& other) {
            return other.second.find(file.first.toStdString()) != std::string::npos;
        };
        if (!isCompensation(file.first) || std::ranges::any_of(files, names))
            named.insert(file);
    }
    return named;
}

inline QStringList leftoversIn(const QString& folder) {
    QStringList names;
    for (const QString& name : QDir(folder).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot))
        if (!hasFinalName(name))
            names << name;
    return names;
}

inline bool areRecognisable(const QStringList& leftovers) {
    static const QRegularExpression known(R"(^\.(secateur-[0-9a-f]{16}\.tmp|[^/]+\.lock)$)");
    return std::ranges::all_of(leftovers, [](const QString& name) { return known.match(name).hasMatch(); });
}

/// Whether each file of `some` is in `all` with the same contents. A killed export may lack its mask, or have a note
/// instead of its card, but must not have those of another generation.
inline bool isPartOf(const Files& some, const Files& all) {
    const std::string note = interruptedExportCard(SECATEUR_VERSION);
    return std::ranges::all_of(some, [&](const auto& file) {
        const auto found = all.find(file.first);
        return found != all.end() && (found->second == file.second || file.second == note);
    });
}

/// Whether the files are those of one generation. An export of several files cannot rename them at once: the mask may be
/// missing, and the card be a note, but neither may be of another one.
inline bool isWhole(const Files& found, const Files& all) {
    const auto first = std::ranges::find_if_not(all, [](const auto& file) { return isCompensation(file.first); });
    return found.contains(first->first) && isPartOf(found, all);
}

} // namespace secateur::test
