#pragma once

#include "analysis/model/kernels.h"

#include <memory>
#include <string>

namespace secateur {

/// The kernels of this machine under the name of the server's device, where the jobs run.
class RemoteKernels : public Kernels {
public:
    explicit RemoteKernels(std::string device);

    std::string device() const override { return m_device; }
    std::span<const Precision> precisions() const override;
    Rows rows(const at::Tensor& source, const at::Tensor& gain, std::int64_t blockRows, std::int64_t repeats,
              Precision precision) const override;
    at::Tensor product(const at::Tensor& a, const at::Tensor& b) const override;
    at::Tensor innerProducts(const at::Tensor& a, const at::Tensor& b) const override;
    at::Tensor columnSquares(const at::Tensor& weight) const override;
    double squaredNormOfProduct(const Rows& a, const Rows& b, const std::function<void()>& between) const override;

private:
    std::string m_device;
};

} // namespace secateur
