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

/// Where the numbers of a run stop being finite.
struct NotFinite {
    /// Names the embedding, the layer or the output head, and the weights there that hold NaN or infinite numbers, as
    /// in "the output of layer 3 is the first that is not finite: model.safetensors: model.layers.3.mlp.up_proj.weight
    /// holds 1 NaN and 0 infinite numbers". Empty if all outputs of layers and the weights of the output head are
    /// finite.
    std::string text = {};
    int layer = 0; ///< the first whose output is not finite; -1 = the embedding; the number of layers = none
};

/// Runs batches again, up to the first with numbers that are not finite. @throws Cancelled
NotFinite findNotFinite(const Model& model, const Plan& plan, std::span<const Batch> batches,
                        const Progress& progress = {});

/// NotFinite::text as the end of an error message, after "; ". Empty if the text is. @throws Cancelled
std::string notFiniteClause(const Model& model, const Plan& plan, std::span<const Batch> batches,
                            const Progress& progress = {});

} // namespace secateur
