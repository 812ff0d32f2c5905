#pragma once

#include "analysis/model/model.h"
#include "analysis/model/model_spec.h"
#include "backends/config/config_keys.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace secateur {

/// The part of a fused matrix that is the weight: the whole matrix, or the rows of queries, keys or values.
enum class FusedPart { whole, query, key, value };

/// The name of a weight's tensor in a file format. "{layer}" stands for the layer's index, "{prefix}" for the prefix
/// that the file uses. For ALBERT, "{group}" is the layer group and "{inner}" the layer's index in the group.
struct TensorPattern {
    WeightName weight;
    std::string_view pattern;
    FusedPart part = FusedPart::whole;
    bool transposed = false; ///< whether the matrix is stored as [in, out]
};

/// The patterns of an architecture, followed by those that it shares with other architectures. If several patterns of a
/// weight match a tensor in the file, the first one is used.
using TensorPatterns = std::array<std::span<const TensorPattern>, 2>;

/// Names of keys in config.json that differ between the configuration classes of transformers.
struct ConfigKeys {
    std::string_view hidden = "hidden_size";
    std::string_view ffn = "intermediate_size";
    std::string_view layers = "num_hidden_layers";
    std::string_view heads = "num_attention_heads";
    std::string_view context = "max_position_embeddings";
    std::string_view normEpsilon = "rms_norm_eps";
    std::string_view activation = "hidden_act";
};

/// Default values of a configuration class of transformers, for keys that config.json omits.
struct ConfigDefaults {
    int vocab;
    int hidden;
    int ffn; ///< MLP width; 0 = four times the hidden size
    int layers;
    int heads;
    int kvHeads = 0; ///< 0 = as many as heads
    int headDim = 0; ///< 0 = hidden / heads
    Activation activation;
    double normEpsilon;
    int context;
    double ropeTheta = 0;
    double rotaryShare = 1; ///< share of a head's dimensions that are rotated
    int window = 0;         ///< sliding window if the key is absent; a key with the value null means no window
    int queryScalar = 0;    ///< scores are divided by its square root; 0 = by the square root of the head size
    double scoreSoftcap = 0;
    double logitSoftcap = 0;
    bool tiedEmbeddings = false;
    int tokenTypes = 0;
    int padding = 0;        ///< default of pad_token_id
    int embeddingWidth = 0; ///< width of the token embedding; 0 = hidden size
};

/// The layers that have a sliding window, for files without the key layer_types.
enum class Windows { none, all, evenLayers, fiveOfSix, fromMaxWindowLayers };
enum class Biases { none, byKey, queryKeyValue, all };

/// A row of the architecture table. It contains the names of the architecture in files, its configuration keys and
/// defaults, facts about its layers, and the names of its tensors.
struct ArchitectureInfo {
    std::string_view id;
    std::string_view summary;
    Family family = Family::decoder;
    std::span<const std::string_view> modelTypes = {}; ///< values of model_type in config.json
    std::span<const std::string_view> ggufNames = {};  ///< values of general.architecture in GGUF
    ConfigKeys keys = {};
    ConfigKeyLists configKeys = {}; ///< none for an architecture without a config.json
    GgufKeyLists ggufKeys = decoderGgufKeys();
    ConfigDefaults defaults;
    NormKind norm = NormKind::rms;
    NormPlace normPlace = NormPlace::before;
    double normWeightOffset = 0;
    bool gatedMlp = true;
    Positions positions = Positions::rotary;
    bool positionsFollowPadding = false; ///< whether the first position is the padding token's id plus one
    bool scalesEmbedding = false;        ///< whether embeddings are multiplied by the root of the hidden size
    bool normsHeads = false;             ///< whether each head's query and key are normalised before the scores
    bool localRotary = false;            ///< whether windowed layers rotate by rope_local_base_freq, without scaling
    Windows windows = Windows::none;
    Biases biases = Biases::none;
    bool lmHeadBias = false;
    std::span<const std::string_view> prefixes = {}; ///< candidates for "{prefix}"; tried on the embedding
    TensorPatterns hfTensors = {};
    std::span<const std::string_view> unused = {}; ///< tensors that are not weights; '*' at an end stands for any text
    bool ggufPairsRotaryRows = false;              ///< whether GGUF stores the rows of a rotary pair together
    bool ggufAddsOneToNorms = false;               ///< whether GGUF stores norm weights as 1 + w
};

std::span<const ArchitectureInfo> allArchitectures();

/// The architecture with this model_type, or with NAME if it is "secateur_NAME": a checkpoint whose layers differ, with
/// own Python code. @throws Error that lists the supported architectures
const ArchitectureInfo& architectureOfModelType(const std::string& modelType);
const ArchitectureInfo& architectureOfGguf(const std::string& name);

// Limits for sizes in a configuration. Real models are far smaller.
inline constexpr std::int64_t mostLayers = 10'000;
inline constexpr std::int64_t mostWidth = 1 << 24;

/// A specification that contains only the facts of the architecture; sizes are not set.
ModelSpec specOf(const ArchitectureInfo& architecture);

/// hidden / heads: the head size of configurations that do not state one. @throws Error if it is not a whole number
int headDimOf(int hidden, int heads, const std::string& subject);

/// Checks that all KV groups of a layer have the same size, and that the number of rotary dimensions is even and at
/// most the head size. @throws Error naming the layer
void checkLayers(const ModelSpec& spec, const std::string& subject);

} // namespace secateur
