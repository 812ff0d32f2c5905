#include "backends/export/relaid_files.h"

#include "analysis/base/error.h"
#include "backends/formats/gguf.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

namespace secateur {

namespace {

using FileJson = nlohmann::ordered_json;

constexpr std::uint32_t ggufFloat32 = 0;      ///< number of the type
constexpr std::size_t ggufCountPlace = 4 + 4; ///< place of the number of tensors, after magic and version

/// Offsets, within the directory of a GGUF file, of the two fields of a tensor that an export may change.
struct GgufListing {
    std::size_t type = 0;
    std::size_t offset = 0;
};

struct GgufDirectory {
    std::map<std::string, GgufListing, std::less<>> tensors;
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

GgufDirectory directoryOf(const MappedFile& file) {
    ByteReader reader(file.bytes(), file.path());
    const char* const what = "the directory";
    reader.take(4 + 4, what); // magic and version
    const std::uint64_t count = reader.u64(what);
    const std::uint64_t pairs = reader.u64(what);
    const GgufMetadata metadata(reader, pairs, file.path());
    GgufDirectory directory;
    directory.alignment = static_cast<std::size_t>(
        metadata.integer("general.alignment", 1, 1 << 30).value_or(static_cast<std::int64_t>(directory.alignment)));
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::string name(reader.text(what));
        reader.take(std::uint64_t{8} * reader.u32(what), what); // the tensor's shape
        GgufListing& listing = directory.tensors[name];
        listing.type = reader.position();
        reader.u32(what);
        listing.offset = reader.position();
        reader.u64(what);
    }
    directory.end = reader.position();
    return directory;
}

template <typename T>
void appendNumber(std::vector<std::byte>& bytes, T value) {
    bytes.resize(bytes.size() + sizeof value);
    store(bytes, bytes.size() - sizeof value, value);
}

std::vector<std::byte> textBytes(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

FilePiece pieceOfValues(const std::vector<float>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return pieceOf(std::vector<std::byte>(bytes.begin(), bytes.end()));
}

/// @param cut null = the tensor is copied
FilePiece relaidPiece(const TensorEntry& tensor, const WeightCut* cut) {
    if (tensor.data.empty())
        return {};
    return cut ? pieceOf(*cut) : copyOf(tensor.data);
}

/// The tensors of a file in the order of their places.
std::vector<const TensorEntry*> tensorsIn(const MappedFile& file, std::span<const TensorEntry> tensors) {
    std::vector<const TensorEntry*> inOrder;
    for (const TensorEntry& tensor : tensors)
        if (tensor.file->path() == file.path())
            inOrder.push_back(&tensor);
    std::ranges::sort(inOrder, {}, [](const TensorEntry* tensor) { return tensor->data.data(); });
    return inOrder;
}

/// Appends the entry of a bias to the directory of a GGUF file. @return the place of its offset
std::size_t listBias(std::vector<std::byte>& head, const AddedBias& bias) {
    appendNumber(head, static_cast<std::uint64_t>(bias.name.size()));
    const auto name = textBytes(bias.name);
    head.insert(head.end(), name.begin(), name.end());
    appendNumber(head, std::uint32_t{1}); // number of dimensions
    appendNumber(head, static_cast<std::uint64_t>(bias.values.size()));
    appendNumber(head, ggufFloat32);
    appendNumber(head, std::uint64_t{0});
    return head.size() - sizeof(std::uint64_t);
}

/// Reads the JSON of a safetensors header or of an index, which was read before. @throws Error
FileJson parsed(std::string_view text, const std::string& subject) {
    FileJson json = FileJson::parse(text, nullptr, false);
    if (!json.is_object())
        throw Error("is not a JSON object", subject);
    return json;
}

/// The JSON header of a valid safetensors file.
std::string_view headerTextOf(const MappedFile& file) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.bytes().data(), sizeof length);
    return charactersOf(file.bytes()).substr(sizeof length, static_cast<std::size_t>(length));
}

} // namespace

