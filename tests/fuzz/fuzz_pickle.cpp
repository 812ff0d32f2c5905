// Fuzz target: a PyTorch state dict, either a zip archive with a pickle or a plain sequence of pickles.

#include "backends/formats/pytorch.h"
#include "tests/fuzz/fuzz.h"

using namespace secateur;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzz::answers([&] {
        const fuzz::Bare checkpoint(pytorchEntries(fuzz::fileOf("pytorch_model.bin", data, size)));
        fuzz::touch(checkpoint.tensors());
    });
}
