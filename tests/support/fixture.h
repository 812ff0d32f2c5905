#pragma once

#include "backends/open_model.h"
#include "tests/support/expected.h"

#include <memory>

namespace secateur::test {

/// The model in a folder of tests/data.
inline std::shared_ptr<const Model> fixture(const QString& folder) {
    const auto file = readJson(data().filePath(folder + "/expected.json")).at("file").get<std::string>();
    return openModel(QDir::cleanPath(data().filePath(folder + "/" + QString::fromStdString(file))).toStdString());
}

} // namespace secateur::test
