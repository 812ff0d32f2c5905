#include "backends/formats/gguf.h"

#include "analysis/base/error.h"
#include "backends/formats/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t mostGgufDimensions = 4;
constexpr std::uint64_t longestName = 65535;
constexpr std::int64_t defaultAlignment = 32;

/// A tensor as the directory lists it. `offset` counts from the end of the directory, rounded up to the alignment.
struct Listed {
    TensorEntry entry;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

std::uint64_t bytesOf(const TensorEntry& entry, const std::string& subject) {
    const std::int64_t elements = elementCount(entry.shape, subject);
    const std::int64_t row = entry.shape.back();
    if (row % entry.type->elements != 0)
        throw Error(fmt::format("has rows of {} numbers, not a multiple of {}'s block size {}", row, entry.type->name,
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
    // The file lists the fastest dimension first; TensorEntry has the slowest first.
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
        throw Error("is written in big-endian byte order, which is not supported", path);
    if (version != 2 && version != 3)
        throw Error(fmt::format("is GGUF version {}; versions 2 and 3 are supported", version), path);
}

std::vector<TensorEntry> readTensors(ByteReader& reader, std::uint64_t count, const GgufMetadata& metadata,
                                     const std::shared_ptr<const MappedFile>& file) {
    std::vector<Listed> listed; // grows with each tensor that is read, because the stated number is not trusted
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

constexpr std::string_view extension = ".gguf";
constexpr std::int64_t mostParts = 65535; // the format stores split.no and split.count in 16 bits

/// Removes a number of five digits from the end of a text and returns it. Empty if there is none.
std::optional<int> takeNumber(std::string_view& text) {
    constexpr std::size_t digits = 5;
    if (text.size() < digits)
        return std::nullopt;
    const std::string_view written = text.substr(text.size() - digits);
    int number = 0;
    const auto result = std::from_chars(written.data(), written.data() + digits, number);
    if (result.ptr != written.data() + digits || number < 1)
        return std::nullopt;
    text.remove_suffix(digits);
    return number;
}

bool takeSuffix(std::string_view& text, std::string_view suffix) {
    if (!text.ends_with(suffix))
        return false;
    text.remove_suffix(suffix.size());
    return true;
}

std::string partFileName(const std::string& model, int number, int count) {
    return fmt::format("{}-{:05}-of-{:05}{}", model, number, count, extension);
}

/// The number of parts that a file's metadata states. 0 or 1 means that the model is not split.
int partCount(const GgufMetadata& metadata) {
    return static_cast<int>(metadata.integer("split.count", 0, mostParts).value_or(0));
}

GgufPartName nameOf(const fs::path& file, int count) {
    const auto name = ggufPartName(file.filename().string());
    if (!name)
        throw Error(fmt::format("is one of {} parts of a model, but does not have the name of a part", count),
                    file.string(), "Parts have names like " + partFileName("model", 1, count));
    if (name->count != count)
        throw Error(fmt::format("is one of {} parts by its name, but one of {} by its split.count", name->count, count),
                    file.string());
    return *name;
}

/// Checks that the metadata of a part agrees with the number and count in its file name.
void checkPart(const GgufPart& part, int number, int count) {
    const int found = partCount(part.metadata);
    if (found != count)
        throw Error(fmt::format("is one of {} parts by its name, but one of {} by its split.count", count, found),
                    part.file->path());
    const auto stored = part.metadata.integer("split.no", 0, mostParts).value_or(-1);
    if (stored != number - 1)
        throw Error(fmt::format("is part {} by its name, but part {} by its split.no", number, stored + 1),
                    part.file->path());
}

void checkTensorCount(const std::vector<GgufPart>& parts) {
    std::size_t found = 0;
    for (const GgufPart& part : parts)
        found += part.tensors.size();
    const GgufMetadata& first = parts.front().metadata;
    const auto stated = first.integer("split.tensors.count", 0, std::numeric_limits<std::int32_t>::max());
    if (stated && static_cast<std::size_t>(*stated) != found)
        first.refuse("split.tensors.count",
                     fmt::format("expected {} tensors in {} parts, found {}", *stated, parts.size(), found));
}

/// The path of one file for each model in a directory. For a split model, the part with the lowest number.
std::map<std::string, std::string> modelsIn(const std::string& directory) {
    std::map<std::string, std::string> models; // path by name without part number
    for (const fs::directory_entry& item : fs::directory_iterator(directory)) {
        if (item.path().extension() != extension || !item.is_regular_file())
            continue;
        const std::string file = item.path().filename().string();
        const auto part = ggufPartName(file);
        std::string& known = models[part ? partFileName(part->model, 1, part->count) : file];
        known = known.empty() ? file : std::min(known, file);
    }
    return models;
}

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

std::optional<GgufPartName> ggufPartName(const std::string& fileName) {
    std::string_view rest = fileName;
    if (!takeSuffix(rest, extension))
        return std::nullopt;
    const auto count = takeNumber(rest);
    if (!count || !takeSuffix(rest, "-of-"))
        return std::nullopt;
    const auto number = takeNumber(rest);
    if (!number || !takeSuffix(rest, "-") || rest.empty() || *number > *count)
        return std::nullopt;
    return GgufPartName{std::string(rest), *number, *count};
}

std::vector<GgufPart> readGgufParts(const std::string& path, const Progress& progress) {
    GgufPart given = readGguf(openWeights(path));
    std::vector<GgufPart> parts;
    const int count = partCount(given.metadata);
    if (count <= 1) {
        parts.push_back(std::move(given));
        return parts;
    }
    const fs::path file(path);
    const GgufPartName name = nameOf(file, count);
    for (int number = 1; number <= count; ++number) {
        const std::string part = partFileName(name.model, number, count);
        const fs::path place = file.parent_path() / part;
        progress.report(static_cast<double>(number - 1) / count, "reading " + part);
        if (!fs::exists(place))
            throw Error(fmt::format("is missing: it is part {} of {} of a split model", number, count), place.string());
        parts.push_back(number == name.number ? std::move(given) : readGguf(openWeights(place.string())));
        checkPart(parts.back(), number, count);
    }
    checkTensorCount(parts);
    return parts;
}

bool holdsGguf(const std::string& directory) {
    return !modelsIn(directory).empty();
}

std::string ggufModelIn(const std::string& directory) {
    const auto models = modelsIn(directory);
    if (models.empty())
        throw Error("holds no .gguf file", directory);
    if (models.size() == 1)
        return (fs::path(directory) / models.begin()->second).string();
    constexpr std::size_t shown = 5;
    std::vector<std::string> names;
    for (const auto& [model, file] : models) {
        if (names.size() < shown)
            names.push_back(file);
    }
    throw Error(fmt::format("holds {} models: {}{}", models.size(), fmt::join(names, ", "),
                            models.size() > shown ? ", ..." : ""),
                directory, "Open one of these files");
}

} // namespace secateur
