#pragma once

#include "tests/support/files.h"

#include <QList>
#include <QString>

#include <functional>

namespace secateur::test {

/// A damaged file and the error message that the user should read.
struct Corruption {
    QString reader;
    QString name;
    QString sentence;
    std::function<QString(const Scratch&)> said; ///< creates the file in a folder, opens it and returns the error
};

using Corruptions = QList<Corruption>;

Corruptions fileCorruptions(); ///< independent of the format
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
