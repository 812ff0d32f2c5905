#include "analysis/masks/pruning_mask.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

int kept(const std::vector<bool>& marks) {
    return static_cast<int>(std::ranges::count(marks, true));
}

bool allKept(const std::vector<bool>& marks) {
    return std::ranges::find(marks, false) == marks.end();
}

void keepAll(std::vector<bool>& marks) {
    marks = std::vector<bool>(marks.size(), true);
}

/// The canonical form of all masks with the same effect. Units in a dropped sublayer or block are marked as kept.
/// @param headDim head size of the layer
LayerMask canonical(LayerMask layer, int headDim) {
    if (!layer.block) {
        layer.attention = AttentionCut::keep;
        layer.mlp = true;
    }
    if (!layer.block || layer.attention == AttentionCut::drop)
        keepAll(layer.heads);
    if (!layer.block || !layer.mlp)
        keepAll(layer.neurons);
    if (layer.attention != AttentionCut::bypassQk)
        layer.alpha = 1;
    else if (layer.alpha == 0)
        layer.alpha = 0; // turns -0 into 0: they are equal but have different digests
    layer.compensation =
        effectOf(layer.compensation, layer.heads, headDim, layer.neurons, !dropsAttention(layer), !dropsMlp(layer));
    return layer;
}

void checkCounts(const LayerMask& layer, const LayerMask& expected, const std::string& subject) {
    const auto check = [&](const std::vector<bool>& marks, const std::vector<bool>& wanted, const char* what) {
        if (marks.size() != wanted.size())
            throw Error(fmt::format("expected {} {}, found {}", wanted.size(), what, marks.size()), subject);
    };
    check(layer.heads, expected.heads, "heads");
    check(layer.neurons, expected.neurons, "neurons");
}

void checkVector(const std::vector<float>& values, std::size_t expected, const char* name, const std::string& subject) {
    if (!values.empty() && values.size() != expected)
        throw Error(fmt::format("expected {} numbers, found {}", expected, values.size()),
                    fmt::format("{}: {}", subject, name));
    if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); }))
        throw Error("has numbers that are not finite", fmt::format("{}: {}", subject, name));
}

/// @param columns of the projection; 0 = not known here @param checked a weight of the same place that was checked
void checkWeight(const SharedWeight& weight, std::size_t columns, const SharedWeight& checked, const char* name,
                 const std::string& subject) {
    if (!weight || weight == checked)
        return;
    if (weight->empty() || (columns > 0 && weight->size() % columns != 0))
        throw Error(fmt::format("expected rows of {} numbers, found {} numbers", columns, weight->size()),
                    fmt::format("{}: {}", subject, name));
    checkVector(*weight, weight->size(), name, subject);
}

/// The width of the residual stream is not known here: checkFits() compares the sizes of biases and weights with it.
/// @param before the layer's mask so far, whose weights are known to be valid @param headDim head size of the layer
void checkCompensation(const LayerMask& layer, const LayerMask& before, int headDim, const std::string& subject) {
    const LayerCompensation& own = compensationOf(layer);
    const LayerCompensation& checked = compensationOf(before);
    checkVector(own.headScale, layer.heads.size(), "head_scale", subject);
    checkVector(own.neuronScale, layer.neurons.size(), "neuron_scale", subject);
    checkVector(own.attentionBias, own.attentionBias.size(), "attention_bias", subject);
    checkVector(own.mlpBias, own.mlpBias.size(), "mlp_bias", subject);
    const std::size_t headColumns = layer.heads.size() * static_cast<std::size_t>(headDim);
    checkWeight(own.outputWeight, headColumns, checked.outputWeight, "o_weight", subject);
    checkWeight(own.downWeight, layer.neurons.size(), checked.downWeight, "down_weight", subject);
}

/// @param columns of the projection
void checkWeightFits(const SharedWeight& weight, int hidden, int columns, const char* name,
                     const std::string& subject) {
    const auto expected = static_cast<std::size_t>(hidden) * static_cast<std::size_t>(columns);
    if (weight && weight->size() != expected)
        throw Error(fmt::format("expected {} x {} numbers, found {}", hidden, columns, weight->size()),
                    fmt::format("{}: {}", subject, name));
}

void refuseFactorsOfReplaced(const LayerCompensation& own, const std::string& subject) {
    const auto refuse = [&](const char* weight, const char* factors) {
        throw Error(fmt::format("has {} and {}: a projection is either replaced or scaled", weight, factors), subject);
    };
    if (own.outputWeight && !own.headScale.empty())
        refuse("o_weight", "head_scale");
    if (own.downWeight && !own.neuronScale.empty())
        refuse("down_weight", "neuron_scale");
}

void checkCompensationFits(const LayerMask& mask, const LayerSpec& layer, int hidden, const std::string& subject) {
    const LayerCompensation& own = compensationOf(mask);
    refuseFactorsOfReplaced(own, subject);
    if (hidden == 0) // a spec that was made from a structure knows neither the width nor all kinds of attention
        return;
    checkVector(own.attentionBias, static_cast<std::size_t>(hidden), "attention_bias", subject);
    checkVector(own.mlpBias, static_cast<std::size_t>(hidden), "mlp_bias", subject);
    if (layer.attention == AttentionKind::none && own.ofAttention() != LayerCompensation())
        throw Error("has no attention to compensate", subject);
    if (layer.attention == AttentionKind::linear && !own.headScale.empty())
        throw Error("has linear attention, whose heads have no factors", subject + ": head_scale");
    if (layer.ffn == 0 && own.ofMlp() != LayerCompensation())
        throw Error("has no MLP to compensate", subject);
    const int columns = layer.attention == AttentionKind::linear ? hidden : layer.heads * layer.headDim;
    checkWeightFits(own.outputWeight, hidden, columns, "o_weight", subject);
    checkWeightFits(own.downWeight, hidden, layer.ffn, "down_weight", subject);
}

