#pragma once

#include "backends/config/architectures.h"

namespace secateur {

// Names of tensors in each file format ("Tensor names" in resources/manual/architecture.md).

TensorPatterns llamaTensors();
TensorPatterns deciTensors();
TensorPatterns gemmaTensors();
TensorPatterns phiTensors();
TensorPatterns gpt2Tensors();
TensorPatterns bertTensors(); ///< for BERT and RoBERTa
TensorPatterns albertTensors();
TensorPatterns ggufTensors(); ///< for all architectures

} // namespace secateur
