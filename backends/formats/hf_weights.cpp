#include "backends/formats/hf_weights.h"

#include "analysis/base/error.h"
#include "backends/base/json_object.h"
#include "backends/formats/checkpoint.h"
#include "backends/formats/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
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

/// The index that lists a file as one of several shards, else the file.
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

} // namespace secateur
