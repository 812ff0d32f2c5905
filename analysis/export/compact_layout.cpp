#include "analysis/export/compact_layout.h"

#include "analysis/export/bias_room.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace secateur {

namespace {

constexpr int ggufMultiple = 32; ///< a block of quantised types
constexpr int deciLmMultiple = 256;

std::vector<int> keptOf(const std::vector<bool>& marks) {
    std::vector<int> kept;
    for (std::size_t i = 0; i < marks.size(); ++i)
        if (marks[i])
            kept.push_back(static_cast<int>(i));
    return kept;
}

int roundedUp(int count, int multiple) {
    return (count + multiple - 1) / multiple * multiple;
}

/// Sets the sizes of a layer. A linear layer has no heads; its number of heads stays that of the source.
void setSizes(LayerSpec& spec, const ExportedLayer& layer) {
    if (spec.attention != AttentionKind::linear)
        spec.heads = static_cast<int>(layer.heads.size());
    spec.kvHeads = static_cast<int>(layer.kvHeads.size());
    spec.ffn = static_cast<int>(layer.neurons.size());
}

/// A layer and its spec while a layout is made.
struct Made {
    ExportedLayer units;
    LayerSpec spec;
};

/// The KV heads that some heads use, each once.
std::vector<int> distinctKvHeads(const std::vector<int>& heads, const LayerSpec& layer) {
    std::vector<int> distinct;
    for (const int head : heads)
        if (distinct.empty() || distinct.back() != layer.kvGroup(head))
            distinct.push_back(layer.kvGroup(head));
    return distinct;
}

/// The number of heads in each group of distinctKvHeads().
std::vector<int> groupSizes(const std::vector<int>& heads, const LayerSpec& layer) {
    std::vector<int> sizes;
    for (const int group : distinctKvHeads(heads, layer))
        sizes.push_back(
            static_cast<int>(std::ranges::count_if(heads, [&](int head) { return layer.kvGroup(head) == group; })));
    return sizes;
}

int largest(const std::vector<int>& sizes) {
    return sizes.empty() ? 0 : *std::ranges::max_element(sizes);
}

/// Arranges heads in KV groups of one size: for each group, its heads, followed by zeros.
/// @param units has the kept heads
void padHeads(ExportedLayer& units, const LayerSpec& source, int groups, int perGroup) {
    const std::vector<int> kept = std::exchange(units.heads, {});
    units.kvHeads = distinctKvHeads(kept, source);
    for (const int group : units.kvHeads) {
        const std::size_t before = units.heads.size();
        std::ranges::copy_if(kept, std::back_inserter(units.heads),
                             [&](int head) { return source.kvGroup(head) == group; });
        units.heads.resize(before + static_cast<std::size_t>(perGroup), zeroUnit);
    }
    units.kvHeads.resize(static_cast<std::size_t>(groups), zeroUnit);
    units.heads.resize(static_cast<std::size_t>(groups * perGroup), zeroUnit);
}

/// Finds KV heads for the kept heads. If the groups keep different numbers of heads, either zero heads are added, or
/// each head gets its own copy of its KV head, whichever takes fewer weights.
void arrangeHeads(ExportedLayer& units, const LayerSpec& source) {
    const std::vector<int> sizes = groupSizes(units.heads, source);
    const int groups = static_cast<int>(sizes.size());
    const int kept = static_cast<int>(units.heads.size());
    const bool isEqual = largest(sizes) * groups == kept;
    if (isEqual || largest(sizes) * groups + groups <= 2 * kept) {
        padHeads(units, source, groups, largest(sizes));
        return;
    }
    for (const int head : units.heads)
        units.kvHeads.push_back(source.kvGroup(head));
}

/// Sets the heads of a layer. Without any, its attention is left out or, if its output has a bias, has a head of zeros.
void addHeads(Made& made, const CutLayer& layer) {
    const bool isMatrix = layer.spec.attention == AttentionKind::linear;
    const bool hasBias = layer.spec.outputBias || addsBias(layer.spec, layer.mask, true);
    const bool isEmpty = !isMatrix && layer.mask.keptHeads() == 0;
    if (!layer.hasAttention() || (isEmpty && !hasBias)) {
        made.spec.attention = AttentionKind::none;
        made.spec.queryBias = made.spec.keyBias = made.spec.valueBias = made.spec.outputBias = false;
    } else if (isEmpty) {
        made.units.heads = made.units.kvHeads = {zeroUnit};
    } else if (!isMatrix) {
        made.units.heads = keptOf(layer.mask.heads);
        arrangeHeads(made.units, layer.spec);
    }
}

/// The same for the neurons of the MLP.
void addNeurons(Made& made, const CutLayer& layer) {
    const bool hasBias = layer.spec.downBias || addsBias(layer.spec, layer.mask, false);
    if (layer.hasMlp())
        made.units.neurons = keptOf(layer.mask.neurons);
    if (layer.hasMlp() && made.units.neurons.empty() && hasBias)
        made.units.neurons = {zeroUnit};
    if (made.units.neurons.empty())
        made.spec.gateBias = made.spec.upBias = made.spec.downBias = false;
}

/// The kept units of a layer.
Made raggedLayer(const CutLayer& layer) {
    Made made{{layer.index, {}, {}, {}}, layer.spec};
    LayerSpec& spec = made.spec;
    addHeads(made, layer);
    if (layer.bypasses() && spec.attention != AttentionKind::none) {
        spec.attention = AttentionKind::valueOnly;
        spec.alpha = layer.spec.alpha * layer.mask.alpha;
        spec.queryBias = spec.keyBias = spec.normsHeads = false;
    }
    addNeurons(made, layer);
    setSizes(spec, made.units);
    spec.outputBias = spec.outputBias || addsBias(layer.spec, layer.mask, true);
    spec.downBias = spec.downBias || addsBias(layer.spec, layer.mask, false);
    return made;
}

bool isLeftOut(const CutLayer& layer, const ModelSpec& spec) {
    return !layer.mask.block && spec.normPlace != NormPlace::after;
}

void add(ExportLayout& layout, Made made) {
    setSizes(made.spec, made.units);
    layout.layers.push_back(std::move(made.units));
    layout.spec.layers.push_back(std::move(made.spec));
}

ExportLayout emptyLayout(std::string_view id, const ModelSpec& source) {
    ExportLayout layout{id, source, {}};
    layout.spec.layers.clear();
    return layout;
}

/// Adds zero neurons to a layer, so that it has some, in whole blocks of quantised types.
void padNeurons(ExportedLayer& units, LayerSpec& spec) {
    spec.ffn = std::max(ggufMultiple, roundedUp(spec.ffn, ggufMultiple));
    units.neurons.resize(static_cast<std::size_t>(spec.ffn), zeroUnit);
}

/// Gives a layer one head of zeros, of the same kind as the heads of the other layers, if any have heads.
void addZeroHead(ExportedLayer& units, LayerSpec& spec, const ModelSpec& source) {
    units.heads = units.kvHeads = {zeroUnit};
    spec.attention = AttentionKind::full;
    spec.heads = spec.kvHeads = 1;
    const auto full = std::ranges::find(source.layers, AttentionKind::full, &LayerSpec::attention);
    if (full == source.layers.end())
        return;
    spec.headDim = full->headDim;
    spec.rotary = full->rotary;
    spec.scoreScale = full->scoreScale;
    spec.normsHeads = full->normsHeads;
}

/// In transformers, a Llama model whose hidden size is not a multiple of its heads is a Mistral model.
ExportLayout asTransformersReads(ExportLayout layout, std::string_view format) {
    if (layout.spec.layers.empty() || format == "gguf" || layout.spec.architecture != "llama")
        return layout;
    if (const int heads = layout.spec.layers.front().heads; heads > 0 && layout.spec.hidden % heads != 0)
        layout.spec.architecture = "mistral";
    return layout;
}

} // namespace

