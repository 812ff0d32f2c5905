// Fuzz target: the index file of a sharded checkpoint, which lists the tensors of each shard.

#include "backends/formats/hf_weights.h"
#include "tests/fuzz/fuzz.h"

using namespace secateur;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzz::answers([&] {
        for (const auto& [shard, tensors] : readShardIndex(fuzz::fileOf("index.json", data, size))) {
            // A shard's name must not contain a path to another folder.
            if (shard.empty() || shard == "." || shard == ".." || shard.find('/') != std::string::npos ||
                tensors.empty())
                std::abort();
        }
    });
}
