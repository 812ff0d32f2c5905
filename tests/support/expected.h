#pragma once

#include "analysis/base/matrix.h"

#include <nlohmann/json.hpp>

#include <QByteArray>
#include <QDir>
#include <QFile>
#include <QString>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace secateur::test {

/// The folder tests/data.
inline QDir data() {
    return QDir(SECATEUR_TEST_SOURCES);
}

inline nlohmann::json readJson(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        throw std::runtime_error("cannot read " + path.toStdString());
    return nlohmann::json::parse(file.readAll().toStdString());
}

/// Converts a JSON list with one item per layer into rows. An array is a row, a single number a row of one value, and
/// null an empty row.
inline std::vector<std::vector<double>> rows(const nlohmann::json& values) {
    std::vector<std::vector<double>> rows;
    for (const nlohmann::json& layer : values)
        rows.push_back(layer.is_null()    ? std::vector<double>()
                       : layer.is_array() ? layer.get<std::vector<double>>()
                                          : std::vector{layer.get<double>()});
    return rows;
}

/// The folder of real models and texts for tests; empty if SECATEUR_TEST_DATA is not set.
inline QString realData() {
    return qEnvironmentVariable("SECATEUR_TEST_DATA");
}

/// The path at which scripts/fetch-demo-model.sh stores the demo model; empty if the model is not there.
inline QString demoModel() {
    const QString cache = qEnvironmentVariable("XDG_CACHE_HOME", QDir::homePath() + "/.cache");
    const QString path = cache + "/secateur/SmolLM2-135M-Instruct.Q4_1.gguf";
    return QFile::exists(path) ? path : QString();
}

} // namespace secateur::test
