#pragma once

#include "backends/engine/open_model.h"
#include "tests/support/expected.h"

#include <QStringList>

#include <memory>

namespace secateur::test {

/// The folders of tests/data that hold a small model, and what an independent implementation makes of it.
inline QStringList fixtures() {
    QStringList folders;
    for (const QString& folder : data().entryList(QDir::Dirs | QDir::NoDotAndDotDot))
        if (data().exists(folder + "/expected.json"))
            folders << folder;
    return folders;
}

/// What can be opened in such a folder: "." for itself, or one of its files. All hold the same weights.
inline QStringList filesOf(const QString& folder) {
    QStringList files;
    const nlohmann::json expected = readJson(data().filePath(folder + "/expected.json"));
    for (const auto& item : expected.at("files").items())
        files << QString::fromStdString(item.key());
    return files;
}

inline std::shared_ptr<const Model> fixture(const QString& folder, const QString& file) {
    return openModel(QDir::cleanPath(data().filePath(folder + "/" + file)).toStdString());
}

/// The model in a folder of tests/data.
inline std::shared_ptr<const Model> fixture(const QString& folder) {
    return fixture(folder, filesOf(folder).front());
}

} // namespace secateur::test
