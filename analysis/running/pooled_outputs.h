#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner.h"

#include <ATen/core/Tensor.h>

namespace secateur {

// For sources only: includes ATen.

/// The pooled outputs of an encoder without a head: [sequences, hidden], float64 on the CPU, in the order of the
/// sequences. @throws Cancelled
at::Tensor pooledOutputs(const Model& model, const Plan& plan, const PaddedBatches& batches, const Progress& progress);

} // namespace secateur
