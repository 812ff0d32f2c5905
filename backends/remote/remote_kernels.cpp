#include "backends/remote/remote_kernels.h"

#include "analysis/model/rows.h"

#include <utility>

namespace secateur {

RemoteKernels::RemoteKernels(std::string device)
    : m_device(std::move(device)) {}

std::span<const Precision> RemoteKernels::precisions() const {
    return plainKernels().precisions();
}

Rows RemoteKernels::rows(const at::Tensor& source, const at::Tensor& gain, std::int64_t blockRows, std::int64_t repeats,
                         Precision precision) const {
    return plainKernels().rows(source, gain, blockRows, repeats, precision);
}

at::Tensor RemoteKernels::product(const at::Tensor& a, const at::Tensor& b) const {
    return plainKernels().product(a, b);
}

at::Tensor RemoteKernels::innerProducts(const at::Tensor& a, const at::Tensor& b) const {
    return plainKernels().innerProducts(a, b);
}

at::Tensor RemoteKernels::columnSquares(const at::Tensor& weight) const {
    return plainKernels().columnSquares(weight);
}

double RemoteKernels::squaredNormOfProduct(const Rows& a, const Rows& b, const std::function<void()>& between) const {
    return plainKernels().squaredNormOfProduct(a, b, between);
}

} // namespace secateur
