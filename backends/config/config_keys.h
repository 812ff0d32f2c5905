#pragma once

#include <array>
#include <span>
#include <string_view>

namespace secateur {

/// A key that changes what a model computes in a way that is not supported.
struct UnsupportedKey {
    std::string_view key;
    std::string_view neutral; ///< the value that changes nothing, as JSON; null and a missing key change nothing either
    std::string_view reason;  ///< for the error; "{}" stands for the value
};

/// Keys of an object in a configuration. A '*' at the end stands for any text. Files with other keys get a warning.
struct KnownKeys {
    std::span<const std::string_view> read = {};     ///< the reader sees these keys only
    std::span<const std::string_view> harmless = {}; ///< do not change what is computed
    std::span<const UnsupportedKey> unsupported = {};
};

/// The keys of an architecture: its own, those of similar architectures, and those of every configuration.
using ConfigKeyLists = std::array<KnownKeys, 3>;

// Keys of config.json, as transformers 4 and 5 and the publishers of checkpoints write them. The computation is that of
// transformers 5: a key that it ignores is harmless or unknown, even if other programs read it.

ConfigKeyLists llamaConfigKeys();
ConfigKeyLists deciConfigKeys();
ConfigKeyLists mistralConfigKeys();
ConfigKeyLists qwen2ConfigKeys();
ConfigKeyLists qwen3ConfigKeys();
ConfigKeyLists gemma2ConfigKeys();
ConfigKeyLists gemma3ConfigKeys();
ConfigKeyLists phiConfigKeys();
ConfigKeyLists gpt2ConfigKeys();
ConfigKeyLists bertConfigKeys();
ConfigKeyLists robertaConfigKeys(); ///< and XLM-RoBERTa's
ConfigKeyLists albertConfigKeys();

/// Keys of rope_scaling and rope_parameters, and of the objects for the types of layers in the latter.
/// @param isPartial whether the architecture may rotate a part of a head
KnownKeys rotaryConfigKeys(bool isPartial);
/// Keys of a layer's entry in per_layer_config. @param hasWindows whether layers of the architecture may have a sliding
/// window
KnownKeys layerConfigKeys(bool hasWindows);
// Keys of an element of block_configs (DeciLM), and of the objects `attention` and `ffn` in it.
KnownKeys blockConfigKeys();
KnownKeys blockAttentionKeys();
KnownKeys blockMlpKeys();
/// Keys beside text_config in a multimodal checkpoint.
std::array<KnownKeys, 2> multimodalConfigKeys();

/// Metadata of a GGUF file without the architecture's name in front: those of the architecture, and those of all.
using GgufKeyLists = std::array<KnownKeys, 2>;

GgufKeyLists decoderGgufKeys();
GgufKeyLists gemma2GgufKeys();
GgufKeyLists gemma3GgufKeys();
GgufKeyLists encoderGgufKeys();
/// Metadata that does not belong to an architecture.
KnownKeys generalGgufKeys();

} // namespace secateur
