#include "backends/export/compact_tensors.h"

#include "analysis/base/error.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace secateur {

namespace {

using Indices = std::vector<std::int64_t>;

Indices range(std::int64_t count) {
    Indices indices(static_cast<std::size_t>(count));
    std::iota(indices.begin(), indices.end(), 0);
    return indices;
}

/// The rows of heads. @param order of the rows within a head
Indices rowsOfHeads(const std::vector<int>& heads, const Indices& order) {
    Indices rows;
    const std::int64_t size = std::ssize(order);
    for (const int head : heads)
        for (const std::int64_t row : order)
            rows.push_back(head == zeroUnit ? zeroIndex : head * size + row);
    return rows;
}

Indices rowsOfNeurons(const std::vector<int>& neurons) {
    return {neurons.begin(), neurons.end()}; // zeroUnit is zeroIndex
}
static_assert(zeroUnit == zeroIndex);

/// The order in which the rows of a head are read, so that rotary pairs are stored as the target stores them.
Indices rotaryOrder(int size, bool fromPairs, bool toPairs) {
    Indices order = range(size);
    if (fromPairs == toPairs)
        return order;
    const int half = size / 2;
    for (int pair = 0; pair < half; ++pair)
        for (const int part : {0, 1}) {
            const int inPairs = 2 * pair + part;
            const int inHalves = part * half + pair;
            order[static_cast<std::size_t>(toPairs ? inPairs : inHalves)] = toPairs ? inHalves : inPairs;
        }
    return order;
}

bool isRotated(WeightName weight) {
    using enum WeightName;
    return weight == query || weight == key || weight == queryBias || weight == keyBias;
}

/// A weight of the exported model: a matrix [rows, columns], or a vector [rows].
struct Piece {
    TensorSlot slot; ///< its entry is null if the source has no such weight
    Indices rows;    ///< of the weight [out, in]
    std::optional<Indices> columns = {};
    std::vector<float> columnFactors = {};
    std::vector<float> added = {}; ///< to a vector: [rows]
    float filling = 0;             ///< the numbers of a vector that the source does not have
    WeightReading changed = {};    ///< reads a weight that is not that of the slot; empty = it is
    bool isMerged = false;         ///< whether an adapter changes it
};

/// A weight, or a part of a fused tensor.
struct Part {
    Piece piece;
    std::vector<std::int64_t> shape;
};

class Builder {
public:
    Builder(const CheckpointDescription& source, const TensorSlots& slots, const ChangedWeights& changed,
            const PruningMask& mask, const ExportLayout& layout, const TensorConventions& target)
        : m_source(source)
        , m_slots(slots)
        , m_changed(changed)
        , m_mask(mask)
        , m_layout(layout)
        , m_target(target) {}

    std::vector<TargetTensor> build() {
        for (int layer = -1; layer < m_layout.spec.layerCount(); ++layer)
            for (std::size_t weight = 0; weight < weightNameCount; ++weight)
                addWeight(layer, static_cast<WeightName>(weight));
        return std::move(m_tensors);
    }

private:
    const ExportedLayer& exported(int layer) const { return m_layout.layers[static_cast<std::size_t>(layer)]; }
    const LayerSpec& exportedSpec(int layer) const { return m_layout.spec.layers[static_cast<std::size_t>(layer)]; }
    const LayerSpec& sourceSpec(int layer) const {
        return m_source.spec.layers[static_cast<std::size_t>(exported(layer).source)];
    }
    CutLayer cut(int layer) const { return cutLayer(m_source.spec, m_mask, exported(layer).source); }

