#pragma once

#include "analysis/compensation/projection_fit.h"
#include "analysis/model/model.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner.h"

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace secateur {

// The sums from which the projections of a layer are fitted. For sources only: includes ATen.

/// The projections that can be compensated: the output projection of attention, and the down projection of an MLP.
enum class Projection { output, down };
inline constexpr std::array bothProjections{Projection::output, Projection::down};

/// A value for each projection.
template <typename Value>
struct OfProjections {
    std::array<Value, 2> values{};
    Value& operator[](Projection which) { return values[static_cast<std::size_t>(which)]; }
    const Value& operator[](Projection which) const { return values[static_cast<std::size_t>(which)]; }
};

/// The tokens of a batch in two parts: indices in [rows * positions], int64. Padding is in neither.
struct TokenParts {
    at::Tensor fitted;
    at::Tensor heldOut; ///< may have no element
};

/// Divides a text after a number of its tokens, in the order of its sequences. A sequence may be divided.
std::vector<TokenParts> tokenParts(const PaddedBatches& batches, std::span<const TokenSequence> sequences,
                                   std::int64_t fittedTokens);

/// What the projections of a layer add in the dense model, without their biases: [rows * positions, hidden], float32.
/// Undefined if the layer does not have the sublayer, or its attention has no heads.
using Targets = OfProjections<at::Tensor>;

/// Whether a layer under a mask has inputs of a projection that can be fitted.
bool canFit(const ModelSpec& spec, int layer, const LayerMask& mask, Projection which);

/// Runs a layer of the dense model. @param output receives the stream after the layer
Targets targetsOf(const Model& model, const Plan& dense, int layer, const at::Tensor& x, const Batch& batch,
                  at::Tensor& output);

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

/// Adds the sums of a batch under a plan. @param wanted the projections; canFit() must hold for them
void addSums(const Model& model, const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
             const TokenParts& tokens, const Targets& targets, std::span<const Projection> wanted,
             OfProjections<SumParts>& sums);

/// Empty sums for the kept columns of a mask. @throws Error if the fit needs more memory than Runner::freeBytes()
SumParts emptySums(const Model& model, int layer, const LayerMask& mask, Projection which, at::Device device);

/// The compensation of a layer in which one projection is replaced by a fitted one. The other stays as it is. A
/// replaced weight is without the update of an adapter, which the model adds to it.
LayerCompensation withFitted(const Model& model, int layer, const LayerMask& mask, Projection which,
                             CompensationMode mode, const FittedProjection& fitted);

} // namespace secateur