std::vector<FilePiece> relaidGguf(const MappedFile& file, std::span<const TensorEntry> tensors,
                                  std::span<const WeightCut> cuts, std::span<const AddedBias> added) {
    const GgufDirectory directory = directoryOf(file);
    std::vector<std::byte> head(file.bytes().begin(),
                                file.bytes().begin() + static_cast<std::ptrdiff_t>(directory.end));
    store(head, ggufCountPlace, static_cast<std::uint64_t>(directory.tensors.size() + added.size()));
    std::vector<std::size_t> places;
    for (const AddedBias& bias : added)
        places.push_back(listBias(head, bias));
    head.resize(alignedUp(head.size(), directory.alignment));

    std::vector<FilePiece> pieces(1); // the first piece is the directory, which is filled in at the end
    std::size_t offset = 0;
    const auto place = [&](std::size_t stated, FilePiece piece) {
        store(head, stated, static_cast<std::uint64_t>(offset));
        const std::size_t bytes = piece.bytes;
        if (bytes > 0)
            pieces.push_back(std::move(piece));
        if (const std::size_t gap = alignedUp(bytes, directory.alignment) - bytes; gap > 0)
            pieces.push_back(pieceOf(std::vector<std::byte>(gap)));
        offset += alignedUp(bytes, directory.alignment);
    };
    for (const TensorEntry* tensor : tensorsIn(file, tensors)) {
        const auto cut = std::ranges::find(cuts, tensor, &WeightCut::entry);
        const GgufListing& listing = directory.tensors.find(tensor->name)->second;
        if (cut != cuts.end() && cut->isWidened)
            store(head, listing.type, ggufFloat32);
        place(listing.offset, relaidPiece(*tensor, cut != cuts.end() ? &*cut : nullptr));
    }
    for (std::size_t i = 0; i < added.size(); ++i)
        place(places[i], pieceOfValues(added[i].values));
    pieces.front() = pieceOf(std::move(head));
    return pieces;
}

std::vector<FilePiece> relaidSafetensors(const MappedFile& file, std::span<const TensorEntry> tensors,
                                         std::span<const WeightCut> cuts, std::span<const AddedBias> added) {
    struct Placed {
        std::string name;
        int numberBytes;
        bool isFloat32;
        std::vector<std::int64_t> shape;
        FilePiece piece;
    };
    std::vector<Placed> placed;
    for (const TensorEntry* tensor : tensorsIn(file, tensors)) {
        const auto cut = std::ranges::find(cuts, tensor, &WeightCut::entry);
        const bool isWidened = cut != cuts.end() && cut->isWidened;
        placed.push_back({tensor->name, isWidened ? static_cast<int>(sizeof(float)) : tensor->type->bytes, isWidened,
                          tensor->shape, relaidPiece(*tensor, cut != cuts.end() ? &*cut : nullptr)});
    }
    for (const AddedBias& bias : added)
        placed.push_back({bias.name, sizeof(float), true, {std::ssize(bias.values)}, pieceOfValues(bias.values)});
    std::ranges::stable_sort(placed, std::ranges::greater(), &Placed::numberBytes);

    FileJson header = parsed(headerTextOf(file), file.path() + ": header");
    std::vector<FilePiece> pieces(1);
    std::size_t end = 0;
    for (Placed& tensor : placed) {
        FileJson& entry = header[tensor.name];
        if (tensor.isFloat32)
            entry["dtype"] = "F32";
        entry["shape"] = tensor.shape;
        const std::size_t begin = std::exchange(end, end + tensor.piece.bytes);
        entry["data_offsets"] = {begin, end};
        if (tensor.piece.bytes > 0)
            pieces.push_back(std::move(tensor.piece));
    }
    std::string text = header.dump();
    text.resize(alignedUp(text.size(), sizeof(std::uint64_t)), ' ');
    std::vector<std::byte> head;
    appendNumber(head, static_cast<std::uint64_t>(text.size()));
    const auto bytes = textBytes(text);
    head.insert(head.end(), bytes.begin(), bytes.end());
    pieces.front() = pieceOf(std::move(head));
    return pieces;
}

std::string indexWithBiases(const MappedFile& index, std::span<const AddedBias> added, std::size_t bytes) {
    FileJson json = parsed(charactersOf(index.bytes()), index.path());
    for (const AddedBias& bias : added)
        json["weight_map"][bias.name] = std::filesystem::path(bias.beside->file->path()).filename().string();
    if (json.contains("metadata") && json["metadata"].contains("total_size"))
        json["metadata"]["total_size"] = bytes;
    return json.dump(2) + "\n";
}

} // namespace secateur
