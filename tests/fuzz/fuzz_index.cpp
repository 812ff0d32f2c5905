// The index of a sharded checkpoint: tensor names by file.

#include "backends/formats/hf_weights.h"
#include "tests/fuzz/fuzz.h"

using namespace secateur;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzz::answers([&] {
        for (const auto& [shard, tensors] : readShardIndex(fuzz::fileOf("index.json", data, size))) {
            // No name is a path to another folder.
            if (shard.empty() || shard == "." || shard == ".." || shard.find('/') != std::string::npos ||
                tensors.empty())
                std::abort();
        }
    });
}
