#include "analysis/weights/tensor_comparison.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace secateur {

namespace {

/// A weight of the model, or the name of a tensor that holds none.
using WeightKey = std::pair<int, WeightName>;

struct PlaceOfWeight {
    std::size_t tensor = 0;
    std::size_t part = 0;
};

std::map<WeightKey, PlaceOfWeight> placesOf(const StoredTensors& stored) {
    std::map<WeightKey, PlaceOfWeight> places;
    for (std::size_t tensor = 0; tensor < stored.tensors().size(); ++tensor) {
        const std::vector<TensorPart>& parts = stored.tensors()[tensor].parts;
        for (std::size_t part = 0; part < parts.size(); ++part)
            places.emplace(WeightKey{parts[part].layer, parts[part].weight}, PlaceOfWeight{tensor, part});
    }
    return places;
}

/// The shape of a weight as [out, in]; [out] for a vector.
std::vector<std::int64_t> shapeOf(const StoredTensor& tensor, const TensorPart& part) {
    std::vector<std::int64_t> shape = tensor.shape;
    if (part.transposed)
        std::ranges::reverse(shape);
    if (!shape.empty())
        shape.front() = part.rows;
    return shape;
}

/// The units by which a weight gets smaller when they are pruned.
struct PrunedUnits {
    int LayerSpec::* count;
    std::string_view name;
};

std::optional<PrunedUnits> prunedUnits(WeightName weight) {
    switch (weight) {
    case WeightName::query:
    case WeightName::queryBias:
    case WeightName::output:
        return PrunedUnits{&LayerSpec::heads, "heads"};
    case WeightName::key:
    case WeightName::keyBias:
    case WeightName::value:
    case WeightName::valueBias:
        return PrunedUnits{&LayerSpec::kvHeads, "KV groups"};
    case WeightName::gate:
    case WeightName::gateBias:
    case WeightName::up:
    case WeightName::upBias:
    case WeightName::down:
        return PrunedUnits{&LayerSpec::ffn, "neurons"};
    default:
        return {};
    }
}

std::string shapesText(const TensorPair& pair) {
    return fmt::format("the shapes [{}] and [{}] differ", fmt::join(pair.firstShape, ", "),
                       fmt::join(pair.secondShape, ", "));
}

/// "the shapes [576, 576] and [512, 576] differ: pruned from 9 to 8 heads".
std::string differentShapes(const StoredTensors& first, const StoredTensors& second, const TensorPair& pair) {
    const std::string shapes = shapesText(pair);
    if (!pair.firstPart)
        return shapes;
    const TensorPart& part = first.tensors()[pair.first].parts[*pair.firstPart];
    const std::optional<PrunedUnits> units = prunedUnits(part.weight);
    const auto layer = static_cast<std::size_t>(std::max(part.layer, 0));
    if (!units || part.layer < 0 || layer >= second.spec()->layers.size())
        return shapes;
    const int before = first.spec()->layers[layer].*units->count;
    const int after = second.spec()->layers[layer].*units->count;
    return before > after ? shapes + fmt::format(": pruned from {} to {} {}", before, after, units->name) : shapes;
}

void findObstacle(const StoredTensors& first, const StoredTensors& second, TensorPair& pair) {
    for (const StoredTensor* tensor : {&first.tensors()[pair.first], &second.tensors()[pair.second]})
        if (!tensor->isReadable && pair.obstacle.empty())
            pair.obstacle = fmt::format("is stored as {}, which is not supported", tensor->type);
    if (pair.obstacle.empty() && pair.firstShape != pair.secondShape)
        pair.obstacle = differentShapes(first, second, pair);
}

class Pairing {
public:
    Pairing(const StoredTensors& first, const StoredTensors& second)
        : m_first(first)
        , m_second(second)
        , m_places(placesOf(second)) {
        for (std::size_t tensor = 0; tensor < second.tensors().size(); ++tensor)
            m_names.emplace(second.tensors()[tensor].name, tensor);
    }

    TensorPairs result() {
        for (std::size_t tensor = 0; tensor < m_first.tensors().size(); ++tensor)
            if (!pairParts(tensor) && !pairName(tensor))
                m_result.onlyFirst.push_back(tensor);
        for (std::size_t tensor = 0; tensor < m_second.tensors().size(); ++tensor)
            if (!m_paired.contains(tensor))
                m_result.onlySecond.push_back(tensor);
        compareLayers();
        return std::move(m_result);
    }

private:
    bool pairParts(std::size_t index) {
        const StoredTensor& tensor = m_first.tensors()[index];
        bool isPaired = false;
        for (std::size_t part = 0; part < tensor.parts.size(); ++part) {
            const TensorPart& weight = tensor.parts[part];
            const auto found = m_places.find({weight.layer, weight.weight});
            if (found == m_places.end())
                continue;
            const StoredTensor& other = m_second.tensors()[found->second.tensor];
            TensorPair pair{.name = tensor.parts.size() > 1 ? fmt::format("{} ({})", tensor.name, title(weight.weight))
                                                            : tensor.name,
                            .first = index,
                            .second = found->second.tensor,
                            .firstPart = part,
                            .secondPart = found->second.part,
                            .firstShape = shapeOf(tensor, weight),
                            .secondShape = shapeOf(other, other.parts[found->second.part]),
                            .obstacle = {}};
            add(std::move(pair));
            isPaired = true;
        }
        return isPaired;
    }

    bool pairName(std::size_t index) {
        const StoredTensor& tensor = m_first.tensors()[index];
        const auto found = m_names.find(tensor.name);
        if (found == m_names.end())
            return false;
        const StoredTensor& other = m_second.tensors()[found->second];
        if (!tensor.parts.empty() && !other.parts.empty()) // known weights of both models, but not the same one
            return false;
        add({.name = tensor.name,
             .first = index,
             .second = found->second,
             .firstPart = {},
             .secondPart = {},
             .firstShape = tensor.shape,
             .secondShape = other.shape,
             .obstacle = {}});
        return true;
    }

    void add(TensorPair pair) {
        findObstacle(m_first, m_second, pair);
        m_paired.insert(pair.second);
        m_result.pairs.push_back(std::move(pair));
    }

    void compareLayers() {
        const auto layers = [](const StoredTensors& stored) { return stored.spec() ? stored.spec()->layerCount() : 0; };
        const int here = layers(m_first);
        const int there = layers(m_second);
        if (here > 0 && there > 0 && here != there)
            m_result.warnings.push_back(
                fmt::format("the checkpoints have {} and {} layers; layers are paired by their number", here, there));
    }

    const StoredTensors& m_first;
    const StoredTensors& m_second;
    std::map<WeightKey, PlaceOfWeight> m_places; ///< of the second checkpoint
    std::map<std::string, std::size_t> m_names;  ///< of the second checkpoint
    std::set<std::size_t> m_paired;              ///< tensors of the second checkpoint
    TensorPairs m_result;
};

std::shared_ptr<const NumberGrid> gridOf(const StoredTensors& stored, std::size_t tensor,
                                         const std::optional<std::size_t>& part) {
    return part ? stored.weightGrid(tensor, *part) : stored.grid(tensor);
}

} // namespace

TensorPairs pairTensors(const StoredTensors& first, const StoredTensors& second) {
    return Pairing(first, second).result();
}

std::shared_ptr<const NumberGrid> firstGrid(const StoredTensors& first, const TensorPair& pair) {
    return gridOf(first, pair.first, pair.firstPart);
}

std::shared_ptr<const NumberGrid> secondGrid(const StoredTensors& second, const TensorPair& pair) {
    return gridOf(second, pair.second, pair.secondPart);
}

} // namespace secateur
