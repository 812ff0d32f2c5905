#pragma once

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

/// Whether a file is the note that stands in place of an export's card until all files have their names.
inline bool isInterruptedCard(const QString& name, const std::string& content) {
    return name.endsWith(".md") && content.starts_with("Interrupted export, written by Secateur");
}

inline bool isInterrupted(const Files& files) {
    return std::ranges::any_of(files, [](const auto& file) { return isInterruptedCard(file.first, file.second); });
}

/// Whether files are those of a generation. An interrupted export has a note as its card. It may lack its mask, but
/// must not have the mask of another generation.
inline bool areOf(const Files& generation, const Files& found) {
    if (!isInterrupted(found))
        return found == generation;
    return found.contains(generation.begin()->first) && std::ranges::all_of(found, [&](const auto& file) {
               const auto own = generation.find(file.first);
               return own != generation.end() &&
                      (own->second == file.second || isInterruptedCard(file.first, file.second));
           });
}

} // namespace secateur::test
