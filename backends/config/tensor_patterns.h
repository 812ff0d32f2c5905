#pragma once

#include "backends/config/architectures.h"

namespace secateur {

// Names of the tensors of each kind of checkpoint ("Tensor names" in resources/manual/architecture.md).

TensorPatterns llamaTensors();
TensorPatterns gemmaTensors();
TensorPatterns phiTensors();
TensorPatterns gpt2Tensors();
TensorPatterns bertTensors(); ///< and RoBERTa's
TensorPatterns albertTensors();
TensorPatterns ggufTensors(); ///< of every architecture

} // namespace secateur
