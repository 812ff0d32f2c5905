#pragma once

#include "analysis/model.h"
#include "analysis/model_spec.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace secateur {

/// Where a format keeps a tensor. "{layer}" stands for the layer's number, "{prefix}" for the one that the file uses.
struct TensorPattern {
    Which which;
    std::string_view pattern;
};

/// What a Hugging Face configuration class assumes of a key that config.json leaves out.
struct ConfigDefaults {
    int vocab;
    int hidden;
    int ffn;
    int layers;
    int heads;
    int kvHeads; ///< 0 = as many as heads
    int headDim; ///< 0 = hidden / heads
    Activation activation;
    double normEpsilon;
    int context;
    double ropeTheta;
    std::optional<int> window; ///< when the key is absent (null means off); nothing = the architecture has no windows
    bool tiedEmbeddings;
};

/// One row of the architecture table: how to recognise it, where its tensors are, and which flags it sets.
struct ArchitectureInfo {
    std::string_view id;
    std::string_view summary;
    Family family;
    std::span<const std::string_view> modelTypes; ///< model_type in config.json
    std::span<const std::string_view> ggufNames;  ///< general.architecture
    ConfigDefaults defaults;
    NormKind norm;
    double normWeightOffset;
    bool gatedMlp;
    std::span<const std::string_view> prefixes; ///< candidates for "{prefix}", tried on the embedding
    std::span<const TensorPattern> hfTensors;
    std::span<const TensorPattern> ggufTensors;
    std::span<const std::string_view> unusedSuffixes; ///< tensors that are known and carry no weights
    bool ggufPairsRotaryRows; ///< GGUF has query and key rows as consecutive pairs (architectures.md 1.8)
};

std::span<const ArchitectureInfo> allArchitectures();

/// @throws Error listing what is known
const ArchitectureInfo& architectureOfModelType(const std::string& modelType);
const ArchitectureInfo& architectureOfGguf(const std::string& name);

} // namespace secateur
