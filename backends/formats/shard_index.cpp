#include "backends/formats/shard_index.h"

#include "analysis/base/error.h"
#include "backends/base/json_object.h"

#include <fmt/format.h>

namespace secateur {

namespace {

constexpr std::size_t longestIndex = 100'000'000;

bool isPlainName(const std::string& name) {
    return !name.empty() && name != "." && name != ".." && name.find_first_of("/\\") == std::string::npos &&
           name.find('\0') == std::string::npos;
}

} // namespace

ShardIndex readShardIndex(const std::shared_ptr<const MappedFile>& file) {
    const auto bytes = file->bytes();
    if (bytes.size() > longestIndex)
        throw Error(fmt::format("is {} bytes long; at most {} are read", bytes.size(), longestIndex), file->path());
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto weightMap = JsonObject::parse(text, file->path()).object("weight_map");
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