bool CutLayer::bypasses() const {
    return spec.attention == AttentionKind::valueOnly ||
           (mask.attention == AttentionCut::bypassQk && !dropsAttention(mask));
}

int CutLayer::kvHeads() const {
    if (!hasAttention() || spec.kvHeads == 0)
        return 0;
    return static_cast<int>(distinctKvHeads(keptOf(mask.heads), spec).size());
}

CutLayer cutLayer(const ModelSpec& spec, const PruningMask& mask, int index) {
    return {index, spec.layers[static_cast<std::size_t>(index)], mask.layer(index)};
}

ExportLayout raggedLayout(const ModelSpec& source, const PruningMask& mask, std::string_view id) {
    ExportLayout layout = emptyLayout(id, source);
    for (int index = 0; index < source.layerCount(); ++index) {
        const CutLayer layer = cutLayer(source, mask, index);
        if (isLeftOut(layer, source))
            continue;
        add(layout, raggedLayer(layer));
    }
    return layout;
}

ExportLayout deciLayout(const ModelSpec& source, const PruningMask& mask) {
    ExportLayout layout = raggedLayout(source, mask, "deci");
    layout.spec.architecture = "deci";
    for (std::size_t i = 0; i < layout.layers.size(); ++i) {
        LayerSpec& spec = layout.spec.layers[i];
        const LayerSpec& own = source.layers[static_cast<std::size_t>(layout.layers[i].source)];
        if (spec.attention != AttentionKind::valueOnly)
            continue;
        spec.attention = AttentionKind::linear;
        spec.heads = own.heads;
        spec.kvHeads = 0;
        spec.alpha = 1;
        spec.valueBias = false;
    }
    const auto isEmpty = [&](const LayerSpec& spec) { return spec.attention == AttentionKind::none && spec.ffn == 0; };
    for (std::size_t i = layout.layers.size(); i-- > 0;)
        if (isEmpty(layout.spec.layers[i])) {
            layout.layers.erase(layout.layers.begin() + static_cast<std::ptrdiff_t>(i));
            layout.spec.layers.erase(layout.spec.layers.begin() + static_cast<std::ptrdiff_t>(i));
        }
    for (std::size_t i = 0; i < layout.layers.size(); ++i) {
        LayerSpec& spec = layout.spec.layers[i];
        if (i == 0 && spec.attention == AttentionKind::none)
            addZeroHead(layout.layers[i], spec, source);
        padNeurons(layout.layers[i], spec); // llama.cpp needs neurons in a layer with attention
    }
    return layout;
}