    void addWeight(int layer, WeightName weight) {
        const Need need = needOf(m_layout.spec, layer, weight);
        if (need == Need::absent)
            return;
        const TensorPattern* pattern = m_target.pattern(weight);
        const TensorSlot slot = m_slots.slot(layer < 0 ? -1 : exported(layer).source, weight);
        if (!pattern || (need == Need::optional && !slot.entry && !isChanged(layer, weight)))
            return; // only an adapter may have a classifier that the files have not
        if (slot.entry && slot.entry->type->reading == StorageType::Reading::unsupported)
            throw Error(fmt::format("is stored as {}, which cannot be read", slot.entry->type->name),
                        slot.entry->subject(), "Types that can be read are " + readableTypes(*slot.entry->type));
        const int stored = layer < 0 ? layer : m_layout.spec.storedLayer(layer);
        if (stored != layer)
            return; // written with the layer whose weights it shares
        const std::string name = filledIn(pattern->pattern, m_target.prefix, stored, m_layout.spec.layersPerGroup);
        if (isMadeLinear(layer, weight))
            m_tensors.push_back(linearTensor(name, layer));
        else
            write(name, pieceOf(layer, weight, slot), pattern->transposed, expectedShape(m_layout.spec, layer, weight));
    }

    /// Whether the attention of a layer becomes a single matrix in the export.
    bool isMadeLinear(int layer, WeightName weight) const {
        return layer >= 0 && weight == WeightName::output && exportedSpec(layer).attention == AttentionKind::linear &&
               sourceSpec(layer).attention != AttentionKind::linear;
    }

    TargetTensor linearTensor(const std::string& name, int layer) const {
        const int index = exported(layer).source;
        const std::int64_t hidden = m_source.spec.hidden;
        TargetTensor tensor{
            name, &m_target.type({hidden, hidden}, nullptr, NumbersFrom::cut, hidden), {hidden, hidden}, {}};
        FilePiece piece;
        piece.bytes = storedBytes(*tensor.type, hidden * hidden);
        piece.make = [type = tensor.type, hidden,
                      folded = FoldedAttention(reading(index, WeightName::value), reading(index, WeightName::output),
                                               cut(layer))] {
            const at::Tensor matrix = folded.matrix();
            return encodedRows(*type, {matrix.data_ptr<float>(), static_cast<std::size_t>(matrix.numel())},
                               static_cast<std::size_t>(hidden));
        };
        tensor.pieces.push_back(std::move(piece));
        return tensor;
    }

    /// Reads a weight of the source when it is written.
    WeightReading reading(int layer, WeightName weight) const {
        if (m_changed.contains(layer, weight))
            return [changed = &m_changed, layer, weight] { return changed->numbers(layer, weight); };
        return [slot = m_slots.slot(layer, weight)] { return readSlot(slot); };
    }

    int sourceOf(int layer) const { return layer < 0 ? layer : exported(layer).source; }
    /// Whether the weight is not that of the file. It then has the layout of Model::tensor().
    bool isChanged(int layer, WeightName weight) const { return m_changed.contains(sourceOf(layer), weight); }

    Piece pieceOf(int layer, WeightName weight, const TensorSlot& slot) const {
        Piece piece = storedPiece(layer, weight, slot);
        if (isChanged(layer, weight)) {
            piece.changed = reading(sourceOf(layer), weight);
            piece.isMerged = m_changed.isMerged(sourceOf(layer), weight);
        }
        return piece;
    }

    Piece storedPiece(int layer, WeightName weight, const TensorSlot& slot) const {
        if (layer < 0 || isNorm(weight))
            return normOrWhole(layer, weight, slot);
        using enum WeightName;
        const ExportedLayer& units = exported(layer);
        const int size = sourceSpec(layer).headDim;
        const bool fromPairs = m_source.pairsRotaryRows && !isChanged(layer, weight);
        const Indices order =
            rotaryOrder(size, fromPairs && isRotated(weight), m_target.pairsRotaryRows && isRotated(weight));
        switch (weight) {
        case query:
        case queryBias:
            return {slot, rowsOfHeads(units.heads, order)};
        case key:
        case keyBias:
        case value:
        case valueBias:
            return {slot, rowsOfHeads(units.kvHeads, order)};
        case output:
            return outputPiece(layer, slot, order);
        case gate:
        case gateBias:
        case up:
        case upBias:
            return {slot, rowsOfNeurons(units.neurons)};
        case down:
            return downPiece(layer, slot);
        case outputBias:
        case downBias:
            return biasPiece(layer, weight, slot);
        default: // biases of norms
            return whole(layer, weight, slot);
        }
    }

