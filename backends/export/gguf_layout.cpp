#include "backends/export/gguf_layout.h"

#include "backends/base/mapped_file.h"
#include "backends/formats/gguf.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

namespace secateur {

namespace {

/// Where the directory keeps what may change of a tensor.
struct Listing {
    std::size_t type = 0;
    std::size_t offset = 0;
};

struct Directory {
    std::map<std::string, Listing, std::less<>> tensors;
    std::size_t end = 0;
    std::size_t alignment = 32;
};

template <typename T>
void store(std::vector<std::byte>& bytes, std::size_t place, T value) {
    std::memcpy(bytes.data() + place, &value, sizeof value);
}

std::size_t alignedUp(std::size_t size, std::size_t alignment) {
    return (size + alignment - 1) / alignment * alignment;
}

Directory directoryOf(const MappedFile& file) {
    ByteReader reader(file.bytes(), file.path());
    const char* const what = "the directory";
    reader.take(4 + 4, what); // magic and version
    const std::uint64_t count = reader.u64(what);
    const std::uint64_t pairs = reader.u64(what);
    const GgufMetadata metadata(reader, pairs, file.path());
    Directory directory;
    directory.alignment = static_cast<std::size_t>(
        metadata.integer("general.alignment", 1, 1 << 30).value_or(static_cast<std::int64_t>(directory.alignment)));
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::string name(reader.text(what));
        reader.take(std::uint64_t{8} * reader.u32(what), what); // the shape
        Listing& listing = directory.tensors[name];
        listing.type = reader.position();
        reader.u32(what);
        listing.offset = reader.position();
        reader.u64(what);
    }
    directory.end = reader.position();
    return directory;
}

} // namespace

std::vector<FilePiece> relaidGguf(const MappedFile& file, std::span<const TensorEntry> tensors,
                                  std::span<const WeightCut> cuts) {
    constexpr std::uint32_t float32 = 0;
    const Directory directory = directoryOf(file);
    const std::size_t begin = alignedUp(directory.end, directory.alignment);
    std::vector<std::byte> head(file.bytes().begin(),
                                file.bytes().begin() + static_cast<std::ptrdiff_t>(directory.end));
    head.resize(begin);
    std::vector<const TensorEntry*> inOrder;
    for (const TensorEntry& tensor : tensors)
        if (tensor.file->path() == file.path())
            inOrder.push_back(&tensor);
    std::ranges::sort(inOrder, {}, [](const TensorEntry* tensor) { return tensor->data.data(); });

    std::vector<FilePiece> pieces(1); // the head is known at the end
    std::size_t offset = 0;
    for (const TensorEntry* tensor : inOrder) {
        const auto cut = std::ranges::find(cuts, tensor, &WeightCut::entry);
        const Listing& listing = directory.tensors.find(tensor->name)->second;
        if (cut != cuts.end() && cut->isWidened)
            store(head, listing.type, float32);
        store(head, listing.offset, static_cast<std::uint64_t>(offset));
        if (!tensor->data.empty())
            pieces.push_back(cut != cuts.end() ? pieceOf(*cut) : copyOf(tensor->data));
        const std::size_t bytes = tensor->data.empty() ? 0 : pieces.back().bytes;
        if (const std::size_t gap = alignedUp(bytes, directory.alignment) - bytes; gap > 0)
            pieces.push_back(pieceOf(std::vector<std::byte>(gap)));
        offset += alignedUp(bytes, directory.alignment);
    }
    pieces.front() = pieceOf(std::move(head));
    return pieces;
}

} // namespace secateur
