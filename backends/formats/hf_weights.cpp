#include "backends/formats/hf_weights.h"

#include "analysis/base/error.h"
#include "backends/base/json_object.h"
#include "backends/formats/checkpoint.h"
#include "backends/formats/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <unordered_set>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view configName = "config.json";

std::vector<TensorEntry> readShards(const fs::path& index, const HfWeights& weights, const Progress& progress) {
    const ShardIndex shards = readShardIndex(openWeights(index.string()));
    std::vector<TensorEntry> entries;
    double done = 0;
    for (const auto& [shard, listed] : shards) {
        progress.report(done++ / static_cast<double>(shards.size()), "reading " + shard);
        std::vector<TensorEntry> found = weights.read(openWeights((index.parent_path() / shard).string()));
        std::unordered_set<std::string_view> names;
        for (const TensorEntry& entry : found)
            names.insert(entry.name);
        const auto missing = std::ranges::find_if_not(listed, [&](const auto& name) { return names.contains(name); });
        if (missing != listed.end())
            throw Error(fmt::format("lists tensor {} in {}, which does not contain it", *missing, shard),
                        index.string());
        std::ranges::move(found, std::back_inserter(entries));
    }
    return entries;
}

class HfCheckpoint : public Checkpoint {
public:
    HfCheckpoint(std::string path, fs::path config, std::vector<TensorEntry> tensors)
        : Checkpoint(std::move(tensors))
        , m_path(std::move(path))
        , m_config(std::move(config)) {}

    CheckpointDescription describe() const override { return describeHf(m_path, m_config.string()); }

private:
    std::string m_path;
    fs::path m_config;
};

/// The index file that lists a file as one of several shards. If there is none, the file itself.
fs::path indexOver(const fs::path& file, const HfWeights& weights) {
    const fs::path index = file.parent_path() / weights.index;
    if (file.filename().string().find("-of-") == std::string::npos || !fs::exists(index))
        return file;
    return readShardIndex(openWeights(index.string())).contains(file.filename().string()) ? index : file;
}

fs::path weightsIn(const fs::path& directory, const HfWeights& weights) {
    for (const std::string_view name : {weights.index, weights.single}) {
        if (fs::exists(directory / name))
            return directory / name;
    }
    throw Error(fmt::format("has neither {} nor {}", weights.single, weights.index), directory.string());
}

constexpr std::size_t longestIndex = 100'000'000;

bool isPlainName(const std::string& name) {
    return !name.empty() && name != "." && name != ".." && name.find_first_of("/\\") == std::string::npos &&
           name.find('\0') == std::string::npos;
}

} // namespace

bool holdsWeights(const std::string& directory, const HfWeights& weights) {
    const fs::path folder(directory);
    return fs::exists(folder / configName) &&
           (fs::exists(folder / weights.index) || fs::exists(folder / weights.single));
}

std::unique_ptr<const Checkpoint> openHf(const std::string& path, const HfWeights& weights, const Progress& progress) {
    const fs::path given(path);
    const fs::path file = fs::is_directory(given) ? weightsIn(given, weights) : indexOver(given, weights);
    std::vector<TensorEntry> tensors = file.filename() == weights.index ? readShards(file, weights, progress)
                                                                        : weights.read(openWeights(file.string()));
    if (tensors.empty())
        throw Error("has no weights", file.string());
    return std::make_unique<HfCheckpoint>(path, file.parent_path() / configName, std::move(tensors));
}

ShardIndex readShardIndex(const std::shared_ptr<const MappedFile>& file) {
    const auto bytes = file->bytes();
    if (bytes.size() > longestIndex)
        throw Error(fmt::format("is {} bytes long; the limit is {}", bytes.size(), longestIndex), file->path());
    const auto weightMap = JsonObject::parse(charactersOf(bytes), file->path()).object("weight_map");
    if (!weightMap)
        throw Error("has no weight_map", file->path());
    ShardIndex shards;
    for (const std::string& tensor : weightMap->keys()) {
        const std::string shard = weightMap->text(tensor).value_or("");
        if (!isPlainName(shard))
            weightMap->refuse(tensor, fmt::format("expected a plain file name, found \"{}\"", shard));
        shards[shard].push_back(tensor);
    }
    if (shards.empty())
        throw Error("lists no tensors", file->path());
    return shards;
}

