#pragma once

#include "analysis/compensation/projection_fit.h"
#include "analysis/model/model.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

// The sums from which the projections of a layer are fitted. For sources only: includes ATen.

/// The projections that can be compensated: the output projection of attention, and the down projection of an MLP.
enum class Projection { output, down };

/// The tokens of a batch in two parts: indices in [rows * positions], int64. Padding is in neither.
struct TokenParts {
    at::Tensor fitted;
    at::Tensor heldOut; ///< may have no element
};

/// Divides a text after a number of its tokens, in the order of its sequences. A sequence may be divided.
std::vector<TokenParts> tokenParts(const PaddedBatches& batches, std::span<const TokenSequence> sequences,
                                   std::int64_t fittedTokens);

/// Whether a layer under a mask has inputs of a projection that can be fitted.
bool canFit(const ModelSpec& spec, int layer, const LayerMask& mask, Projection which);

/// A mask in which the sublayer of a projection is whole and not compensated, so that a run shows the inputs of all its
/// units and what it should add. With whole attention the MLP of the layer, which nothing reads, is dropped.
PruningMask withWholeSublayer(PruningMask mask, const ModelSpec& spec, int layer, Projection which);

/// The columns of a projection that a mask keeps. int64
at::Tensor keptColumns(const ModelSpec& spec, int layer, const LayerMask& mask, Projection which);
/// The weight of the model in these columns, [hidden, columns], float64.
at::Tensor columnsOf(const Model& model, int layer, Projection which, const at::Tensor& columns, at::Device device);
/// Number of successive columns of a unit.
std::int64_t unitColumns(const ModelSpec& spec, int layer, Projection which);

/// Sums over the tokens of a text, for the kept columns.
struct SumParts {
    FitSums fitted;
    FitSums heldOut;
};

/// The bias of a projection as it acts under a mask: the alpha of a bypass multiplies it. [hidden] float64, on the CPU;
/// undefined if the model has none
at::Tensor biasUnder(const Model& model, int layer, Projection which, const LayerMask& mask);

/// Adds the sums of a batch: of the inputs that the mask keeps, and of the outputs of the whole sublayer for the same
/// stream x, without biasUnder(). @param whole plan of withWholeSublayer() @param mask canFit() must hold
void addSums(const Model& model, const Plan& whole, int layer, Projection which, const LayerMask& mask,
             const at::Tensor& x, const Batch& batch, const TokenParts& tokens, SumParts& sums);

/// Empty sums for the kept columns of a mask. @throws Error if the fit needs more memory than Runner::freeBytes()
SumParts emptySums(const Model& model, int layer, const LayerMask& mask, Projection which, at::Device device);

/// The compensation of a layer in which one projection is replaced by a fitted one. The other stays as it is. A
/// replaced weight is without the update of an adapter, which the model adds to it.
LayerCompensation withFitted(const Model& model, int layer, const LayerMask& mask, Projection which,
                             CompensationMode mode, const FittedProjection& fitted);

} // namespace secateur
