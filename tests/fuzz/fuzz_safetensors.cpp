// Fuzz target: a safetensors file. Reads its header and its tensors.

#include "backends/formats/hf_weights.h"
#include "tests/fuzz/fuzz.h"

using namespace secateur;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzz::answers([&] {
        const fuzz::Bare checkpoint(safetensorsEntries(fuzz::fileOf("model.safetensors", data, size)));
        fuzz::touch(checkpoint.tensors());
    });
}
