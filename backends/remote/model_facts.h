#pragma once

#include "analysis/base/wire.h"
#include "analysis/model/model.h"
#include "analysis/model/model_card.h"
#include "analysis/running/runner.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A weight that a model has.
struct PlacedWeight {
    int layer = -1;
    WeightName name = WeightName::embedding;
    std::string place; ///< Model::place()
};

/// What a server says of a model when it opens it.
struct OpenedFacts {
    ModelCard card; ///< with its fingerprint
    std::vector<PlacedWeight> weights;
    std::string device; ///< Kernels::device()
};

/// What a server says of a plan.
struct PlanFacts {
    ComputeType type = ComputeType::automatic;
    std::string reason;
    bool isResident = true;
};

/// Numbers of a weight in the stored type.
struct TensorBytes {
    int type = 0;                    ///< number of the c10::ScalarType
    std::vector<std::int64_t> shape; ///< one or two dimensions
    std::string bytes;
};

/// The fingerprint in the bytes of OpenedFacts. @throws Error
inline std::string fingerprintIn(std::string_view opened) {
    return fromWire<OpenedFacts>(opened).card.fingerprint;
}

} // namespace secateur
