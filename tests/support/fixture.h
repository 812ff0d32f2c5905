#pragma once

#include "backends/engine/open_model.h"
#include "tests/support/device.h"
#include "tests/support/expected.h"

#include <QStringList>

#include <memory>

namespace secateur::test {

/// The folders of tests/data that contain a small model and an expected.json, the values computed by an independent
/// implementation.
inline QStringList fixtures() {
    QStringList folders;
    for (const QString& folder : data().entryList(QDir::Dirs | QDir::NoDotAndDotDot))
        if (data().exists(folder + "/expected.json"))
            folders << folder;
    return folders;
}

/// The paths in a fixture folder that can be opened as its model: the files, or "." for the folder itself. All contain
/// the same weights.
inline QStringList filesOf(const QString& folder) {
    QStringList files;
    const nlohmann::json expected = readJson(data().filePath(folder + "/expected.json"));
    for (const auto& item : expected.at("files").items())
        files << QString::fromStdString(item.key());
    return files;
}

inline std::shared_ptr<const Model> fixture(const QString& folder, const QString& file) {
    return openModel(QDir::cleanPath(data().filePath(folder + "/" + file)).toStdString(), {}, onDevice());
}

/// Opens the model of a folder of tests/data from the first of its files.
inline std::shared_ptr<const Model> fixture(const QString& folder) {
    return fixture(folder, filesOf(folder).front());
}

} // namespace secateur::test
