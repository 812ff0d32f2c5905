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

/// tests/data, which holds the files that make_fixtures.py wrote.
inline QDir data() {
    return QDir(SECATEUR_TEST_SOURCES);
}

inline nlohmann::json readJson(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        throw std::runtime_error("cannot read " + path.toStdString());
    return nlohmann::json::parse(file.readAll().toStdString());
}

/// One row per layer of the JSON list: an array as it is, a single number as a row of one, null as an empty row.
inline std::vector<std::vector<double>> rows(const nlohmann::json& values) {
    std::vector<std::vector<double>> rows;
    for (const nlohmann::json& layer : values)
        rows.push_back(layer.is_null()    ? std::vector<double>()
                       : layer.is_array() ? layer.get<std::vector<double>>()
                                          : std::vector{layer.get<double>()});
    return rows;
}

/// The folder of real models that tests may read; empty if SECATEUR_TEST_DATA is not set.
inline QString realData() {
    return qEnvironmentVariable("SECATEUR_TEST_DATA");
}

/// The demo model where scripts/fetch-demo-model.sh puts it; empty if it was not fetched.
inline QString demoModel() {
    const QString cache = qEnvironmentVariable("XDG_CACHE_HOME", QDir::homePath() + "/.cache");
    const QString path = cache + "/secateur/SmolLM2-135M-Instruct.Q4_1.gguf";
    return QFile::exists(path) ? path : QString();
}

} // namespace secateur::test
