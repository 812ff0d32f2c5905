#pragma once

#include "analysis/masks/pruning_mask.h"
#include "backends/base/file_output.h"
#include "backends/export/exported_weights.h"
#include "backends/export/zeroed_numbers.h"
#include "backends/formats/tensor_slots.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// The numbers of a stored tensor that an export changes. A vector counts as one row.
struct WeightCut {
    const TensorEntry* entry = nullptr;
    std::vector<bool> rows = {};           ///< [rows] true = the whole row is set to 0; empty = no row
    std::vector<NumberRange> columns = {}; ///< numbers that are set to 0 in every row; in order, not adjacent
    /// Factors of a mask's compensation: of the columns [columns], or of the rows if isTransposed.
    std::vector<float> factors = {};
    /// Computes the numbers of the whole tensor in the order of the file, before the cut; empty = those of the file.
    std::function<std::vector<float>()> replacement = {};
    bool isTransposed = false;     ///< whether the tensor is stored as [in, out]
    std::vector<float> added = {}; ///< added to the numbers of a vector by a mask's compensation
    /// Written as float32, because canZero() does not allow the cut, or the changed numbers need it.
    bool isWidened = false;
    bool isMerged = false;    ///< whether the replacement contains the weights of an adapter
    bool isQuantised = false; ///< whether the replacement is written in the quantised type of the tensor

    bool isCompensated() const { return !factors.empty() || !added.empty() || replacement; }
    std::int64_t rowCount() const;
    std::int64_t rowBytes() const; ///< size in bytes of a stored row
};

/// A bias that an export adds to a checkpoint, float32.
struct AddedBias {
    std::string name;
    std::vector<float> values;
    const TensorEntry* beside = nullptr; ///< the projection's weight, in whose file the bias is stored
};

/// The numbers that a masked export sets to 0 (resources/manual/formats.md, Exports):
/// - for a cut head, its columns of the output projection;
/// - for a cut neuron, its row of the up projection and its bias;
/// - for a dropped sublayer, its last matrix and the bias;
/// and the numbers that a compensation multiplies, or adds to a bias that the model has, or that a compensation or an
/// adapter replaces. Replaced weights of dropped sublayers are left out. Sorted by place in the files.
/// @param changed the replaced weights, which must outlive the result; null = none
/// @throws Error naming tensors of a type that cannot be read, and tensors that share bytes with other tensors in use
std::vector<WeightCut> weightCuts(const TensorSlots& slots, const ModelSpec& spec, const PruningMask& mask,
                                  const ChangedWeights* changed = nullptr);

/// The biases of biasRoom() other than BiasRoom::own: those that a mask's compensation adds, and the zeros that come
/// with them. @param exported spec of the exported model, as withCompensationBiases() returns it
std::vector<AddedBias> addedBiases(const TensorSlots& slots, const TensorFinder& names, const ModelSpec& spec,
                                   const ModelSpec& exported, const PruningMask& mask);

/// A piece of an output file: the tensor of a cut with the cut numbers set to 0.
FilePiece pieceOf(const WeightCut& cut);

} // namespace secateur
