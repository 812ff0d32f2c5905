#include "backends/safetensors.h"

#include "analysis/error.h"
#include "backends/hf_config.h"
#include "backends/json_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

namespace secateur {

namespace fs = std::filesystem;

namespace {

// The reference implementation refuses longer headers too.
constexpr std::uint64_t longestHeader = 100'000'000;
constexpr std::size_t longestIndex = 100'000'000;
constexpr std::uint64_t lengthBytes = 8;

const std::string indexName = "model.safetensors.index.json";
const std::string singleName = "model.safetensors";

std::string_view textOf(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The header's text, and where the tensors' bytes begin.
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
        throw Error(fmt::format("states a header of {} bytes; at most {} are read", length, longestHeader),
                    file.path());
    const auto size = static_cast<std::size_t>(length);
    return {textOf(bytes.subspan(lengthBytes, size)), lengthBytes + size};
}

/// @param data the part of the file that offsets count in
TensorEntry entryOf(const JsonObject& header, const std::string& name, std::span<const std::byte> data,
                    const std::shared_ptr<const MappedFile>& file) {
    const std::string subject = file->path() + ": " + name;
    const auto description = header.object(name);
    const auto dtype = description ? description->text("dtype") : std::nullopt;
    const auto shape = description ? description->sizes("shape") : std::nullopt;
    const auto offsets = description ? description->sizes("data_offsets") : std::nullopt;
    if (!dtype || !shape || !offsets || offsets->size() != 2)
        throw Error("has no dtype, shape and two data_offsets in the header", subject);
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
    // Compared without multiplying, which could overflow.
    const auto length = static_cast<std::int64_t>(end - begin);
    if (length % type->bytes != 0 || elements % type->elements != 0 ||
        length / type->bytes != elements / type->elements)
        throw Error(fmt::format("takes {} bytes, which does not fit {} of shape {}", length, *dtype, shapeText(*shape)),
                    subject);
    return {name, type, *shape, data.subspan(begin, end - begin), file};
}

std::vector<TensorEntry> readFile(const std::string& path) {
    const auto file = MappedFile::open(path);
    const auto [text, dataStart] = headerOf(*file);
    const JsonObject header = JsonObject::parse(text, path + ": header");
    const auto data = file->bytes().subspan(dataStart);
    std::vector<TensorEntry> entries;
    for (const std::string& name : header.keys()) {
        if (name != "__metadata__")
            entries.push_back(entryOf(header, name, data, file));
    }
    refuseOverlaps(entries);
    return entries;
}

/// Tensor names by the shard that the index puts them in.
std::map<std::string, std::set<std::string>> readIndex(const std::string& path) {
    const auto file = MappedFile::open(path);
    if (file->bytes().size() > longestIndex)
        throw Error(fmt::format("is {} bytes long; at most {} are read", file->bytes().size(), longestIndex), path);
    const auto weightMap = JsonObject::parse(textOf(file->bytes()), path).object("weight_map");
    if (!weightMap)
        throw Error("has no weight_map", path);
    std::map<std::string, std::set<std::string>> shards;
    for (const std::string& tensor : weightMap->keys()) {
        const auto shard = weightMap->text(tensor).value_or("");
        // An index must not lead out of its directory.
        if (shard.empty() || shard == "." || shard == ".." || shard.find_first_of("/\\") != std::string::npos ||
            shard.find('\0') != std::string::npos)
            weightMap->refuse(tensor, fmt::format("expected a plain file name, found \"{}\"", shard));
        shards[shard].insert(tensor);
    }
    if (shards.empty())
        throw Error("lists no tensors", path);
    return shards;
}

std::vector<TensorEntry> readShards(const fs::path& index, const Progress& progress) {
    const auto shards = readIndex(index.string());
    std::vector<TensorEntry> entries;
    double done = 0;
    for (const auto& [shard, listed] : shards) {
        progress.report(done++ / static_cast<double>(shards.size()), "reading " + shard);
        std::vector<TensorEntry> found = readFile((index.parent_path() / shard).string());
        const auto isFound = [&](const std::string& name) {
            return std::ranges::find(found, name, &TensorEntry::name) != found.end();
        };
        const auto missing = std::ranges::find_if_not(listed, isFound);
        if (missing != listed.end())
            throw Error(fmt::format("puts {} in {}, which does not hold it", *missing, shard), index.string());
        std::ranges::move(found, std::back_inserter(entries));
    }
    return entries;
}

class SafetensorsCheckpoint : public Checkpoint {
public:
    SafetensorsCheckpoint(std::string path, fs::path config, std::vector<TensorEntry> tensors)
        : Checkpoint(std::move(tensors))
        , m_path(std::move(path))
        , m_config(std::move(config)) {}

    CheckpointDescription describe() const override { return describeHf(m_path, m_config.string()); }

private:
    std::string m_path;
    fs::path m_config;
};

/// The directory's checkpoint: its index, else its single file. @throws Error saying what lies there instead
fs::path weightsIn(const fs::path& directory) {
    if (fs::exists(directory / indexName))
        return directory / indexName;
    if (fs::exists(directory / singleName))
        return directory / singleName;
    const bool pickled =
        fs::exists(directory / "pytorch_model.bin") || fs::exists(directory / "pytorch_model.bin.index.json");
    throw Error(fmt::format("has neither {} nor {}", singleName, indexName), directory.string(),
                pickled ? "Its pytorch_model.bin can be converted with save_pretrained of transformers" : "");
}

/// The index that lists this file as one of several shards, or nothing.
fs::path indexOver(const fs::path& file) {
    const fs::path index = file.parent_path() / indexName;
    if (file.filename().string().find("-of-") == std::string::npos || !fs::exists(index))
        return {};
    return readIndex(index.string()).contains(file.filename().string()) ? index : fs::path();
}

} // namespace

std::unique_ptr<const Checkpoint> openSafetensors(const std::string& path, const Progress& progress) {
    const fs::path given(path);
    const bool isDirectory = fs::is_directory(given);
    fs::path weights = isDirectory ? weightsIn(given) : given;
    if (const fs::path index = isDirectory ? fs::path() : indexOver(given); !index.empty())
        weights = index;
    std::vector<TensorEntry> tensors =
        weights.filename() == indexName ? readShards(weights, progress) : readFile(weights.string());
    const fs::path config = weights.parent_path() / "config.json";
    return std::make_unique<SafetensorsCheckpoint>(path, config, std::move(tensors));
}

} // namespace secateur
