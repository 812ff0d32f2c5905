#pragma once

#include "backends/engine/open_model.h"

#include <QtGlobal>

namespace secateur::test {

/// Options for opening a model on the device that the environment variable SECATEUR_TEST_DEVICE names; without it, on
/// the CPU.
inline OpenOptions onDevice(OpenOptions options = {}) {
    options.device = qEnvironmentVariable("SECATEUR_TEST_DEVICE", "cpu").toStdString();
    return options;
}

} // namespace secateur::test
