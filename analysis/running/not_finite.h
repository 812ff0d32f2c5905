#pragma once

#include "analysis/base/progress.h"
#include "analysis/running/batch.h"

#include <span>
#include <string>

namespace at {
class Tensor;
}

namespace secateur {

class Model;
class Plan;

/// Whether a tensor holds neither NaN nor infinite numbers.
bool isFinite(const at::Tensor& values);

/// Says where the numbers of a run stop being finite: names the embeddings, the layer or the output head, and the weights
/// there that hold NaN or infinite numbers, as in "the output of layer 3 is the first that is not finite:
/// model.safetensors: model.layers.3.mlp.up_proj.weight holds 1 NaN and 0 infinite numbers". Runs the batches again, up
/// to the first with such numbers.
/// @returns empty if all outputs of layers and the weights of the output head are finite @throws Cancelled
std::string notFiniteText(const Model& model, const Plan& plan, std::span<const Batch> batches,
                          const Progress& progress = {});

} // namespace secateur
