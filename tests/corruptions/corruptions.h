#pragma once

#include "tests/support/files.h"

#include <QList>
#include <QString>

#include <functional>

namespace secateur::test {

/// A file that is wrong on purpose, and the sentence that a person should read.
struct Corruption {
    QString reader;
    QString name;
    QString sentence;
    std::function<QString(const Scratch&)> said; ///< makes the file in a folder, opens it, and returns the refusal
};

using Corruptions = QList<Corruption>;

Corruptions fileCorruptions(); ///< of files as such, whatever they hold
Corruptions safetensorsCorruptions();
Corruptions indexCorruptions();
Corruptions configCorruptions();
Corruptions ggufCorruptions();
Corruptions splitCorruptions();
Corruptions maskCorruptions();
Corruptions pytorchCorruptions();
Corruptions sessionCorruptions();
Corruptions sessionRunCorruptions();
Corruptions predictionCorruptions();
Corruptions tokenizerCorruptions();

} // namespace secateur::test
