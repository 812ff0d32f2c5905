#pragma once

#include "analysis/model/model.h"
#include "analysis/model/model_spec.h"

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace secateur {

/// Which rows of a fused matrix a weight is.
enum class FusedPart { whole, query, key, value };

/// Where a format keeps a weight. "{layer}" stands for the layer's number, "{prefix}" for the one that the file uses,
/// "{group}" and "{inner}" for ALBERT's two numbers of a layer.
struct TensorPattern {
    WeightName which;
    std::string_view pattern;
    FusedPart part = FusedPart::whole;
    bool transposed = false; ///< kept as [in, out]
};

/// Patterns of an architecture: its own, then those it has in common with others. A weight may have several; the first
/// that the file holds is meant.
using TensorPatterns = std::array<std::span<const TensorPattern>, 2>;

/// Keys of config.json that classes spell differently.
struct ConfigKeys {
    std::string_view hidden = "hidden_size";
    std::string_view ffn = "intermediate_size";
    std::string_view layers = "num_hidden_layers";
    std::string_view heads = "num_attention_heads";
    std::string_view context = "max_position_embeddings";
    std::string_view normEpsilon = "rms_norm_eps";
    std::string_view activation = "hidden_act";
};

/// What a Hugging Face configuration class assumes of a key that config.json leaves out.
struct ConfigDefaults {
    int vocab;
    int hidden;
    int ffn; ///< 0 = four times the hidden size
    int layers;
    int heads;
    int kvHeads = 0; ///< 0 = as many as heads
    int headDim = 0; ///< 0 = hidden / heads
    Activation activation;
    double normEpsilon;
    int context;
    double ropeTheta = 0;
    double rotaryShare = 1; ///< of a head's dimensions
    int window = 0;         ///< when the key is absent; null means off
    int queryScalar = 0;    ///< scores are scaled by its root; 0 = always by the head's size
    double scoreSoftcap = 0;
    double logitSoftcap = 0;
    bool tiedEmbeddings = false;
    int tokenTypes = 0;
    int padding = 0;        ///< pad_token_id
    int embeddingWidth = 0; ///< 0 = as wide as the stream
};

/// Which layers see a window only, where layer_types does not say.
enum class Windows { none, all, evenLayers, fiveOfSix, fromMaxWindowLayers };
enum class Biases { none, byKey, queryKeyValue, all };

/// One row of the architecture table: how to recognise it, where its tensors are, and which flags it sets.
struct ArchitectureInfo {
    std::string_view id;
    std::string_view summary;
    Family family = Family::decoder;
    std::span<const std::string_view> modelTypes = {}; ///< model_type in config.json
    std::span<const std::string_view> ggufNames = {};  ///< general.architecture
    ConfigKeys keys = {};
    ConfigDefaults defaults;
    NormKind norm = NormKind::rms;
    NormPlace normPlace = NormPlace::before;
    double normWeightOffset = 0;
    bool gatedMlp = true;
    Positions positions = Positions::rotary;
    bool positionsFollowPadding = false; ///< the first position is the padding token's id plus one
    bool scalesEmbedding = false;        ///< by the root of the hidden size
    bool normsHeads = false;
    bool localRotary = false; ///< layers with a window turn by rope_local_base_freq, unscaled
    Windows windows = Windows::none;
    Biases biases = Biases::none;
    bool lmHeadBias = false;
    std::span<const std::string_view> prefixes = {}; ///< candidates for "{prefix}", tried on the embedding
    TensorPatterns hfTensors = {};
    std::span<const std::string_view> unused = {}; ///< known tensors that are not weights; '*' at an end stands for any
    bool ggufPairsRotaryRows = false; ///< GGUF has query and key rows as consecutive pairs (architectures.md 1.8)
    bool ggufAddsOneToNorms = false;  ///< GGUF has norms as 1 + w
};

std::span<const ArchitectureInfo> allArchitectures();

/// @throws Error listing what is known
const ArchitectureInfo& architectureOfModelType(const std::string& modelType);
const ArchitectureInfo& architectureOfGguf(const std::string& name);

} // namespace secateur
