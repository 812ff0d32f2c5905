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

/// The part of a fused matrix that is a weight: all of it, or the rows of queries, keys or values.
enum class FusedPart { whole, query, key, value };

/// The name of a weight's tensor in a format. "{layer}" stands for the layer's index, "{prefix}" for the prefix that
/// the file uses, "{group}" and "{inner}" for ALBERT's layer group and the layer's index in it.
struct TensorPattern {
    WeightName weight;
    std::string_view pattern;
    FusedPart part = FusedPart::whole;
    bool transposed = false; ///< stored as [in, out]
};

/// Patterns of an architecture: its own, then those it shares with other architectures. A weight may have several
/// patterns; the first that is found in the file counts.
using TensorPatterns = std::array<std::span<const TensorPattern>, 2>;

/// Keys of config.json that differ between configuration classes.
struct ConfigKeys {
    std::string_view hidden = "hidden_size";
    std::string_view ffn = "intermediate_size";
    std::string_view layers = "num_hidden_layers";
    std::string_view heads = "num_attention_heads";
    std::string_view context = "max_position_embeddings";
    std::string_view normEpsilon = "rms_norm_eps";
    std::string_view activation = "hidden_act";
};

/// Defaults of a Hugging Face configuration class, for keys that config.json leaves out.
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
    double rotaryShare = 1; ///< share of a head's dimensions that are rotated
    int window = 0;         ///< only if the key is absent; if it is null there is no window
    int queryScalar = 0;    ///< scores are divided by its square root; 0 = by the square root of the head size
    double scoreSoftcap = 0;
    double logitSoftcap = 0;
    bool tiedEmbeddings = false;
    int tokenTypes = 0;
    int padding = 0;        ///< pad_token_id
    int embeddingWidth = 0; ///< 0 = hidden
};

/// The layers with a sliding window, for files without layer_types.
enum class Windows { none, all, evenLayers, fiveOfSix, fromMaxWindowLayers };
enum class Biases { none, byKey, queryKeyValue, all };

/// One row of the architecture table: the architecture's names in files, its configuration keys and defaults, facts
/// about its layers, and the names of its tensors.
struct ArchitectureInfo {
    std::string_view id;
    std::string_view summary;
    Family family = Family::decoder;
    std::span<const std::string_view> modelTypes = {}; ///< model_type in config.json
    std::span<const std::string_view> ggufNames = {};  ///< general.architecture
    ConfigKeys keys = {};
    ConfigKeyLists configKeys = {};                ///< none for an architecture without a config.json
    GgufKeyLists ggufKeys = decoderGgufKeys();
    ConfigDefaults defaults;
    NormKind norm = NormKind::rms;
    NormPlace normPlace = NormPlace::before;
    double normWeightOffset = 0;
    bool gatedMlp = true;
    Positions positions = Positions::rotary;
    bool positionsFollowPadding = false; ///< whether the first position is the padding token's id plus one
    bool scalesEmbedding = false;        ///< whether embeddings are multiplied by the root of the hidden size
    bool normsHeads = false;             ///< whether each head's query and key are normalised
    bool localRotary = false;            ///< whether windowed layers rotate by rope_local_base_freq, without scaling
    Windows windows = Windows::none;
    Biases biases = Biases::none;
    bool lmHeadBias = false;
    std::span<const std::string_view> prefixes = {}; ///< candidates for "{prefix}": the one with an embedding is used
    TensorPatterns hfTensors = {};
    std::span<const std::string_view> unused = {}; ///< tensors that are no weights; '*' at an end stands for any text
    bool ggufPairsRotaryRows = false; ///< whether GGUF stores the rows of a rotary pair together (manual, formats.md)
    bool ggufAddsOneToNorms = false;  ///< whether GGUF stores norm weights as 1 + w
};

std::span<const ArchitectureInfo> allArchitectures();

/// The architecture with this model_type. @throws Error listing the supported architectures
const ArchitectureInfo& architectureOfModelType(const std::string& modelType);
const ArchitectureInfo& architectureOfGguf(const std::string& name);

// Limits for sizes in a configuration, far beyond those of real models.
inline constexpr std::int64_t mostLayers = 10'000;
inline constexpr std::int64_t mostWidth = 1 << 24;

/// A specification in which only the facts of the architecture are filled in.
ModelSpec specOf(const ArchitectureInfo& architecture);

/// hidden / heads, the head size if the configuration does not give one. @throws Error if it is not a whole number
int headDimOf(int hidden, int heads, const std::string& subject);

/// Checks that KV groups have equal sizes, and that the number of rotary dimensions is even and no larger than a head.
/// @throws Error naming the layer
void checkLayers(const ModelSpec& spec, const std::string& subject);

} // namespace secateur
