#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace secateur {

enum class Family { decoder, encoder };

/// What a layer's attention does. `none`: the sublayer is absent. `valueOnly`: each token attends to itself (HARP),
/// scaled by LayerSpec::alpha. `linear`: the sublayer is one matrix.
enum class AttentionKind { full, none, valueOnly, linear };

enum class NormKind { rms, layer };
/// Where the norms of a layer stand. `before`: each sublayer reads normed input. `around`: its output is normed too
/// (Gemma). `parallel`: one norm, whose output attention and MLP both read (Phi). `after`: the sum of stream and
/// sublayer is normed (encoders).
enum class NormPlace { before, sandwich, parallel, after };
enum class Positions { rotary, learned };
enum class Activation { silu, geluTanh, geluErf, relu };
/// `listed`: by divisors of the frequencies that follow no formula known here.
enum class RopeScaling { none, linear, llama3, listed };

/// Rotary positions in the half-rotation layout: pair i is (x[i], x[i + dims/2]) (architectures.md 1.5).
struct RotarySpec {
    int dims = 0; ///< rotary dimensions of a head; 0 = none; the rest of the head passes through
    double theta = 10000;
    RopeScaling scaling = RopeScaling::none;
    double factor = 1;
    double lowFrequencyFactor = 1;
    double highFrequencyFactor = 4;
    int originalContext = 0;
    std::vector<float> divisors; ///< [dims / 2] of `listed`
    bool operator==(const RotarySpec&) const = default;
};

/// One layer. A pruned model is ragged, so everything that a cut can change is said per layer.
struct LayerSpec {
    int heads = 0;
    int kvHeads = 0;
    int headDim = 0;
    int ffn = 0;
    AttentionKind attention = AttentionKind::full;
    double alpha = 1;
    int window = 0; ///< visible keys, the token itself included; 0 = all
    RotarySpec rotary;
    double scoreScale = 1;   ///< what q·k is multiplied by
    bool normsHeads = false; ///< each head's query and key are normed before they turn
    int stored = -1;         ///< the layer of the file whose weights these are; -1 = the one of the same number
    bool queryBias = false;
    bool keyBias = false;
    bool valueBias = false;
    bool outputBias = false;
    bool gateBias = false;
    bool upBias = false;
    bool downBias = false;

    /// KV group that query head `head` reads: groups are contiguous.
    int kvGroup(int head) const { return head / (heads / kvHeads); }
    bool operator==(const LayerSpec&) const = default;
};

/// What a transformer is, apart from its numbers. Layers and heads count from 0.
struct ModelSpec {
    std::string architecture; ///< id in the architecture table
    Family family = Family::decoder;
    int hidden = 0;
    int vocab = 0;
    int context = 0; ///< longest sequence it was made for; 0 = not stated
    std::vector<LayerSpec> layers;
    int embeddingWidth = 0; ///< of the token embedding where a projection widens it (ALBERT); 0 = hidden
    double embeddingScale = 1;
    Positions positions = Positions::rotary;
    int firstPosition = 0;    ///< row of the learned positions that the first token takes (RoBERTa: 2)
    int learnedPositions = 0; ///< rows of the learned positions
    int tokenTypes = 0;       ///< rows of the token type embedding
    int classes = 0;          ///< that a classification head tells apart
    int layersPerGroup = 1;   ///< stored layers that make one of ALBERT's groups
    NormKind norm = NormKind::rms;
    NormPlace normPlace = NormPlace::before;
    double normEpsilon = 1e-6;
    double normWeightOffset = 0; ///< 1 where the norm multiplies by (1 + w)
    Activation activation = Activation::silu;
    bool gatedMlp = true;
    bool tiedEmbeddings = false;
    bool lmHeadBias = false;
    double scoreSoftcap = 0; ///< scores become cap * tanh(score / cap) before the mask; 0 = none
    double logitSoftcap = 0;

    int layerCount() const { return static_cast<int>(layers.size()); }
    int maxHeads() const;
    int maxKvHeads() const;
    /// The layer of the file that holds a layer's weights.
    int storedLayer(int layer) const;
    /// Layers that share their weights, each group in order; empty when every layer has its own.
    std::vector<std::vector<int>> tiedGroups() const;
    /// "30x9/3x64+1536": layers x heads / KV heads x head size + MLP width; runs of unlike layers joined by commas.
    std::string structure() const;
    bool operator==(const ModelSpec&) const = default;
};

std::string_view name(Family family);
std::string_view name(AttentionKind kind);

/// As much of a model as its structure says (ModelSpec::structure()): enough to read its masks and to count what they
/// cut, nothing else. Layers without heads count as without attention, those without KV heads as of a linear one, and
/// none share their weights.
/// @throws Error when the text is no structure, or one of more parts than any model has
ModelSpec specOf(const std::string& architecture, std::string_view structure);

} // namespace secateur
