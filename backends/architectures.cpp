#include "backends/architectures.h"

#include "analysis/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace secateur {

namespace {

constexpr std::array llamaHfTensors{
    TensorPattern{Which::embedding, "{prefix}embed_tokens.weight"},
    TensorPattern{Which::finalNorm, "{prefix}norm.weight"},
    TensorPattern{Which::readOut, "lm_head.weight"},
    TensorPattern{Which::attentionNorm, "{prefix}layers.{layer}.input_layernorm.weight"},
    TensorPattern{Which::query, "{prefix}layers.{layer}.self_attn.q_proj.weight"},
    TensorPattern{Which::key, "{prefix}layers.{layer}.self_attn.k_proj.weight"},
    TensorPattern{Which::value, "{prefix}layers.{layer}.self_attn.v_proj.weight"},
    TensorPattern{Which::output, "{prefix}layers.{layer}.self_attn.o_proj.weight"},
    TensorPattern{Which::queryBias, "{prefix}layers.{layer}.self_attn.q_proj.bias"},
    TensorPattern{Which::keyBias, "{prefix}layers.{layer}.self_attn.k_proj.bias"},
    TensorPattern{Which::valueBias, "{prefix}layers.{layer}.self_attn.v_proj.bias"},
    TensorPattern{Which::outputBias, "{prefix}layers.{layer}.self_attn.o_proj.bias"},
    TensorPattern{Which::mlpNorm, "{prefix}layers.{layer}.post_attention_layernorm.weight"},
    TensorPattern{Which::gate, "{prefix}layers.{layer}.mlp.gate_proj.weight"},
    TensorPattern{Which::up, "{prefix}layers.{layer}.mlp.up_proj.weight"},
    TensorPattern{Which::down, "{prefix}layers.{layer}.mlp.down_proj.weight"},
};

constexpr std::array llamaGgufTensors{
    TensorPattern{Which::embedding, "token_embd.weight"},
    TensorPattern{Which::finalNorm, "output_norm.weight"},
    TensorPattern{Which::readOut, "output.weight"},
    TensorPattern{Which::attentionNorm, "blk.{layer}.attn_norm.weight"},
    TensorPattern{Which::query, "blk.{layer}.attn_q.weight"},
    TensorPattern{Which::key, "blk.{layer}.attn_k.weight"},
    TensorPattern{Which::value, "blk.{layer}.attn_v.weight"},
    TensorPattern{Which::output, "blk.{layer}.attn_output.weight"},
    TensorPattern{Which::queryBias, "blk.{layer}.attn_q.bias"},
    TensorPattern{Which::keyBias, "blk.{layer}.attn_k.bias"},
    TensorPattern{Which::valueBias, "blk.{layer}.attn_v.bias"},
    TensorPattern{Which::outputBias, "blk.{layer}.attn_output.bias"},
    TensorPattern{Which::mlpNorm, "blk.{layer}.ffn_norm.weight"},
    TensorPattern{Which::gate, "blk.{layer}.ffn_gate.weight"},
    TensorPattern{Which::up, "blk.{layer}.ffn_up.weight"},
    TensorPattern{Which::down, "blk.{layer}.ffn_down.weight"},
};

constexpr std::array<std::string_view, 1> llamaPrefixes{"model."};
// The rotary frequencies: in old exports, and in GGUF as divisors, which its configuration reads.
constexpr std::array<std::string_view, 2> llamaUnused{"rotary_emb.inv_freq", "rope_freqs.weight"};
constexpr std::array<std::string_view, 1> llamaName{"llama"};
constexpr std::array<std::string_view, 1> mistralName{"mistral"};

constexpr std::array architectures{
    ArchitectureInfo{
        .id = "llama",
        .summary = "LLaMA 1 to 3.2, Vicuna, SmolLM2; in GGUF also Mistral",
        .family = Family::decoder,
        .modelTypes = llamaName,
        .ggufNames = llamaName,
        .defaults = {.vocab = 32000,
                     .hidden = 4096,
                     .ffn = 11008,
                     .layers = 32,
                     .heads = 32,
                     .kvHeads = 0,
                     .headDim = 0,
                     .activation = Activation::silu,
                     .normEpsilon = 1e-6,
                     .context = 2048,
                     .ropeTheta = 1e4,
                     .window = std::nullopt,
                     .tiedEmbeddings = false},
        .norm = NormKind::rms,
        .normWeightOffset = 0,
        .gatedMlp = true,
        .prefixes = llamaPrefixes,
        .hfTensors = llamaHfTensors,
        .ggufTensors = llamaGgufTensors,
        .unusedSuffixes = llamaUnused,
        .ggufPairsRotaryRows = true,
    },
    ArchitectureInfo{
        .id = "mistral",
        .summary = "Mistral 7B",
        .family = Family::decoder,
        .modelTypes = mistralName,
        .ggufNames = {},
        .defaults = {.vocab = 32000,
                     .hidden = 4096,
                     .ffn = 14336,
                     .layers = 32,
                     .heads = 32,
                     .kvHeads = 8,
                     .headDim = 0,
                     .activation = Activation::silu,
                     .normEpsilon = 1e-6,
                     .context = 131072,
                     .ropeTheta = 1e4,
                     .window = 4096,
                     .tiedEmbeddings = false},
        .norm = NormKind::rms,
        .normWeightOffset = 0,
        .gatedMlp = true,
        .prefixes = llamaPrefixes,
        .hfTensors = llamaHfTensors,
        .ggufTensors = {},
        .unusedSuffixes = llamaUnused,
        .ggufPairsRotaryRows = false,
    },
};

using Names = std::span<const std::string_view>;

const ArchitectureInfo& find(const std::string& name, Names ArchitectureInfo::*names) {
    const auto answersTo = [&](const ArchitectureInfo& info) {
        return std::ranges::find(info.*names, name) != (info.*names).end();
    };
    const auto found = std::ranges::find_if(architectures, answersTo);
    if (found != architectures.end())
        return *found;
    std::vector<std::string_view> known;
    for (const ArchitectureInfo& info : architectures)
        known.insert(known.end(), (info.*names).begin(), (info.*names).end());
    throw Error(fmt::format("is of the unknown architecture \"{}\"", name), {},
                fmt::format("Known are: {}", fmt::join(known, ", ")));
}

} // namespace

std::span<const ArchitectureInfo> allArchitectures() {
    return architectures;
}

const ArchitectureInfo& architectureOfModelType(const std::string& modelType) {
    return find(modelType, &ArchitectureInfo::modelTypes);
}

const ArchitectureInfo& architectureOfGguf(const std::string& name) {
    return find(name, &ArchitectureInfo::ggufNames);
}

} // namespace secateur
