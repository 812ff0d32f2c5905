#include "backends/session/mask_compensation.h"

#include "analysis/base/error.h"
#include "analysis/base/replaceable.h"
#include "backends/base/mapped_file.h"
#include "backends/base/sha256.h"
#include "backends/formats/checkpoint.h"
#include "backends/formats/hf_weights.h"
#include "backends/formats/safetensors_bytes.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

namespace secateur {

namespace {

/// A kind of tensor. Either `values` or `weight` is set.
struct TensorKind {
    std::string_view name;
    std::vector<float> LayerCompensation::* values = nullptr;
    SharedWeight LayerCompensation::* weight = nullptr;
};

constexpr std::array tensorKinds{
    TensorKind{.name = "attention_bias", .values = &LayerCompensation::attentionBias},
    TensorKind{.name = "down_weight", .weight = &LayerCompensation::downWeight},
    TensorKind{.name = "head_scale", .values = &LayerCompensation::headScale},
    TensorKind{.name = "mlp_bias", .values = &LayerCompensation::mlpBias},
    TensorKind{.name = "neuron_scale", .values = &LayerCompensation::neuronScale},
    TensorKind{.name = "o_weight", .weight = &LayerCompensation::outputWeight},
};

/// The layer and the kind of a tensor's name, such as layers.3.head_scale. Empty if the name has another form.
std::optional<std::pair<int, TensorKind>> partsOfName(std::string_view name) {
    constexpr std::string_view begin = "layers.";
    const std::size_t dot = name.find('.', begin.size());
    if (!name.starts_with(begin) || dot == std::string_view::npos)
        return {};
    int layer = -1;
    const char* const last = name.data() + dot;
    const auto [end, failure] = std::from_chars(name.data() + begin.size(), last, layer);
    const auto kind = std::ranges::find(tensorKinds, name.substr(dot + 1), &TensorKind::name);
    if (failure != std::errc() || end != last || layer < 0 || kind == tensorKinds.end())
        return {};
    return std::pair{layer, *kind};
}

/// The kind and layer of a tensor of this mask. @throws Error if the name has another form or names another layer
std::pair<int, TensorKind> checkedName(const std::string& name, const PruningMask& mask) {
    const auto parts = partsOfName(name);
    if (!parts)
        throw Error("is not a tensor of a compensation: these are layers.N. followed by attention_bias, down_weight, "
                    "head_scale, mlp_bias, neuron_scale or o_weight",
                    name);
    if (parts->first >= mask.layerCount())
        throw Error(fmt::format("the model has {} layers", mask.layerCount()), name);
    if (const int first = mask.tiedTo(parts->first).front(); first != parts->first)
        throw Error(fmt::format("layer {} shares the weights of layer {}, which alone is named", parts->first, first),
                    name);
    return *parts;
}

/// A pointer to values that live longer than it.
SharedWeight unowned(const std::vector<float>& values) {
    return {SharedWeight(), &values};
}

/// The rows of a weight of a layer. That of a linear attention is square.
std::int64_t rowsOf(const std::vector<float>& weight, std::string_view kind, const LayerSpec& layer) {
    const std::int64_t size = std::ssize(weight);
    const std::int64_t columns = kind == "down_weight" ? layer.ffn : std::int64_t{layer.heads} * layer.headDim;
    return layer.attention == AttentionKind::linear && kind == "o_weight"
               ? std::llround(std::sqrt(static_cast<double>(size)))
               : size / columns;
}

} // namespace

CompensationTensors compensationTensors(const PruningMask& mask) {
    CompensationTensors tensors;
    const ModelSpec spec = specOf(mask.architecture(), mask.structure());
    for (int index = 0; index < mask.layerCount(); ++index) {
        const LayerCompensation& own = compensationOf(mask.layer(index));
        if (mask.tiedTo(index).front() != index)
            continue;
        for (const TensorKind& kind : tensorKinds) {
            const std::string name = fmt::format("layers.{}.{}", index, kind.name);
            if (kind.values && !(own.*kind.values).empty())
                tensors.emplace(name, CompensationTensor{unowned(own.*kind.values)});
            if (kind.weight && own.*kind.weight)
                tensors.emplace(
                    name, CompensationTensor{own.*kind.weight, rowsOf(*(own.*kind.weight), kind.name,
                                                                      spec.layers[static_cast<std::size_t>(index)])});
        }
    }
    return tensors;
}

void addCompensation(PruningMask& mask, const CompensationTensors& tensors, const ModelSpec& spec) {
    std::map<int, LayerCompensation> layers;
    std::int64_t hidden = spec.hidden; // 0 if only the structure is known
    for (const auto& [name, tensor] : tensors) {
        const auto [layer, kind] = checkedName(name, mask);
        if (tensor.values->empty())
            throw Error("has no numbers", name);
        if ((kind.weight != nullptr) != (tensor.rows > 0))
            throw Error(kind.weight ? "is a vector; expected a matrix" : "is a matrix; expected a vector", name);
        const bool isBias = kind.name.ends_with("bias");
        const std::int64_t found = kind.weight ? tensor.rows : isBias ? tensor.columns() : 0;
        if (found > 0 && hidden == 0)
            hidden = found;
        if (found > 0 && found != hidden)
            throw Error(fmt::format("expected {} {}, found {}", hidden, kind.weight ? "rows" : "numbers", found), name);
        if (kind.weight)
            layers[layer].*kind.weight = tensor.values;
        else
            layers[layer].*kind.values = *tensor.values;
    }
    for (auto& [layer, compensation] : layers) {
        LayerMask own = mask.layer(layer);
        own.compensation = std::make_shared<const LayerCompensation>(std::move(compensation));
        mask.setLayer(layer, std::move(own));
    }
    mask.checkFits(spec);
}

std::string_view compensationMode(const PruningMask& mask) {
    bool hasScale = false;
    bool hasBias = false;
    bool hasWeight = false;
    for (int index = 0; index < mask.layerCount(); ++index) {
        const LayerCompensation& own = compensationOf(mask.layer(index));
        hasScale = hasScale || !own.headScale.empty() || !own.neuronScale.empty();
        hasBias = hasBias || !own.attentionBias.empty() || !own.mlpBias.empty();
        hasWeight = hasWeight || own.outputWeight || own.downWeight;
    }
    if (hasWeight)
        return "weights";
    return hasScale && hasBias ? "both" : hasScale ? "scale" : "bias";
}

std::string compensationBytes(const PruningMask& mask) {
    if (!mask.isCompensated())
        return {};
    const CompensationTensors tensors = compensationTensors(mask);
    std::map<std::string, FloatTensor> written;
    for (const auto& [name, tensor] : tensors)
        written[name] = {tensor.rows > 0 ? std::vector{tensor.rows, tensor.columns()} : std::vector{tensor.columns()},
                         *tensor.values};
    return safetensorsBytes(written, {{"format", std::string(compensationMark)}});
}

std::string compensationSum(const PruningMask& mask) {
    const std::string bytes = compensationBytes(mask);
    Sha256 sum;
    sum.add(bytes.data(), bytes.size());
    return sum.hexadecimal();
}

CompensationTensors readCompensationTensors(const std::string& path, std::span<const std::byte> bytes) {
    if (bytes.empty() || std::cmp_greater(bytes.size(), mostCompensationBytes))
        throw Error(fmt::format("is {} bytes long; 1 to {} are read", bytes.size(), mostCompensationBytes), path);
    CompensationTensors tensors;
    for (const TensorEntry& entry : safetensorsEntries(MappedFile::inMemory(path, {bytes.begin(), bytes.end()}))) {
        constexpr std::array<std::string_view, 3> types{"F32", "F16", "BF16"};
        if (std::ranges::find(types, entry.type->name) == types.end())
            throw Error(fmt::format("is stored as {}; expected {}", entry.type->name, fmt::join(types, ", ")),
                        entry.subject());
        if (entry.shape.size() != 1 && entry.shape.size() != 2)
            throw Error("has the shape " + shapeText(entry.shape) + "; expected a vector or a matrix", entry.subject());
        const at::Tensor values = readTensor(entry).to(at::kFloat).contiguous();
        const float* const first = values.data_ptr<float>();
        tensors.emplace(entry.name,
                        CompensationTensor{std::make_shared<const std::vector<float>>(first, first + values.numel()),
                                           entry.shape.size() == 2 ? entry.shape[0] : 0});
    }
    if (tensors.empty())
        throw Error("has no tensors", path);
    return tensors;
}

} // namespace secateur
