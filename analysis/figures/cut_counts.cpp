#include "analysis/figures/cut_counts.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <algorithm>
#include <array>
#include <limits>

namespace secateur {

namespace {

struct NamedKind {
    std::string_view name;
    CutKind kind;
    std::string_view label;
};

constexpr std::array namedKinds{
    NamedKind{"heads", CutUnit::head, "heads"},
    NamedKind{"neurons", CutUnit::neuron, "neurons"},
    NamedKind{"attention", CutUnit::attention, "attention sublayers"},
    NamedKind{"mlps", CutUnit::mlp, "MLPs"},
    NamedKind{"blocks", CutUnit::block, "blocks"},
    NamedKind{"parameters", std::nullopt, "parameters of attention and MLPs"},
};

/// The forms of cuts that a mask has.
struct CutForms {
    bool heads = false;   ///< single heads
    bool neurons = false; ///< single neurons
    bool attention = false; ///< whole sublayers, dropped or bypassed
    bool mlps = false;
    bool blocks = false;
    bool bypasses = false; ///< of queries and keys
};

void addForms(CutForms& forms, const LayerMask& layer) {
    const auto cuts = [](const std::vector<bool>& kept) { return std::ranges::find(kept, false) != kept.end(); };
    forms.heads |= cuts(layer.heads);
    forms.neurons |= cuts(layer.neurons);
    forms.attention |= layer.attention != AttentionCut::keep;
    forms.bypasses |= layer.attention == AttentionCut::bypassQk;
    forms.mlps |= !layer.mlp;
    forms.blocks |= !layer.block;
}

} // namespace

CutKind cutKindNamed(std::string_view name) {
    const auto found = std::ranges::find(namedKinds, name, &NamedKind::name);
    if (found != namedKinds.end())
        return found->kind;
    std::vector<std::string> names{"auto"};
    for (const NamedKind& each : namedKinds)
        names.emplace_back(each.name);
    throw UsageError("unknown kind of units; the known ones are " + join(names, ", "), "unit=" + std::string(name));
}

std::string cutKindLabel(CutKind kind) {
    return std::string(std::ranges::find(namedKinds, kind, &NamedKind::kind)->label);
}

CutKind commonKind(const ModelSpec& spec, std::span<const PruningMask* const> masks) {
    CutForms forms;
    for (const PruningMask* mask : masks)
        for (int layer = 0; layer < mask->layerCount(); ++layer)
            addForms(forms, mask->layer(layer));
    const bool ofAttention = forms.heads || forms.attention;
    const bool ofMlps = forms.neurons || forms.mlps;
    const bool hasHeads =
        std::ranges::any_of(spec.layers, [](const LayerSpec& layer) { return unitsIn(layer, CutUnit::head) > 0; });
    if ((forms.bypasses && forms.heads) || (ofAttention && ofMlps))
        return std::nullopt;
    if (forms.blocks)
        return ofAttention || ofMlps ? CutKind() : CutUnit::block;
    if (ofMlps)
        return forms.neurons ? CutUnit::neuron : CutUnit::mlp;
    return forms.heads || (!forms.attention && hasHeads) ? CutUnit::head : CutUnit::attention;
}

double CutOverlap::jaccard() const {
    return either > 0 ? both / either : std::numeric_limits<double>::quiet_NaN();
}

double CutCounter::removedParameters(const PruningMask& mask) const {
    return static_cast<double>(m_prices.price(mask).layerParameters.saved());
}

double CutCounter::share(const PruningMask& mask, int layer, CutKind kind) const {
    const ModelSpec& spec = m_prices.spec();
    if (!kind) { // of a mask that cuts in this layer only
        PruningMask own(spec);
        PruningMask whole(spec);
        own.setLayer(layer, mask.layer(layer));
        setBlock(whole, layer, false);
        const double all = removedParameters(whole);
        return all > 0 ? removedParameters(own) / all : std::numeric_limits<double>::quiet_NaN();
    }
    const int units = unitsIn(spec.layers.at(static_cast<std::size_t>(layer)), *kind);
    int cut = 0;
    for (int index = 0; index < units; ++index)
        cut += isCut(mask, spec, *kind, layer, index) ? 1 : 0;
    return units > 0 ? static_cast<double>(cut) / units : std::numeric_limits<double>::quiet_NaN();
}

CutOverlap CutCounter::overlap(const PruningMask& a, const PruningMask& b, CutKind kind) const {
    if (!kind)
        return {removedParameters(intersectionOf(a, b)), removedParameters(unionOf(a, b))};
    CutOverlap overlap;
    const ModelSpec& spec = m_prices.spec();
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        for (int index = 0; index < unitsIn(spec.layers[static_cast<std::size_t>(layer)], *kind); ++index) {
            const bool byA = isCut(a, spec, *kind, layer, index);
            const bool byB = isCut(b, spec, *kind, layer, index);
            overlap.both += byA && byB ? 1 : 0;
            overlap.either += byA || byB ? 1 : 0;
        }
    return overlap;
}

} // namespace secateur
