#pragma once

#include "analysis/model/kernels.h"
#include "analysis/model/model.h"

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <utility>

namespace secateur::test {

/// A model in memory whose layers all have the same shape. It has only the tensors that a test sets.
class TinyModel : public Model {
public:
    TinyModel(const LayerSpec& layer, int hidden, std::size_t layers = 1) {
        m_card.spec.hidden = hidden;
        m_card.spec.layers.assign(layers, layer);
    }
    void set(WeightName which, at::Tensor values) { set(0, which, std::move(values)); }
    void set(int layer, WeightName which, at::Tensor values) {
        m_tensors.insert_or_assign(std::pair(layer, which), std::move(values));
    }
    LayerSpec& layer() { return m_card.spec.layers.front(); }
    void multiplyBy(const Kernels& kernels) { m_kernels = &kernels; }

    const ModelCard& card() const override { return m_card; }
    bool has(int layer, WeightName which) const override { return m_tensors.contains(std::pair(layer, which)); }
    at::Tensor tensor(int layer, WeightName which) const override { return m_tensors.at(std::pair(layer, which)); }
    std::string place(int, WeightName which) const override { return "weight " + std::to_string(static_cast<int>(which)); }
    std::string fingerprint() const override { return "sha256:0"; }
    const Kernels& kernels() const override { return *m_kernels; }

private:
    ModelCard m_card;
    std::map<std::pair<int, WeightName>, at::Tensor> m_tensors;
    const Kernels* m_kernels = &plainKernels();
};

} // namespace secateur::test
