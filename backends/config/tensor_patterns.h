#pragma once

#include "backends/config/architectures.h"

namespace secateur {

// Names of the tensors of each kind of checkpoint (architectures.md 1.1 to 1.3, 1.8 and 2).

TensorPatterns llamaTensors();
TensorPatterns gemmaTensors();
TensorPatterns phiTensors();
TensorPatterns gpt2Tensors();
TensorPatterns bertTensors(); ///< and RoBERTa's
TensorPatterns albertTensors();
TensorPatterns ggufTensors(); ///< of every architecture

} // namespace secateur
