#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace secateur {

enum class Family { decoder, encoder };

/// The kind of a layer's attention. `none`: the layer has no attention. `valueOnly`: each token attends to itself only
/// (HARP), and the output is multiplied by LayerSpec::alpha. `linear`: the sublayer is a single matrix.
enum class AttentionKind { full, none, valueOnly, linear };

enum class NormKind { rms, layer };
/// The places of a layer's norms. `before` (pre-norm): the input of each sublayer is normalised. `sandwich`: the input
/// and the output of each sublayer are normalised (Gemma 2 and 3). `parallel`: attention and MLP read the same
/// normalised input (Phi). `after` (post-norm): the sum of the residual stream and the sublayer's output is normalised
/// (encoders).
enum class NormPlace { before, sandwich, parallel, after };
enum class Positions { rotary, learned };
enum class Activation { silu, geluTanh, geluErf, relu };
/// `listed`: the file states a divisor for each frequency, and no formula gives these divisors.
enum class RopeScaling { none, linear, llama3, listed };

/// Rotary positions in the half-rotation layout, in which pair i is (x[i], x[i + dims/2]) (see Rotary positions in
/// resources/manual/architecture.md).
struct RotarySpec {
    int dims = 0; ///< rotary dimensions of a head; 0 = none; later dimensions are not rotated
    double theta = 10000;
    RopeScaling scaling = RopeScaling::none;
    double factor = 1;
    double lowFrequencyFactor = 1;
    double highFrequencyFactor = 4;
    int originalContext = 0;
    std::vector<float> divisors; ///< [dims / 2], only for RopeScaling::listed
    bool operator==(const RotarySpec&) const = default;
};

/// A layer. The layers of a pruned model may differ, so that everything that a cut can change is stored per layer.
struct LayerSpec {
    int heads = 0;
    int kvHeads = 0;
    int headDim = 0;
    int ffn = 0;
    AttentionKind attention = AttentionKind::full;
    double alpha = 1;
    int window = 0; ///< number of visible keys, including the token itself; 0 = all
    RotarySpec rotary;
    double scoreScale = 1;   ///< factor of the attention scores q·k
    bool normsHeads = false; ///< whether each head's query and key are normalised before the rotation
    int stored = -1;         ///< index of the layer in the file that has the weights; -1 = the same index
    bool queryBias = false;
    bool keyBias = false;
    bool valueBias = false;
    bool outputBias = false;
    bool gateBias = false;
    bool upBias = false;
    bool downBias = false;

    /// The KV group of a query head. Groups consist of consecutive heads.
    int kvGroup(int head) const { return head / (heads / kvHeads); }
    bool operator==(const LayerSpec&) const = default;
};

/// The architecture and sizes of a transformer: everything except the values of its weights. Layers and heads count
/// from 0.
struct ModelSpec {
    std::string architecture; ///< id of the architecture
    Family family = Family::decoder;
    int hidden = 0;
    int vocab = 0;
    int context = 0; ///< maximum length of a sequence; 0 = the checkpoint does not state it
    std::vector<LayerSpec> layers;
    int embeddingWidth = 0; ///< width of the token embedding if a projection follows (ALBERT); 0 = hidden
    double embeddingScale = 1;
    Positions positions = Positions::rotary;
    int firstPosition = 0;    ///< row of the position embedding for the first token (RoBERTa: 2)
    int learnedPositions = 0; ///< number of rows of the position embedding
    int tokenTypes = 0;       ///< number of rows of the token type embedding
    int classes = 0;          ///< number of classes of the classification head
    int layersPerGroup = 1;   ///< ALBERT: number of stored layers in a group
    NormKind norm = NormKind::rms;
    NormPlace normPlace = NormPlace::before;
    double normEpsilon = 1e-6;
    double normWeightOffset = 0; ///< 1 if the norm multiplies by (1 + w)
    Activation activation = Activation::silu;
    bool gatedMlp = true;
    bool tiedEmbeddings = false;
    bool lmHeadBias = false;
    double scoreSoftcap = 0; ///< scores become cap * tanh(score / cap) before the mask; 0 = none
    double logitSoftcap = 0;

    int layerCount() const { return static_cast<int>(layers.size()); }
    int maxHeads() const;
    int maxKvHeads() const;
    /// LayerSpec::stored, or the layer itself if that is -1.
    int storedLayer(int layer) const;
    /// The first layer that has the weights of this layer: in most models the layer itself.
    int firstSharing(int layer) const;
    /// The groups of layers that share their weights, in order. Empty if every layer has weights of its own.
    std::vector<std::vector<int>> tiedGroups() const;
    /// The structure as text: "30x9/3x64+1536" is layers x heads / KV heads x head size + MLP width. Runs of equal
    /// layers are separated by commas.
    std::string structure() const;
    bool operator==(const ModelSpec&) const = default;
};

std::string_view name(Family family);
std::string_view name(AttentionKind kind);

/// A spec made from the text of ModelSpec::structure(), to read masks and count their cuts without the model. Layers
/// without heads get no attention. Layers with heads but without KV heads get linear attention. No layers share
/// weights.
/// @throws Error if the text is not a structure, or has more layers, heads or neurons than any model
ModelSpec specOf(const std::string& architecture, std::string_view structure);

} // namespace secateur
