#pragma once

#include "app/window/window_services.h"
#include "backends/remote/remote_services.h"
#include "tests/support/files.h"

#include <QDir>
#include <QFileInfo>

#include <string>

namespace secateur::test {

/// The command that starts a server with the command line of this build.
inline std::string serverCommand() {
    return std::string(SECATEUR_CLI) + " serve --threads 1";
}

/// A small model with a tokenizer of single characters, in a folder of the scratch.
inline QString writeSmallModel(const Scratch& scratch) {
    const QString source = SECATEUR_TEST_SOURCES "/forward/llama-gqa/";
    const QString tokenizer = SECATEUR_TEST_SOURCES "/perplexity/adds-bos/";
    QDir(scratch.path()).mkpath("small");
    for (const QString& file : {source + "config.json", source + "model.safetensors", tokenizer + "tokenizer.json",
                                tokenizer + "tokenizer_config.json"})
        QFile::copy(file, scratch.path("small/" + QFileInfo(file).fileName()));
    return scratch.path("small");
}

/// A text of words that the tokenizer of the small model knows.
inline QByteArray smallText() {
    QByteArray text;
    for (int i = 0; i < 60; ++i)
        text += QByteArrayList{"the sand ", "a tin hotel ", "he - robots ", "21 "}[i % 4] + "\n\n";
    return text;
}

/// Questions about these words.
inline QByteArray smallQuestions() {
    QByteArray rows;
    for (int i = 0; i < 12; ++i)
        rows += "{\"query\":\"the " + QByteArray(i % 2 ? "sand" : "tin") +
                "\",\"choices\":[\"hotel\",\"a\",\"robots\"],\"gold\":" + QByteArray::number(i % 3) + "}\n";
    return rows;
}

} // namespace secateur::test
