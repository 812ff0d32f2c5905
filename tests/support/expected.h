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

/// tests/data, where make_fixtures.py wrote.
inline QDir data() {
    return QDir(SECATEUR_TEST_SOURCES);
}

inline nlohmann::json readJson(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        throw std::runtime_error("cannot read " + path.toStdString());
    return nlohmann::json::parse(file.readAll().toStdString());
}

/// One list of cells per layer; a plain number is a list of one, null a list of none.
inline std::vector<std::vector<double>> rows(const nlohmann::json& values) {
    std::vector<std::vector<double>> rows;
    for (const nlohmann::json& layer : values)
        rows.push_back(layer.is_null()    ? std::vector<double>()
                       : layer.is_array() ? layer.get<std::vector<double>>()
                                          : std::vector{layer.get<double>()});
    return rows;
}

/// The folder of real models that tests may use, empty when there is none.
inline QString realData() {
    return qEnvironmentVariable("SECATEUR_TEST_DATA");
}

/// The demo model where scripts/fetch-demo-model.sh keeps it, empty when it was not fetched.
inline QString demoModel() {
    const QString cache = qEnvironmentVariable("XDG_CACHE_HOME", QDir::homePath() + "/.cache");
    const QString path = cache + "/secateur/SmolLM2-135M-Instruct.Q4_1.gguf";
    return QFile::exists(path) ? path : QString();
}

} // namespace secateur::test