    Piece whole(int layer, WeightName weight, const TensorSlot& slot) const {
        return {slot, range(expectedShape(m_layout.spec, layer, weight).front())};
    }

    /// Some files store the weights of norms as 1 + w.
    Piece normOrWhole(int layer, WeightName weight, const TensorSlot& slot) const {
        Piece piece = whole(layer, weight, slot);
        if (!isNorm(weight))
            return piece;
        const bool isOffset = m_layout.spec.normWeightOffset != 0;
        piece.filling = isOffset && !m_target.addsOneToNorms ? 0.0F : 1.0F;
        const bool hasOne = m_source.addsOneToNorms && !isChanged(layer, weight);
        if (slot.entry && hasOne != m_target.addsOneToNorms)
            piece.added.assign(piece.rows.size(), m_target.addsOneToNorms ? 1.0F : -1.0F);
        return piece;
    }

    Piece outputPiece(int layer, const TensorSlot& slot, const Indices& order) const {
        Piece piece{slot, range(m_source.spec.hidden)};
        if (exportedSpec(layer).attention == AttentionKind::linear)
            return piece;
        piece.columns = rowsOfHeads(exported(layer).heads, order);
        const std::vector<float>& scale = compensationOf(cut(layer).mask).headScale;
        for (std::size_t i = 0; i < piece.columns->size() && !scale.empty(); ++i) {
            const std::int64_t column = (*piece.columns)[i];
            piece.columnFactors.push_back(
                column == zeroIndex ? 1.0F : scale[static_cast<std::size_t>(column / std::ssize(order))]);
        }
        return piece;
    }

    Piece downPiece(int layer, const TensorSlot& slot) const {
        Piece piece{slot, range(m_source.spec.hidden), rowsOfNeurons(exported(layer).neurons)};
        const std::vector<float>& scale = compensationOf(cut(layer).mask).neuronScale;
        for (const std::int64_t column : scale.empty() ? Indices() : *piece.columns)
            piece.columnFactors.push_back(column == zeroIndex ? 1.0F : scale[static_cast<std::size_t>(column)]);
        return piece;
    }

    /// The bias of a sublayer's last matrix. It is 0 if the mask drops the sublayer.
    Piece biasPiece(int layer, WeightName weight, const TensorSlot& slot) const {
        const CutLayer own = cut(layer);
        const bool attention = weight == WeightName::outputBias;
        const bool isKept = attention ? own.hasAttention() : own.hasMlp();
        Piece piece = whole(layer, weight, isKept ? slot : TensorSlot());
        const LayerCompensation& compensation = compensationOf(own.mask);
        if (isKept)
            piece.added = attention ? compensation.attentionBias : compensation.mlpBias;
        // The factor of a bypass multiplies the bias of the file too, but not that of a compensation, unless a norm
        // follows.
        const LayerSpec& spec = exportedSpec(layer);
        if (attention && spec.attention == AttentionKind::valueOnly && m_layout.spec.normPlace != NormPlace::sandwich)
            for (float& number : piece.added)
                number = static_cast<float>(number / spec.alpha);
        return piece;
    }

