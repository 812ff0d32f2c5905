#pragma once

#include "analysis/model/model.h"
#include "analysis/weights/number_grid.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A weight of the model that a stored tensor holds: the whole tensor, or some rows of a fused matrix.
struct TensorPart {
    int layer = -1; ///< the first layer that uses it; -1 = outside of the layers
    WeightName weight = WeightName::embedding;
    std::int64_t begin = 0;  ///< index of the weight's first row in the tensor; of its first column if `transposed`
    std::int64_t rows = 0;   ///< rows of the weight as [out, in]
    bool transposed = false; ///< whether the tensor is stored as [in, out]
    int pairedHeads = 0;     ///< heads whose rotary rows are stored in pairs (GGUF); 0 = stored in halves
    double offset = 0;       ///< 1 if the tensor is stored as 1 + w
};

/// A tensor of a checkpoint as its file stores it.
struct StoredTensor {
    std::string name;                ///< in the file: "model.layers.3.mlp.up_proj.weight"
    std::string type;                ///< "BF16", "Q4_1"
    std::vector<std::int64_t> shape; ///< slowest dimension first
    std::int64_t bytes = 0;
    std::string file;               ///< name of the file, without its folder
    bool isReadable = true;         ///< false = the numbers of its type cannot be decoded
    bool hasScales = false;         ///< whether the type is quantised in blocks with a scale
    bool hasMinima = false;         ///< whether the blocks have a minimum too
    std::int64_t scaleElements = 0; ///< numbers of a row that share one scale; 0 = no scales
    std::vector<TensorPart> parts;  ///< weights of the model; empty = none, or the architecture is not known

    std::int64_t elements() const;
    /// The tensor as a matrix: all dimensions but the last one are rows. A vector is one row.
    std::int64_t rows() const;
    std::int64_t columns() const;
};

/// Which numbers of a tensor.
enum class TensorPlane {
    values, ///< [rows, columns], decoded
    scales, ///< the scale of each block: [rows, columns / scaleElements]
    minima, ///< the number that code 0 stands for in each block, where the type has minima
};
std::string_view name(TensorPlane plane); ///< "values", "scales", "minima"

/// One number of a tensor, as it is stored and decoded.
struct StoredNumber {
    double value = 0;       ///< decoded, exact; integers above 2^53 are rounded
    std::string bits;       ///< "0x3c00"; empty for quantised types
    int code = 0;           ///< quantised types: the stored number, as a signed level where the type has no minimum
    double scale = 0;       ///< quantised types: of the number's block; value = scale * code + minimum
    double minimum = 0;     ///< quantised types; 0 if the type has none
    std::int64_t block = 0; ///< quantised types: index of the block of scaleElements numbers in the row
};

/// The tensors of a checkpoint as its files store them. The files are mapped; numbers are read when they are needed.
/// Immutable: any thread may call its functions.
class StoredTensors {
public:
    virtual ~StoredTensors() = default;

    virtual const std::string& path() const = 0;
    /// All tensors, in natural order of their names ("blk.2" precedes "blk.10").
    virtual const std::vector<StoredTensor>& tensors() const = 0;
    /// The architecture; absent if it is not known. Then no tensor has parts.
    virtual const std::optional<ModelSpec>& spec() const = 0;
    /// Sentences about the configuration, for example why the architecture is not known.
    virtual const std::vector<std::string>& warnings() const = 0;
    /// A plane of a tensor. The grid may outlive this object. @throws Error if the type cannot be decoded or has no
    /// such plane
    virtual std::shared_ptr<const NumberGrid> grid(std::size_t tensor,
                                                   TensorPlane plane = TensorPlane::values) const = 0;
    /// A weight of the model as [out, in] in the form of Model::tensor(): without fusion, transposition, rotary pairs
    /// and offset. @param part index in StoredTensor::parts @throws Error if the type cannot be decoded
    virtual std::shared_ptr<const NumberGrid> weightGrid(std::size_t tensor, std::size_t part) const = 0;
    /// One number. @throws Error if the type cannot be decoded, or the file was truncated
    virtual StoredNumber number(std::size_t tensor, std::int64_t row, std::int64_t column) const = 0;

    /// The index of the tensor with this name; absent if there is none.
    std::optional<std::size_t> find(std::string_view name) const;
};

/// A stored number as text: "0x3c00", or "code 7, scale 0.0123, minimum -0.02".
std::string storedText(const StoredTensor& tensor, const StoredNumber& number);

} // namespace secateur
