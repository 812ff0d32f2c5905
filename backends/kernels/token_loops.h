#pragma once

#include "analysis/model/token_kernels.h"

namespace secateur {

/// By this processor's loops, each number read once.
const TokenKernels& machineTokenKernels();

} // namespace secateur