    /// Appends a weight to its tensor, which other weights may share.
    void write(const std::string& name, const Piece& piece, bool transposed, const std::vector<std::int64_t>& shape) {
        const bool turns = shape.size() > 1 && (transposed || piece.slot.transposed);
        TargetTensor part = shape.size() < 2 ? vectorTensor(piece)
                            : turns          ? turnedTensor(piece, transposed, shape)
                                             : matrixTensor(piece, shape);
        part.name = name;
        const auto known = std::ranges::find(m_tensors, name, &TargetTensor::name);
        if (shape.size() > 1 && !turns)
            m_parts[name].push_back({piece, shape});
        if (known == m_tensors.end())
            m_tensors.push_back(std::move(part));
        else if (known->type != part.type)
            *known = widened(name);
        else
            fuse(*known, std::move(part), transposed);
    }

    /// A matrix of weights that are stored in different types.
    TargetTensor widened(const std::string& name) const {
        const std::vector<Part>& parts = m_parts.at(name);
        const std::vector<std::int64_t>& first = parts.front().shape;
        TargetTensor tensor{name, &m_target.type(first, nullptr, NumbersFrom::cut, first.back()), first, {}};
        tensor.shape.front() = 0;
        for (const Part& part : parts)
            fuse(tensor, matrixTensor(part.piece, part.shape, tensor.type), false);
        return tensor;
    }

    TargetTensor vectorTensor(const Piece& piece) const {
        const std::int64_t size = std::ssize(piece.rows);
        if (!piece.slot.entry && !piece.changed) {
            std::vector<float> numbers(piece.rows.size(), piece.filling);
            for (std::size_t i = 0; i < piece.added.size(); ++i)
                numbers[i] += piece.added[i];
            const StorageType& type = m_target.type({size}, nullptr, NumbersFrom::cut, size);
            return {{}, &type, {size}, {secateur::pieceOf(encodedRows(type, numbers, numbers.size()))}};
        }
        if (piece.changed)
            return changedVector(piece);
        Indices columns = piece.rows;
        for (std::int64_t& column : columns)
            column += column == zeroIndex ? 0 : piece.slot.begin;
        const TensorSelection selection{.rows = {0}, .columns = std::move(columns), .added = piece.added};
        const StorageType& type =
            m_target.type({size}, piece.slot.entry, numbersFrom(*piece.slot.entry, selection), size);
        return {{}, &type, {size}, selectedPieces(*piece.slot.entry, selection, type)};
    }

    /// A vector that an adapter changes.
    TargetTensor changedVector(const Piece& piece) const {
        const std::int64_t size = std::ssize(piece.rows);
        const StorageType& type = m_target.type({size}, piece.slot.entry, NumbersFrom::merged, size);
        FilePiece made;
        made.bytes = storedBytes(type, size);
        made.make = [piece, type = &type] {
            at::Tensor numbers = piece.changed().index_select(0, at::tensor(piece.rows, at::kLong));
            if (!piece.added.empty())
                numbers = numbers + at::tensor(piece.added);
            const auto count = static_cast<std::size_t>(numbers.numel());
            return encodedRows(*type, {numbers.data_ptr<float>(), count}, count);
        };
        return {{}, &type, {size}, {std::move(made)}};
    }

    static NumbersFrom numbersFrom(const TensorEntry& entry, const TensorSelection& selection) {
        return keepsBlocks(entry, selection) ? NumbersFrom::stored : NumbersFrom::cut;
    }

    /// @param wanted type of the tensor; null = the type that its source allows
    TargetTensor matrixTensor(const Piece& piece, const std::vector<std::int64_t>& shape,
                              const StorageType* wanted = nullptr) const {
        const TensorEntry* entry = piece.slot.entry;
        if (piece.changed)
            return turnedTensor(piece, false, shape, wanted);
        if (!entry) {
            const StorageType& type = wanted ? *wanted : m_target.type(shape, nullptr, NumbersFrom::cut, shape.back());
            const std::vector<std::byte> zeros(storedBytes(type, shape.front() * shape.back()));
            return {{}, &type, shape, {secateur::pieceOf(zeros)}};
        }
        Indices rows = piece.rows;
        for (std::int64_t& row : rows)
            row += row == zeroIndex ? 0 : piece.slot.begin;
        const TensorSelection selection{
            .rows = std::move(rows), .columns = piece.columns, .columnFactors = piece.columnFactors};
        const StorageType& type =
            wanted ? *wanted : m_target.type(shape, entry, numbersFrom(*entry, selection), shape.back());
        return {{}, &type, shape, selectedPieces(*entry, selection, type)};
    }

