#include "analysis/model/model.h"

#include "analysis/base/error.h"
#include "analysis/model/kernels.h"

#include <ATen/ATen.h>

namespace secateur {

at::Tensor Model::rows(int layer, WeightName which, std::span<const std::int64_t> indices) const {
    return tensor(layer, which).index_select(0, at::tensor(at::ArrayRef(indices.data(), indices.size())));
}

const Runner& Model::runner() const {
    throw Error("can be looked at, but not run", card().path);
}

const Kernels& Model::kernels() const {
    return plainKernels();
}

} // namespace secateur