namespace {

// limit of the reference implementation of safetensors
constexpr std::uint64_t longestHeader = 100'000'000;
constexpr std::uint64_t lengthBytes = 8;

/// The text of the header, and the offset at which the bytes of tensors begin.
std::pair<std::string_view, std::size_t> headerOf(const MappedFile& file) {
    const auto bytes = file.bytes();
    std::uint64_t length = 0;
    if (bytes.size() < lengthBytes)
        throw Error(fmt::format("is {} bytes long, too short for a safetensors header", bytes.size()), file.path());
    std::memcpy(&length, bytes.data(), lengthBytes);
    if (length > bytes.size() - lengthBytes)
        throw Error(fmt::format("states a header of {} bytes, but {} bytes follow", length, bytes.size() - lengthBytes),
                    file.path(), "It is cut short or not a safetensors file");
    if (length > longestHeader)
        throw Error(fmt::format("states a header of {} bytes; the limit is {}", length, longestHeader), file.path());
    const auto size = static_cast<std::size_t>(length);
    return {charactersOf(bytes.subspan(lengthBytes, size)), lengthBytes + size};
}

/// @param data the part of the file at whose beginning the tensors' offsets are 0
TensorEntry entryOf(const JsonObject& header, const std::string& name, std::span<const std::byte> data,
                    const std::shared_ptr<const MappedFile>& file) {
    const std::string subject = file->path() + ": " + name;
    const auto description = header.object(name);
    const auto dtype = description ? description->text("dtype") : std::nullopt;
    const auto shape = description ? description->sizes("shape") : std::nullopt;
    const auto offsets = description ? description->sizes("data_offsets") : std::nullopt;
    if (!dtype || !shape || !offsets || offsets->size() != 2)
        throw Error("needs a dtype, a shape and two data_offsets in the header", subject);
    const StorageType* type = safetensorsType(*dtype);
    if (!type)
        throw Error(fmt::format("has the unknown dtype \"{}\"", *dtype), subject);

    const std::int64_t elements = elementCount(*shape, subject);
    const auto begin = static_cast<std::uint64_t>((*offsets)[0]);
    const auto end = static_cast<std::uint64_t>((*offsets)[1]);
    if (begin > end || end > data.size())
        throw Error(
            fmt::format("lies at bytes {} to {}, but the file holds {} bytes of tensors", begin, end, data.size()),
            subject, "The file is cut short or damaged");
    // Uses a division, because the product could overflow.
    const auto length = static_cast<std::int64_t>(end - begin);
    if (length % type->bytes != 0 || elements % type->elements != 0 ||
        length / type->bytes != elements / type->elements)
        throw Error(fmt::format("has {} bytes, which do not match {} of shape {}", length, *dtype, shapeText(*shape)),
                    subject);
    return {name, type, *shape, data.subspan(begin, end - begin), file};
}

} // namespace

std::vector<TensorEntry> safetensorsEntries(const std::shared_ptr<const MappedFile>& file) {
    const auto [text, dataStart] = headerOf(*file);
    const JsonObject header = JsonObject::parse(text, file->path() + ": header");
    const auto data = file->bytes().subspan(dataStart);
    std::vector<TensorEntry> entries;
    for (const std::string& name : header.keys()) {
        if (name != "__metadata__")
            entries.push_back(entryOf(header, name, data, file));
    }
    refuseOverlaps(entries);
    return entries;
}

std::map<std::string, std::string> safetensorsMetadata(const std::shared_ptr<const MappedFile>& file) {
    const JsonObject header = JsonObject::parse(headerOf(*file).first, file->path() + ": header");
    std::map<std::string, std::string> texts;
    const auto metadata = header.object("__metadata__");
    for (const std::string& key : metadata ? metadata->keys() : std::vector<std::string>())
        texts[key] = metadata->text(key).value_or("");
    return texts;
}

bool looksLikeSafetensors(std::string_view bytes) {
    std::uint64_t length = 0;
    if (bytes.size() <= lengthBytes || bytes[lengthBytes] != '{')
        return false;
    std::memcpy(&length, bytes.data(), lengthBytes);
    return length <= bytes.size() - lengthBytes;
}

std::unique_ptr<const Checkpoint> openSafetensors(const std::string& path, const Progress& progress) {
    return openHf(path, safetensorsWeights, progress);
}

} // namespace secateur
