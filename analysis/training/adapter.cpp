#include "analysis/training/adapter.h"

#include "analysis/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace secateur {

namespace {

void checkNumbers(const std::vector<float>& numbers, std::int64_t expected, const std::string& name) {
    if (std::ssize(numbers) != expected)
        throw Error(fmt::format("The adapter of the {} has {} numbers, but the model needs {}", name, numbers.size(),
                                expected));
    if (!std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); }))
        throw Error(fmt::format("The adapter of the {} has numbers that are not finite", name));
}

std::string nameOf(const WeightPlace& place) {
    const auto& [layer, name] = place;
    return layer < 0 ? std::string(title(name)) : fmt::format("{} in layer {}", title(name), layer);
}

void checkPlace(const WeightPlace& place, const ModelSpec& spec) {
    const auto& [layer, name] = place;
    if (layer >= spec.layerCount() || isOfLayer(name) != (layer >= 0) || needOf(spec, layer, name) == Need::absent)
        throw Error(fmt::format("The adapter changes the {}, which the model does not have", nameOf(place)));
    if (layer >= 0 && spec.firstSharing(layer) != layer)
        throw Error(fmt::format("The adapter changes the {}, which shares the weights of layer {}", nameOf(place),
                                spec.firstSharing(layer)));
}

} // namespace

bool canHaveUpdate(WeightName name) {
    using enum WeightName;
    constexpr std::array names{query, key, value, output, gate, up, down};
    return std::ranges::find(names, name) != names.end();
}

ModelSpec specWith(const Adapter& adapter, ModelSpec spec) {
    const auto own = adapter.weights.find({-1, WeightName::classifier});
    if (spec.family == Family::encoder && own != adapter.weights.end())
        spec.classes = static_cast<int>(own->second.size() / static_cast<std::size_t>(std::max(1, spec.hidden)));
    return spec;
}

Adapter newClassifier(const ModelSpec& spec, int classes) {
    const auto count = static_cast<std::size_t>(classes);
    Adapter adapter;
    adapter.weights[{-1, WeightName::classifier}].assign(count * static_cast<std::size_t>(spec.hidden), 0);
    adapter.weights[{-1, WeightName::classifierBias}].assign(count, 0);
    return adapter;
}

void checkFits(const Adapter& adapter, const ModelSpec& dense) {
    const ModelSpec spec = specWith(adapter, dense);
    for (const auto& [place, update] : adapter.updates) {
        checkPlace(place, spec);
        if (!canHaveUpdate(place.second) || update.rank < 1)
            throw Error(fmt::format("The {} cannot have a low-rank update of rank {}", nameOf(place), update.rank));
        const std::vector<std::int64_t> shape = expectedShape(spec, place.first, place.second);
        checkNumbers(update.a, update.rank * shape.at(1), nameOf(place));
        checkNumbers(update.b, update.rank * shape.at(0), nameOf(place));
    }
    for (const auto& [place, numbers] : adapter.weights) {
        checkPlace(place, spec);
        std::int64_t count = 1;
        for (const std::int64_t size : expectedShape(spec, place.first, place.second))
            count *= size;
        checkNumbers(numbers, count, nameOf(place));
    }
}

} // namespace secateur
