#include "backends/engine/stored_weights.h"

#include <algorithm>
#include <array>
#include <optional>

namespace secateur {

namespace {

/// The stored rows of a weight; none if the model does not read it from a file as it is.
std::optional<StoredRows> rowsOf(const Model& model, int layer, WeightName name) {
    const auto* source = dynamic_cast<const StoredSource*>(&model);
    return source ? source->storedRows(layer, name) : std::nullopt;
}

/// The indices of the rows or columns of heads or neurons.
std::vector<std::int64_t> indicesOf(const WeightPart& part) {
    std::vector<std::int64_t> indices;
    for (const std::int64_t kept : *part.kept)
        for (int i = 0; i < part.unit; ++i)
            indices.push_back(kept * part.unit + i);
    return indices;
}

std::optional<StoredMatrix::Part> storedPart(const Model& model, int layer, const WeightPart& part) {
    const auto found = rowsOf(model, layer, part.name);
    const auto type = found ? blockTypeNamed(found->type) : std::nullopt;
    if (!type || found->order.empty())
        return {};
    StoredMatrix::Part made{*type, found->rows.data(), {}, found->file};
    if (!part.kept || part.cutsColumns)
        made.rows = found->order;
    else
        for (const std::int64_t row : indicesOf(part))
            made.rows.push_back(found->order[static_cast<std::size_t>(row)]);
    return made;
}

} // namespace

std::int64_t WeightPart::rows(const Model& model, int layer) const {
    return kept && !cutsColumns ? std::ssize(*kept) * unit : expectedShape(model.spec(), layer, name).front();
}

std::shared_ptr<const StoredMatrix> storedMatrix(const Model& model, int layer, std::span<const WeightPart> parts) {
    std::vector<StoredMatrix::Part> stored;
    std::vector<std::int64_t> columns;
    for (const WeightPart& part : parts) {
        auto own = storedPart(model, layer, part);
        if (!own || (part.kept && part.kept->empty()))
            return nullptr;
        stored.push_back(std::move(*own));
        if (part.kept && part.cutsColumns)
            columns = indicesOf(part);
    }
    const std::int64_t all = expectedShape(model.spec(), layer, parts.front().name).back();
    if (std::ssize(columns) == all)
        columns.clear();
    return std::make_shared<StoredMatrix>(std::move(stored), all, std::move(columns));
}

bool hasStoredProjections(const Model& model, int layer) {
    using enum WeightName;
    const auto* source = dynamic_cast<const StoredSource*>(&model);
    if (!source) // each plan asks this
        return false;
    const auto isStored = [&](WeightName name) { return blockTypeNamed(source->storedType(layer, name)).has_value(); };
    if (layer < 0)
        return model.has(layer, lmHead) && isStored(lmHead);
    const std::array all{query, key, value, output, gate, up, down};
    return std::ranges::all_of(all, [&](WeightName name) { return !model.has(layer, name) || isStored(name); });
}

} // namespace secateur
