#include "analysis/masks/pruning_mask.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"

#include <fmt/core.h>

#include <algorithm>

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
LayerMask canonical(LayerMask layer) {
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
    if (layer.compensation && (!layer.block || layer.compensation->empty()))
        layer.compensation.reset();
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

bool LayerMask::keepsAll() const {
    return block && mlp && attention == AttentionCut::keep && allKept(heads) && allKept(neurons) && !compensation;
}

bool LayerMask::operator==(const LayerMask& other) const {
    const bool isEquallyCut = heads == other.heads && neurons == other.neurons && attention == other.attention &&
                              alpha == other.alpha && mlp == other.mlp && block == other.block;
    if (!isEquallyCut || compensation == other.compensation)
        return isEquallyCut;
    return compensation && other.compensation && *compensation == *other.compensation;
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
    const LayerMask cut = canonical(std::move(layer));
    for (const int tied : tiedTo(index))
        m_layers.at(static_cast<std::size_t>(tied)) = cut;
}

bool PruningMask::keepsAll() const {
    return std::ranges::all_of(m_layers, &LayerMask::keepsAll);
}

void PruningMask::checkFits(const ModelSpec& spec) const {
    checkMaskFits(m_architecture, m_structure, spec);
}

void checkMaskFits(const std::string& architecture, const std::string& structure, const ModelSpec& spec) {
    if (architecture == spec.architecture && structure == spec.structure())
        return;
    throw Error(fmt::format("is made for {} {}, but the model is {} {}", architecture, structure, spec.architecture,
                            spec.structure()),
                {}, "A mask fits only models of its own structure");
}

} // namespace secateur
