#include "widgets/weights/tensor_source.h"

#include "analysis/base/error.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

namespace {

constexpr std::size_t keptPyramids = 3; ///< of the tensors that were shown last
/// Cells of all kept pyramids: one large tensor, or a few of usual size.
constexpr std::int64_t keptCells = BlockPyramid::baseCells;

} // namespace

void TensorSource::setStored(std::shared_ptr<const StoredTensors> stored) {
    m_stored = std::move(stored);
    m_kept.clear();
    setOther(nullptr, {});
}

void TensorSource::setOther(std::shared_ptr<const StoredTensors> other, TensorPairs pairs) {
    m_other = std::move(other);
    m_pairs = std::move(pairs);
    std::erase_if(m_kept, [](const Kept& kept) {
        return kept.shown == TensorShown::other || kept.shown == TensorShown::difference;
    });
}

std::vector<const TensorPair*> TensorSource::pairsOf(std::size_t tensor) const {
    std::vector<const TensorPair*> found;
    for (const TensorPair& pair : m_pairs.pairs)
        if (pair.first == tensor)
            found.push_back(&pair);
    return found;
}

std::vector<TensorShown> TensorSource::choices(std::size_t tensor) const {
    std::vector<TensorShown> choices{TensorShown::values};
    if (this->tensor(tensor).hasScales)
        choices.push_back(TensorShown::scales);
    if (this->tensor(tensor).hasMinima)
        choices.push_back(TensorShown::minima);
    if (m_other) {
        choices.push_back(TensorShown::other);
        choices.push_back(TensorShown::difference);
    }
    return choices;
}

std::shared_ptr<const NumberGrid> TensorSource::grid(std::size_t tensor, TensorShown shown) const {
    switch (shown) {
    case TensorShown::values:
        return m_stored->grid(tensor, TensorPlane::values);
    case TensorShown::scales:
        return m_stored->grid(tensor, TensorPlane::scales);
    case TensorShown::minima:
        return m_stored->grid(tensor, TensorPlane::minima);
    case TensorShown::other:
    case TensorShown::difference:
        break;
    }
    const std::vector<const TensorPair*> pairs = pairsOf(tensor);
    if (pairs.empty())
        throw Error("is not in the compared checkpoint", this->tensor(tensor).name);
    const TensorPair& pair = *pairs.front();
    if (shown == TensorShown::other)
        return secondGrid(*m_other, pair);
    if (!pair.obstacle.empty())
        throw Error(pair.obstacle, pair.name);
    return differenceGrid(firstGrid(*m_stored, pair), secondGrid(*m_other, pair));
}

std::shared_ptr<BlockPyramid> TensorSource::pyramid(std::size_t tensor, TensorShown shown) {
    const auto kept =
        std::ranges::find_if(m_kept, [&](const Kept& each) { return each.tensor == tensor && each.shown == shown; });
    if (kept != m_kept.end()) {
        std::rotate(m_kept.begin(), kept, kept + 1);
        return m_kept.front().pyramid;
    }
    auto made = std::make_shared<BlockPyramid>(grid(tensor, shown));
    m_kept.push_front({tensor, shown, made});
    dropOldest();
    return made;
}

void TensorSource::dropOldest() {
    std::int64_t cells = 0;
    std::size_t count = 0;
    for (const Kept& kept : m_kept) {
        cells += kept.pyramid->cells();
        if (count == keptPyramids || cells > keptCells)
            break;
        ++count;
    }
    m_kept.resize(count);
}

TensorDifference joined(const std::vector<TensorDifference>& parts) {
    TensorDifference all;
    double squares = 0;
    double differences = 0;
    for (const TensorDifference& part : parts) {
        all.count += part.count;
        all.different += part.different;
        all.notFinite += part.notFinite;
        squares += part.norm * part.norm;
        differences += part.difference * part.difference;
        if (part.largest > all.largest) {
            all.largest = part.largest;
            all.row = part.row;
            all.column = part.column;
        }
    }
    all.norm = std::sqrt(squares);
    all.difference = std::sqrt(differences);
    return all;
}

} // namespace secateur
