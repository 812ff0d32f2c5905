// Fuzz target: a GGUF file. Reads its metadata, its list of tensors and small quantised tensors, and describes the
// model in it.

#include "backends/formats/gguf.h"
#include "tests/fuzz/fuzz.h"

using namespace secateur;

namespace {

void unpackSmall(std::span<const TensorEntry> tensors) {
    constexpr std::int64_t most = 4096;
    for (const TensorEntry& entry : tensors) {
        const std::int64_t count = entry.elements();
        if (!entry.type->unpack || count == 0 || count > most)
            continue;
        std::vector<float> numbers(static_cast<std::size_t>(count));
        entry.type->unpack(entry.data.data(), count / entry.type->elements, numbers.data());
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzz::answers([&] {
        GgufPart part = readGguf(fuzz::fileOf("model.gguf", data, size));
        fuzz::touch(part.tensors);
        unpackSmall(part.tensors);
        const fuzz::Bare checkpoint(std::move(part.tensors));
        describeGguf("model.gguf", part.metadata, checkpoint);
    });
}
