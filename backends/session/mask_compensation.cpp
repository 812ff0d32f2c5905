#include "backends/session/mask_compensation.h"

#include "analysis/base/error.h"
#include "analysis/base/replaceable.h"
#include "backends/base/mapped_file.h"
#include "backends/base/sha256.h"
#include "backends/formats/checkpoint.h"
#include "backends/formats/hf_weights.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace secateur {

namespace {

struct VectorKind {
    std::string_view name;
    std::vector<float> LayerCompensation::*values;
};

constexpr std::array vectorKinds{
    VectorKind{"attention_bias", &LayerCompensation::attentionBias},
    VectorKind{"head_scale", &LayerCompensation::headScale},
    VectorKind{"mlp_bias", &LayerCompensation::mlpBias},
    VectorKind{"neuron_scale", &LayerCompensation::neuronScale},
};

/// The layer and the kind of a vector's name, such as layers.3.head_scale. Empty if the name has another form.
std::optional<std::pair<int, VectorKind>> partsOfName(std::string_view name) {
    constexpr std::string_view begin = "layers.";
    const std::size_t dot = name.find('.', begin.size());
    if (!name.starts_with(begin) || dot == std::string_view::npos)
        return {};
    int layer = -1;
    const char* const last = name.data() + dot;
    const auto [end, failure] = std::from_chars(name.data() + begin.size(), last, layer);
    const auto kind = std::ranges::find(vectorKinds, name.substr(dot + 1), &VectorKind::name);
    if (failure != std::errc() || end != last || layer < 0 || kind == vectorKinds.end())
        return {};
    return std::pair{layer, *kind};
}

/// The kind and layer of a vector of this mask. @throws Error if the name has another form or names another layer
std::pair<int, VectorKind> checkedName(const std::string& name, const PruningMask& mask) {
    const auto parts = partsOfName(name);
    if (!parts)
        throw Error("is not a vector of a compensation: these are layers.N. followed by attention_bias, head_scale, "
                    "mlp_bias or neuron_scale",
                    name);
    if (parts->first >= mask.layerCount())
        throw Error(fmt::format("the model has {} layers", mask.layerCount()), name);
    if (const int first = mask.tiedTo(parts->first).front(); first != parts->first)
        throw Error(fmt::format("layer {} shares the weights of layer {}, which alone is named", parts->first, first),
                    name);
    return *parts;
}

template <typename Number>
void appendNumber(std::string& bytes, Number number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

} // namespace

CompensationVectors compensationVectors(const PruningMask& mask) {
    CompensationVectors vectors;
    for (int index = 0; index < mask.layerCount(); ++index) {
        const LayerCompensation& own = compensationOf(mask.layer(index));
        if (mask.tiedTo(index).front() != index)
            continue;
        for (const VectorKind& kind : vectorKinds)
            if (!(own.*kind.values).empty())
                vectors.emplace(fmt::format("layers.{}.{}", index, kind.name), own.*kind.values);
    }
    return vectors;
}

void addCompensation(PruningMask& mask, const CompensationVectors& vectors, const ModelSpec& spec) {
    std::map<int, LayerCompensation> layers;
    std::size_t hidden = static_cast<std::size_t>(spec.hidden); // 0 if only the structure is known
    for (const auto& [name, values] : vectors) {
        const auto [layer, kind] = checkedName(name, mask);
        if (values.empty())
            throw Error("has no numbers", name);
        const bool isBias = kind.name.ends_with("bias");
        if (isBias && hidden == 0)
            hidden = values.size();
        if (isBias && values.size() != hidden)
            throw Error(fmt::format("expected {} numbers, found {}", hidden, values.size()), name);
        layers[layer].*kind.values = values;
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
    for (int index = 0; index < mask.layerCount(); ++index) {
        const LayerCompensation& own = compensationOf(mask.layer(index));
        hasScale = hasScale || !own.headScale.empty() || !own.neuronScale.empty();
        hasBias = hasBias || !own.attentionBias.empty() || !own.mlpBias.empty();
    }
    return hasScale && hasBias ? "both" : hasScale ? "scale" : "bias";
}

std::string compensationBytes(const PruningMask& mask) {
    if (!mask.isCompensated())
        return {};
    const CompensationVectors vectors = compensationVectors(mask);
    std::string header = fmt::format(R"({{"__metadata__":{{"format":"{}"}})", compensationMark);
    std::size_t end = 0;
    for (const auto& [name, values] : vectors) {
        const std::size_t begin = std::exchange(end, end + values.size() * sizeof(float));
        header += fmt::format(R"(,"{}":{{"dtype":"F32","shape":[{}],"data_offsets":[{},{}]}})", name, values.size(),
                              begin, end);
    }
    header += "}";
    header.resize((header.size() + 7) / 8 * 8, ' '); // aligned as by the safetensors library
    std::string bytes;
    appendNumber(bytes, static_cast<std::uint64_t>(header.size()));
    bytes += header;
    for (const auto& [_, values] : vectors)
        bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    return bytes;
}

std::string compensationSum(const PruningMask& mask) {
    const std::string bytes = compensationBytes(mask);
    Sha256 sum;
    sum.add(bytes.data(), bytes.size());
    return sum.hexadecimal();
}

CompensationVectors readCompensationVectors(const std::string& path, std::span<const std::byte> bytes) {
    if (bytes.empty() || std::cmp_greater(bytes.size(), mostCompensationBytes))
        throw Error(fmt::format("is {} bytes long; 1 to {} are read", bytes.size(), mostCompensationBytes), path);
    CompensationVectors vectors;
    for (const TensorEntry& entry : safetensorsEntries(MappedFile::inMemory(path, {bytes.begin(), bytes.end()}))) {
        constexpr std::array<std::string_view, 3> types{"F32", "F16", "BF16"};
        if (std::ranges::find(types, entry.type->name) == types.end())
            throw Error(fmt::format("is stored as {}; expected {}", entry.type->name, fmt::join(types, ", ")),
                        entry.subject());
        if (entry.shape.size() != 1)
            throw Error("has the shape " + shapeText(entry.shape) + "; expected a vector", entry.subject());
        const at::Tensor values = readTensor(entry).to(at::kFloat).contiguous();
        vectors.emplace(entry.name,
                        std::vector<float>(values.data_ptr<float>(), values.data_ptr<float>() + values.numel()));
    }
    if (vectors.empty())
        throw Error("has no vectors", path);
    return vectors;
}

} // namespace secateur
