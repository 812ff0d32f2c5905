#pragma once

#include "analysis/base/wire.h"
#include "analysis/weights/stored_tensors.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// What a server says of the tensors of a checkpoint.
struct TensorsFacts {
    std::vector<StoredTensor> tensors;
    std::optional<ModelSpec> spec;
    std::vector<std::string> warnings;
};

/// A grid of a checkpoint's tensor: a plane of it, or a weight of the model.
struct GridName {
    std::string path; ///< of the checkpoint
    std::size_t tensor = 0;
    TensorPlane plane = TensorPlane::values;
    std::optional<std::size_t> part; ///< index in StoredTensor::parts; empty = the plane
};

/// What a server says of a grid.
struct GridFacts {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    int symbolParts = 0;
    int symbolKinds = 0;
    std::vector<float> symbolNumbers;
    std::string subject;
};

} // namespace secateur