void checkAttention(const LayerMask& layer, const std::string& subject) {
    if (!(layer.alpha >= 0 && layer.alpha <= mostAlpha)) // also true for NaN
        throw Error(fmt::format("expected a number from 0 to {}, found {}", mostAlpha, exactly(layer.alpha)),
                    subject + ": alpha");
    if (layer.attention == AttentionCut::bypassQk && layer.heads.empty())
        throw Error("has no heads, so there are no queries and keys to bypass", subject);
}

} // namespace

int LayerMask::keptHeads() const {
    return block && attention != AttentionCut::drop ? kept(heads) : 0;
}

int LayerMask::keptNeurons() const {
    return block && mlp ? kept(neurons) : 0;
}

bool LayerMask::hasCuts() const {
    return !(block && mlp && attention == AttentionCut::keep && allKept(heads) && allKept(neurons));
}

bool LayerMask::keepsAll() const {
    return !hasCuts() && !compensation;
}

bool LayerMask::operator==(const LayerMask& other) const {
    return haveEqualAttention(*this, other) && haveEqualMlp(*this, other);
}

const LayerCompensation& compensationOf(const LayerMask& mask) {
    static const LayerCompensation none;
    return mask.compensation ? *mask.compensation : none;
}

bool haveEqualAttention(const LayerMask& a, const LayerMask& b) {
    if (a.block != b.block || a.attention != b.attention || a.alpha != b.alpha || a.heads != b.heads)
        return false;
    if (a.compensation == b.compensation) // the same object
        return true;
    const LayerCompensation& own = compensationOf(a);
    const LayerCompensation& other = compensationOf(b);
    return own.headScale == other.headScale && own.attentionBias == other.attentionBias &&
           haveEqualNumbers(own.outputWeight, other.outputWeight);
}

bool haveEqualMlp(const LayerMask& a, const LayerMask& b) {
    if (a.block != b.block || a.mlp != b.mlp || a.neurons != b.neurons)
        return false;
    if (a.compensation == b.compensation)
        return true;
    const LayerCompensation& own = compensationOf(a);
    const LayerCompensation& other = compensationOf(b);
    return own.neuronScale == other.neuronScale && own.mlpBias == other.mlpBias &&
           haveEqualNumbers(own.downWeight, other.downWeight);
}

PruningMask::PruningMask(const ModelSpec& spec)
    : m_architecture(spec.architecture)
    , m_structure(spec.structure())
    , m_tiedGroups(spec.tiedGroups()) {
    for (const LayerSpec& layer : spec.layers) {
        LayerMask mask;
        mask.heads = std::vector<bool>(static_cast<std::size_t>(layer.heads), true);
        mask.neurons = std::vector<bool>(static_cast<std::size_t>(layer.ffn), true);
        m_layers.push_back(std::move(mask));
        m_headDims.push_back(layer.kvHeads > 0 ? layer.headDim : 0);
    }
}

std::vector<int> PruningMask::tiedTo(int index) const {
    const auto holds = [index](const std::vector<int>& group) { return std::ranges::binary_search(group, index); };
    const auto found = std::ranges::find_if(m_tiedGroups, holds);
    return found == m_tiedGroups.end() ? std::vector<int>{index} : *found;
}

void PruningMask::setLayer(int index, LayerMask layer) {
    const std::string subject = fmt::format("layer {}", index);
    checkCounts(layer, this->layer(index), subject);
    checkAttention(layer, subject);
    const int headDim = m_headDims.at(static_cast<std::size_t>(index));
    checkCompensation(layer, this->layer(index), headDim, subject);
    const LayerMask cut = canonical(std::move(layer), headDim);
    for (const int tied : tiedTo(index))
        m_layers.at(static_cast<std::size_t>(tied)) = cut;
}

bool PruningMask::keepsAll() const {
    return std::ranges::all_of(m_layers, &LayerMask::keepsAll);
}

bool PruningMask::isCompensated() const {
    return std::ranges::any_of(m_layers, [](const LayerMask& layer) { return layer.compensation != nullptr; });
}

void PruningMask::checkFits(const ModelSpec& spec) const {
    checkMaskFits(m_architecture, m_structure, spec);
    for (std::size_t index = 0; index < m_layers.size(); ++index)
        if (m_layers[index].compensation)
            checkCompensationFits(m_layers[index], spec.layers[index], spec.hidden,
                                  fmt::format("compensation of layer {}", index));
}

void checkMaskFits(const std::string& architecture, const std::string& structure, const ModelSpec& spec) {
    if (architecture == spec.architecture && structure == spec.structure())
        return;
    throw Error(fmt::format("is made for {} {}, but the model is {} {}", architecture, structure, spec.architecture,
                            spec.structure()),
                {}, "A mask fits only models of its own structure");
}

} // namespace secateur
