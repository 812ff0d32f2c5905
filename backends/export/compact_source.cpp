#include "backends/export/compact_source.h"

#include "analysis/base/error.h"
#include "analysis/base/known_ids.h"
#include "analysis/base/usage_error.h"
#include "backends/formats/encode.h"
#include "backends/formats/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace secateur {

namespace {

std::optional<GgufPart> firstPartOf(const ModelCard& card) {
    if (card.format != "gguf")
        return std::nullopt;
    const std::string path = std::filesystem::is_directory(card.path) ? ggufModelIn(card.path) : card.path;
    return readGgufParts(path, {}).front();
}

const StorageType* ggufNamed(std::string_view name) {
    for (std::uint32_t number = 0; number < 64; ++number)
        if (const StorageType* type = ggufType(number); type && type->name == name)
            return type;
    return nullptr;
}

bool isFloat(const StorageType& type) {
    return type.name == "F32" || type.name == "F16" || type.name == "BF16";
}

} // namespace

CompactSource::CompactSource(const ModelCard& card)
    : m_checkpoint(formatOf(card.path).open(card.path, {}))
    , m_description(m_checkpoint->describe())
    , m_slots(*m_checkpoint, m_description, card.path)
    , m_names(*m_checkpoint, m_description.tensors, m_description.prefixes)
    , m_firstPart(firstPartOf(card)) {}

CompactSource::CompactSource(const Model& model, const PruningMask& mask)
    : CompactSource(model.card()) {
    m_changed.emplace(model, mask, m_slots, m_description);
}

const TensorPattern* CompactSource::ownPattern(WeightName weight) const {
    const int layers = isOfLayer(weight) ? m_description.spec.layerCount() : 1;
    for (int layer = 0; layer < layers; ++layer)
        if (const FoundTensor found = m_names.find(isOfLayer(weight) ? layer : -1, weight); found.entry)
            return found.pattern;
    for (const auto& patterns : m_description.tensors)
        for (const TensorPattern& pattern : patterns)
            if (pattern.weight == weight)
                return &pattern;
    return nullptr;
}

std::int64_t weightFileBytes(const ModelCard& card) {
    const auto checkpoint = formatOf(card.path).open(card.path, {});
    std::set<const MappedFile*> files;
    std::int64_t bytes = 0;
    for (const TensorEntry& entry : checkpoint->tensors())
        if (files.insert(entry.file.get()).second)
            bytes += static_cast<std::int64_t>(entry.file->bytes().size());
    return bytes;
}

const WritableTypes& ggufTypes() {
    static constexpr WritableTypes types{ggufNamed, true};
    return types;
}

const WritableTypes& safetensorsTypes() {
    static constexpr WritableTypes types{safetensorsType, false};
    return types;
}

std::vector<std::string_view> namesOf(const WritableTypes& format) {
    std::vector<std::string_view> names;
    for (const std::string_view name : {"F32", "F16", "BF16", "Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0"})
        if (const StorageType* type = format.named(name); type && canEncode(*type))
            names.push_back(name);
    return names;
}

WrittenTypes::WrittenTypes(const WritableTypes& format, const std::string& wanted)
    : m_format(format) {
    if (wanted.empty())
        return;
    m_wanted = format.named(wanted);
    if (m_wanted && canEncode(*m_wanted))
        return;
    refuseUnknown("type", wanted, namesOf(format));
}

const StorageType& WrittenTypes::choose(const std::vector<std::int64_t>& shape, const TensorEntry* source,
                                        NumbersFrom from, std::int64_t width) {
    if (shape.size() > 1)
        return forMatrix(source, from, width);
    const StorageType* own =
        source && !m_format.hasFloatVectors && isFloat(*source->type) && from == NumbersFrom::stored
            ? m_format.named(source->type->name)
            : nullptr;
    return own ? *own : *m_format.named("F32");
}

const StorageType& WrittenTypes::forMatrix(const TensorEntry* source, NumbersFrom from, std::int64_t width) {
    if (m_wanted && width % m_wanted->elements == 0) {
        const bool isUnchanged = !source || (source->type->name == m_wanted->name && from == NumbersFrom::stored);
        m_isLossy = m_isLossy || (!isUnchanged && m_wanted->name != "F32");
        return *m_wanted;
    }
    if (m_wanted)
        m_tooNarrow.insert(source ? source->name : std::string("a matrix"));
    const StorageType* own = source ? m_format.named(source->type->name) : nullptr;
    if (own && (from == NumbersFrom::stored || own->name == "F32"))
        return *own;
    if (source && from == NumbersFrom::merged)
        return forMerged(*source, own, width);
    if (from == NumbersFrom::replaced || (own && isFloat(*own))) // a compensation's numbers would be rounded
        return *m_format.named("F32");
    if (source)
        (own ? m_widened : m_unknown).push_back(source->name);
    return *m_format.named("F32");
}

/// The type of a matrix with an adapter: its quantised type if it can be encoded, otherwise float32.
const StorageType& WrittenTypes::forMerged(const TensorEntry& source, const StorageType* own, std::int64_t width) {
    if (own && own->elements > 1 && canEncode(*own) && width % own->elements == 0) {
        m_isLossy = true;
        return *own;
    }
    m_merged.push_back(source.name);
    return *m_format.named("F32");
}

std::string WrittenTypes::sentence() const {
    if (m_wanted)
        return fmt::format("{} for matrices{}", m_wanted->name, m_isLossy ? ", rounded from those of the source" : "");
    const std::size_t widened = m_widened.size() + m_unknown.size() + m_merged.size();
    return widened == 0 ? "as in the source" : fmt::format("as in the source, {} tensors F32", widened);
}

std::vector<std::string> WrittenTypes::warnings() const {
    std::vector<std::string> warnings;
    const auto others = [](std::size_t count) {
        return count > 1 ? fmt::format("; so are {} other tensors", count - 1) : std::string();
    };
    if (!m_widened.empty())
        warnings.push_back(fmt::format("{} is stored as F32, because its cuts do not follow the blocks of its type{}. "
                                       "--type gives all matrices a smaller type",
                                       m_widened.front(), others(m_widened.size())));
    if (!m_unknown.empty())
        warnings.push_back(
            fmt::format("{} is stored as F32, because the format does not have its type{}. --type gives all "
                        "matrices a smaller type",
                        m_unknown.front(), others(m_unknown.size())));
    if (!m_merged.empty())
        warnings.push_back(
            fmt::format("{} is stored as F32, because the weights of the adapter would be rounded to its "
                        "type{}. --type gives all matrices a smaller type",
                        m_merged.front(), others(m_merged.size())));
    if (!m_tooNarrow.empty())
        warnings.push_back(fmt::format("{} keeps its type: its rows are not whole blocks of {}{}", *m_tooNarrow.begin(),
                                       m_wanted->name, others(m_tooNarrow.size())));
    return warnings;
}

} // namespace secateur
