// Fuzz target: the index of a sharded checkpoint, which names the tensors in each file.

#include "backends/formats/hf_weights.h"
#include "tests/fuzz/fuzz.h"

using namespace secateur;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzz::answers([&] {
        for (const auto& [shard, tensors] : readShardIndex(fuzz::fileOf("index.json", data, size))) {
            // The name of a shard must not lead to another folder.
            if (shard.empty() || shard == "." || shard == ".." || shard.find('/') != std::string::npos ||
                tensors.empty())
                std::abort();
        }
    });
}