    /// A matrix that is stored as [in, out] in the source, the target, or both, or whose numbers are not in the file.
    /// @param wanted type of the tensor; null = the type that its source allows
    TargetTensor turnedTensor(const Piece& piece, bool transposed, const std::vector<std::int64_t>& shape,
                              const StorageType* wanted = nullptr) const {
        std::vector<std::int64_t> stored = shape;
        if (transposed)
            std::ranges::reverse(stored);
        const bool keeps = piece.columnFactors.empty() && piece.slot.entry && piece.slot.entry->type->elements == 1;
        const NumbersFrom from = piece.isMerged  ? NumbersFrom::merged
                                 : piece.changed ? NumbersFrom::replaced
                                 : keeps         ? NumbersFrom::stored
                                                 : NumbersFrom::cut;
        const StorageType& type = wanted ? *wanted : m_target.type(stored, piece.slot.entry, from, stored.back());
        TargetTensor tensor{{}, &type, stored, {}};
        FilePiece made;
        made.bytes = storedBytes(type, stored.front() * stored.back());
        made.make = [piece, transposed, type = &type, width = static_cast<std::size_t>(stored.back())] {
            at::Tensor matrix = piece.changed ? piece.changed() : readSlot(piece.slot);
            matrix = selectedMatrix(matrix, piece.rows, piece.columns, piece.columnFactors);
            matrix = (transposed ? matrix.t() : matrix).contiguous();
            return encodedRows(*type, {matrix.data_ptr<float>(), static_cast<std::size_t>(matrix.numel())}, width);
        };
        tensor.pieces.push_back(std::move(made));
        return tensor;
    }

    /// Appends the rows of a tensor to another one. Tensors that are stored as [in, out] get more columns.
    static void fuse(TargetTensor& tensor, TargetTensor part, bool transposed) {
        if (!transposed || tensor.shape.size() < 2) {
            tensor.shape.front() += part.shape.front();
            std::ranges::move(part.pieces, std::back_inserter(tensor.pieces));
            return;
        }
        const auto rows = static_cast<std::size_t>(tensor.shape.front());
        FilePiece joined;
        joined.bytes = tensor.bytes() + part.bytes();
        joined.make = [first = tensor.pieces.front(), second = part.pieces.front(), rows] {
            const std::vector<std::byte> left = first.make();
            const std::vector<std::byte> right = second.make();
            std::vector<std::byte> both;
            for (std::size_t row = 0; row < rows; ++row)
                for (const auto* side : {&left, &right}) {
                    const std::size_t width = side->size() / rows;
                    both.insert(both.end(), side->begin() + static_cast<std::ptrdiff_t>(row * width),
                                side->begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
                }
            return both;
        };
        tensor.shape.back() += part.shape.back();
        tensor.pieces = {std::move(joined)};
    }

    const CheckpointDescription& m_source;
    const TensorSlots& m_slots;
    const ChangedWeights& m_changed;
    const PruningMask& m_mask;
    const ExportLayout& m_layout;
    const TensorConventions& m_target;
    std::vector<TargetTensor> m_tensors;
    std::map<std::string, std::vector<Part>> m_parts; ///< of matrices, by the name of their tensor
};

} // namespace

std::vector<TargetTensor> compactTensors(const CheckpointDescription& source, const TensorSlots& slots,
                                         const ChangedWeights& changed, const PruningMask& mask,
                                         const ExportLayout& layout, const TensorConventions& target) {
    return Builder(source, slots, changed, mask, layout, target).build();
}

} // namespace secateur
