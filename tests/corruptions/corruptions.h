#pragma once

#include "tests/support/files.h"

#include <QList>
#include <QString>

#include <functional>

namespace secateur::test {

/// A damaged file and the error message that the user must see for it.
struct Corruption {
    QString reader;
    QString name;
    QString sentence;
    std::function<QString(const Scratch&)> said; ///< writes the file to a folder, opens it and returns the message
};

using Corruptions = QList<Corruption>;

Corruptions fileCorruptions(); ///< faults that any format can have, such as a missing file
Corruptions safetensorsCorruptions();
Corruptions indexCorruptions();
Corruptions configCorruptions();
Corruptions ggufCorruptions();
Corruptions splitCorruptions();
Corruptions maskCorruptions();
Corruptions compensationCorruptions();
Corruptions pytorchCorruptions();
Corruptions sessionCorruptions();
Corruptions sessionRunCorruptions();
Corruptions sessionCurveCorruptions();
Corruptions predictionCorruptions();
Corruptions tokenizerCorruptions();

} // namespace secateur::test