ExportLayout openElmLayout(const ModelSpec& source, const PruningMask& mask) {
    ExportLayout layout = raggedLayout(source, mask, "openelm");
    layout.spec.architecture = "openelm";
    for (std::size_t i = 0; i < layout.layers.size(); ++i) {
        LayerSpec& spec = layout.spec.layers[i];
        if (spec.attention == AttentionKind::none)
            addZeroHead(layout.layers[i], spec, source);
        padNeurons(layout.layers[i], spec);
    }
    return layout;
}

ExportLayout deciLmLayout(const ModelSpec& source, const PruningMask& mask) {
    ExportLayout layout = raggedLayout(source, mask, "decilm");
    layout.spec.architecture = "deci";
    for (std::size_t i = 0; i < layout.layers.size(); ++i) {
        std::vector<int>& neurons = layout.layers[i].neurons;
        neurons.resize(static_cast<std::size_t>(roundedUp(static_cast<int>(neurons.size()), deciLmMultiple)), zeroUnit);
        layout.spec.layers[i].ffn = static_cast<int>(neurons.size());
    }
    return layout;
}

ExportLayout paddedLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format) {
    std::vector<Made> layers;
    int groups = 1;
    int perGroup = 1;
    int neurons = 1;
    for (int index = 0; index < source.layerCount(); ++index) {
        const CutLayer layer = cutLayer(source, mask, index);
        if (isLeftOut(layer, source))
            continue;
        Made made{{index, {}, {}, {}}, layer.spec};
        if (layer.hasAttention())
            made.units.heads = keptOf(layer.mask.heads);
        if (layer.hasMlp())
            made.units.neurons = keptOf(layer.mask.neurons);
        const std::vector<int> sizes = groupSizes(made.units.heads, layer.spec);
        groups = std::max(groups, static_cast<int>(sizes.size()));
        perGroup = std::max(perGroup, largest(sizes));
        neurons = std::max(neurons, static_cast<int>(made.units.neurons.size()));
        layers.push_back(std::move(made));
    }
    ExportLayout layout = emptyLayout("padded", source);
    for (Made& made : layers) {
        padHeads(made.units, source.layers[static_cast<std::size_t>(made.units.source)], groups, perGroup);
        made.units.neurons.resize(static_cast<std::size_t>(neurons), zeroUnit);
        made.spec.attention = AttentionKind::full;
        add(layout, std::move(made));
    }
    return asTransformersReads(std::move(layout), format);
}

ExportLayout nativeLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format) {
    return asTransformersReads(raggedLayout(source, mask, "native"), format);
}

} // namespace secateur
