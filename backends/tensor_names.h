#pragma once

#include "analysis/model.h"
#include "backends/architectures.h"
#include "backends/checkpoint.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Names of the tensors of one checkpoint, from the patterns of its architecture and the prefix that the file uses.
class TensorNames {
public:
    TensorNames(const ArchitectureInfo& architecture, std::span<const TensorPattern> patterns,
                const Checkpoint& checkpoint);

    /// @param layer -1 for a tensor of no layer. Empty when the architecture has no such tensor.
    std::string name(int layer, Which which) const;

private:
    std::span<const TensorPattern> m_patterns;
    std::string_view m_prefix;
};

/// Whether a weight belongs to a layer rather than to the model as a whole.
bool isOfLayer(Which which);
/// Whether a model of this spec must have the tensor. Tied embeddings have no readOut of their own.
bool isRequired(const ModelSpec& spec, int layer, Which which);
/// The shape that the spec gives a tensor, [out, in] for a matrix.
std::vector<std::int64_t> expectedShape(const ModelSpec& spec, int layer, Which which);

} // namespace secateur
