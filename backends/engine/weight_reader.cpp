#include "backends/engine/weight_reader.h"

#include "analysis/running/scalar_type.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace secateur {

WeightReader::WeightReader(const Model& model, int layer, const Conversion& conversion)
    : m_model(model)
    , m_layer(layer)
    , m_conversion(conversion) {}

at::ScalarType WeightReader::type() const {
    return scalarTypeOf(m_conversion.type);
}

at::Tensor WeightReader::weight(WeightName which) const {
    return m_model.tensor(m_layer, which);
}

at::Tensor WeightReader::vector(WeightName which) const {
    if (!m_model.has(m_layer, which))
        return {};
    return m_model.tensor(m_layer, which).to(m_conversion.device, at::kFloat);
}

Norm WeightReader::norm(WeightName which, std::optional<WeightName> biasOf, double scale) const {
    const ModelSpec& spec = m_model.spec();
    at::Tensor weight = vector(which);
    if (!weight.defined())
        return {};
    at::Tensor bias = biasOf ? vector(*biasOf) : at::Tensor();
    if (spec.normWeightOffset != 0)
        weight = weight + spec.normWeightOffset;
    if (scale != 1) {
        weight = weight * scale;
        bias = bias.defined() ? bias * scale : bias;
    }
    return {spec.norm, spec.normEpsilon, weight.contiguous(), bias.defined() ? bias.contiguous() : bias};
}

Linear WeightReader::linear(const std::vector<at::Tensor>& weights, const std::vector<at::Tensor>& biases,
                            double scale) {
    std::vector<at::Tensor> parts;
    for (const at::Tensor& weight : weights)
        parts.push_back(scale == 1 ? weight.to(m_conversion.device, type())
                                   : (weight.to(m_conversion.device, at::kFloat) * scale).to(type()));
    const at::Tensor whole = parts.size() == 1 ? parts.front() : at::cat(parts);
    Linear made;
    made.out = whole.size(0);
    made.in = whole.size(1);
    if (m_conversion.form == WeightForm::plain || whole.numel() == 0)
        made.weight = whole;
    else if (m_conversion.form == WeightForm::packed)
        made.packed = std::make_shared<PackedMatrix>(whole);
    else
        made.back = std::make_shared<PackedMatrix>(whole.t());
    const PackedMatrix* packed = made.packed ? made.packed.get() : made.back.get();
    m_bytes += packed ? packed->bytes() : whole.numel() * whole.element_size();
    if (std::ranges::none_of(biases, [](const at::Tensor& bias) { return bias.defined(); }))
        return made;
    std::vector<at::Tensor> all;
    for (std::size_t i = 0; i < biases.size(); ++i)
        all.push_back(biases[i].defined() ? biases[i]
                                          : at::zeros({parts[i].size(0)}, parts[i].options().dtype(at::kFloat)));
    made.bias = scale == 1 ? at::cat(all) : at::cat(all) * scale;
    return made;
}

} // namespace secateur
