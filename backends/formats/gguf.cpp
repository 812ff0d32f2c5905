#include "backends/formats/gguf.h"

#include "analysis/base/error.h"
#include "backends/formats/gguf_config.h"
#include "backends/formats/gguf_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <utility>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t mostGgufDimensions = 4;
constexpr std::uint64_t longestName = 65535;
constexpr std::int64_t defaultAlignment = 32;

/// A tensor as the directory lists it; its place is known once the whole directory was read.
struct Listed {
    TensorEntry entry;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

std::uint64_t bytesOf(const TensorEntry& entry, const std::string& subject) {
    const std::int64_t elements = elementCount(entry.shape, subject);
    const std::int64_t row = entry.shape.back();
    if (row % entry.type->elements != 0)
        throw Error(fmt::format("has rows of {} numbers, which {}'s blocks of {} do not divide", row, entry.type->name,
                                entry.type->elements),
                    subject);
    const std::int64_t blocks = elements / entry.type->elements;
    if (blocks > std::numeric_limits<std::int64_t>::max() / entry.type->bytes)
        throw Error("has a shape whose size overflows: " + shapeText(entry.shape), subject);
    return static_cast<std::uint64_t>(blocks * entry.type->bytes);
}

Listed readListed(ByteReader& reader, std::uint64_t index, const std::shared_ptr<const MappedFile>& file) {
    const std::string place = fmt::format("the description of tensor {}", index);
    Listed listed;
    listed.entry.name = reader.text(place);
    listed.entry.file = file;
    if (listed.entry.name.empty() || listed.entry.name.size() > longestName)
        throw Error(fmt::format("has a tensor name of {} bytes", listed.entry.name.size()), file->path());
    const std::string subject = listed.entry.subject();
    const std::uint32_t dimensions = reader.u32(place);
    if (dimensions < 1 || dimensions > mostGgufDimensions)
        throw Error(fmt::format("has {} dimensions; 1 to {} are possible", dimensions, mostGgufDimensions), subject);
    // Stored fastest first.
    listed.entry.shape.resize(dimensions);
    for (std::uint32_t i = 0; i < dimensions; ++i) {
        const std::uint64_t size = reader.u64(place);
        if (!std::in_range<std::int64_t>(size))
            throw Error(fmt::format("has a dimension of {}", size), subject);
        listed.entry.shape[dimensions - 1 - i] = static_cast<std::int64_t>(size);
    }
    const std::uint32_t type = reader.u32(place);
    listed.entry.type = ggufType(type);
    if (!listed.entry.type)
        throw Error(fmt::format("is of type {}, which GGUF does not define", type), subject);
    listed.offset = reader.u64(place);
    listed.bytes = bytesOf(listed.entry, subject);
    return listed;
}

void place(Listed& listed, std::span<const std::byte> data, std::uint64_t alignment) {
    const std::string subject = listed.entry.subject();
    if (listed.offset % alignment != 0)
        throw Error(fmt::format("begins at offset {}, not a multiple of the alignment {}", listed.offset, alignment),
                    subject);
    if (listed.offset > data.size() || listed.bytes > data.size() - listed.offset)
        throw Error(fmt::format("takes {} bytes from offset {}, but the file holds {} bytes of tensors", listed.bytes,
                                listed.offset, data.size()),
                    subject, "The file is cut short or damaged");
    listed.entry.data = data.subspan(static_cast<std::size_t>(listed.offset), static_cast<std::size_t>(listed.bytes));
}

std::uint64_t alignmentOf(const GgufMetadata& metadata) {
    const std::string key = "general.alignment";
    const auto value = static_cast<std::uint64_t>(metadata.integer(key, 1, 1 << 30).value_or(defaultAlignment));
    if (!std::has_single_bit(value))
        metadata.refuse(key, fmt::format("expected a power of two, found {}", value));
    return value;
}

void readPreamble(ByteReader& reader, const std::string& path) {
    const auto magic = reader.take(4, "the magic number");
    if (std::memcmp(magic.data(), "GGUF", 4) != 0)
        throw Error("does not begin with \"GGUF\"", path, "It is not a GGUF file");
    const std::uint32_t version = reader.u32("the version");
    if (version >> 16 != 0)
        throw Error("is written for big-endian machines, which is not read", path);
    if (version != 2 && version != 3)
        throw Error(fmt::format("is GGUF version {}; versions 2 and 3 are read", version), path);
}

std::vector<TensorEntry> readTensors(ByteReader& reader, std::uint64_t count, const GgufMetadata& metadata,
                                     const std::shared_ptr<const MappedFile>& file) {
    std::vector<Listed> listed; // grown as they are read: the stated number is not trusted
    for (std::uint64_t i = 0; i < count; ++i)
        listed.push_back(readListed(reader, i, file));
    const std::uint64_t alignment = alignmentOf(metadata);
    const std::uint64_t start = (reader.position() + alignment - 1) / alignment * alignment;
    const auto bytes = file->bytes();
    const auto data = bytes.subspan(static_cast<std::size_t>(std::min<std::uint64_t>(start, bytes.size())));
    std::vector<TensorEntry> entries;
    for (Listed& item : listed) {
        place(item, data, alignment);
        entries.push_back(std::move(item.entry));
    }
    refuseOverlaps(entries);
    return entries;
}

class GgufCheckpoint : public Checkpoint {
public:
    GgufCheckpoint(GgufPart first, std::string name, std::vector<TensorEntry> tensors)
        : Checkpoint(std::move(tensors))
        , m_first(std::move(first))
        , m_name(std::move(name)) {}

    CheckpointDescription describe() const override {
        CheckpointDescription description = describeGguf(m_first.file->path(), m_first.metadata, *this);
        description.name = m_name;
        return description;
    }

private:
    GgufPart m_first;
    std::string m_name;
};

} // namespace

GgufPart readGguf(const std::shared_ptr<const MappedFile>& file) {
    ByteReader reader(file->bytes(), file->path());
    readPreamble(reader, file->path());
    const std::uint64_t tensorCount = reader.u64("the number of tensors");
    const std::uint64_t pairCount = reader.u64("the number of metadata pairs");
    GgufMetadata metadata(reader, pairCount, file->path());
    auto tensors = readTensors(reader, tensorCount, metadata, file);
    return {file, std::move(metadata), std::move(tensors)};
}

std::unique_ptr<const Checkpoint> openGguf(const std::string& path, const Progress& progress) {
    const fs::path given(fs::is_directory(path) ? ggufModelIn(path) : path);
    std::vector<GgufPart> parts = readGgufParts(given.string(), progress);
    std::vector<TensorEntry> tensors;
    for (GgufPart& part : parts)
        std::ranges::move(part.tensors, std::back_inserter(tensors));
    const GgufMetadata& metadata = parts.front().metadata;
    if (tensors.empty())
        throw Error("has no weights", given.string(),
                    metadata.has("tokenizer.ggml.tokens") ? "It holds a vocabulary only" : "");
    const auto name = ggufPartName(given.filename().string());
    return std::make_unique<GgufCheckpoint>(std::move(parts.front()), name ? name->model : given.stem().string(),
                                            std::move(tensors));
}

} // namespace secateur
