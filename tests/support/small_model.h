#pragma once

#include <QFile>
#include <QFileInfo>
#include <QString>

namespace secateur::test {

/// Copies a small model of tests/data/forward, and a tokenizer whose tokens are single characters, to an existing
/// folder. Returns the folder.
inline QString writeSmallModel(const QString& folder) {
    const QString model = SECATEUR_TEST_SOURCES "/forward/llama-gqa/";
    const QString tokenizer = SECATEUR_TEST_SOURCES "/perplexity/adds-bos/";
    for (const QString& file : {model + "config.json", model + "model.safetensors", tokenizer + "tokenizer.json",
                                tokenizer + "tokenizer_config.json"})
        QFile::copy(file, folder + "/" + QFileInfo(file).fileName());
    return folder;
}

} // namespace secateur::test
