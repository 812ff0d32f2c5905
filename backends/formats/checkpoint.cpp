#include "backends/formats/checkpoint.h"

#include "analysis/base/error.h"
#include "backends/base/memory_error.h"
#include "backends/base/sha256.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>

namespace secateur {

using namespace std::string_view_literals;

namespace {

at::ScalarType scalarType(StorageType::Reading reading) {
    using enum StorageType::Reading;
    switch (reading) {
    case float64:
        return at::kDouble;
    case float16:
        return at::kHalf;
    case bfloat16:
        return at::kBFloat16;
    case int64:
        return at::kLong;
    case int32:
        return at::kInt;
    case int16:
        return at::kShort;
    case int8:
        return at::kChar;
    case uint8:
    case boolean:
        return at::kByte;
    case float32:
    case dequantised:
    case unsupported:
        return at::kFloat;
    }
    return at::kFloat;
}

at::Tensor viewOf(const TensorEntry& entry) {
    const at::TensorOptions options = at::TensorOptions().dtype(scalarType(entry.type->reading));
    // ATen takes a pointer to mutable data. The mapping is read-only, and nothing writes to it.
    auto* data = const_cast<std::byte*>(entry.data.data());
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    if (address % static_cast<std::uintptr_t>(entry.type->bytes) != 0) {
        at::Tensor copy = at::empty(entry.shape, options);
        std::copy(entry.data.begin(), entry.data.end(), static_cast<std::byte*>(copy.data_ptr()));
        return copy;
    }
    return at::from_blob(
        data, entry.shape, [file = entry.file](void*) {}, options);
}

struct ForeignFile {
    std::string_view what; ///< the rest of the message: "is ..."
    std::string_view hint;
    bool (*recognises)(std::string_view bytes);
};

template <std::size_t count>
bool beginsWithOne(std::string_view bytes, const std::array<std::string_view, count>& marks) {
    return std::ranges::any_of(marks, [&](std::string_view mark) { return bytes.starts_with(mark); });
}

bool isLfsPointer(std::string_view bytes) {
    return bytes.starts_with("version https://git-lfs");
}

bool isMarkup(std::string_view bytes) {
    constexpr std::size_t longestMark = 16;
    bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
    std::string start(bytes.substr(0, longestMark));
    std::ranges::transform(start, start.begin(), [](unsigned char letter) { return std::tolower(letter); });
    return beginsWithOne(start, std::array{"<!doctype html"sv, "<html"sv, "<?xml"sv, "<head"sv});
}

bool isOldGgml(std::string_view bytes) {
    return beginsWithOne(bytes, std::array{"lmgg"sv, "fmgg"sv, "tjgg"sv, "algg"sv});
}

bool isHdf5(std::string_view bytes) {
    return bytes.starts_with("\x89HDF\r\n\x1a\n");
}

bool isCompressed(std::string_view bytes) {
    return beginsWithOne(bytes, std::array{"\x1f\x8b"sv, "\x28\xb5\x2f\xfd"sv,
                                           "\xfd"
                                           "7zXZ"sv,
                                           "7z\xbc\xaf\x27\x1c"sv, "BZh"sv});
}

bool isTar(std::string_view bytes) {
    constexpr std::size_t place = 257;
    return bytes.size() > place && bytes.substr(place).starts_with("ustar");
}

bool isNumpy(std::string_view bytes) {
    return bytes.starts_with("\x93NUMPY");
}

bool isTfLite(std::string_view bytes) {
    constexpr std::size_t place = 4;
    return bytes.size() > place && bytes.substr(place).starts_with("TFL3");
}

bool isLlama2c(std::string_view bytes) {
    return bytes.starts_with("24ka");
}

/// Whether bytes begin a file of the first version of llama2.c. It has no magic number: seven numbers at its beginning
/// determine the file's size.
bool isFirstLlama2c(std::string_view bytes) {
    std::array<std::int32_t, 7> header{};
    if (bytes.size() <= sizeof header)
        return false;
    std::memcpy(header.data(), bytes.data(), sizeof header);
    constexpr std::int32_t most = 1 << 24; // larger than in real models; the products below cannot overflow
    // A negative vocabulary size means that the LM head is not tied to the embedding.
    header[5] = header[5] < 0 && header[5] > -most ? -header[5] : header[5];
    if (std::ranges::any_of(header, [](std::int32_t number) { return number < 1 || number > most; }))
        return false;
    const auto [dim, hidden, layers, heads, kvHeads, vocab, context] = header;
    const auto number = [](std::int32_t value) { return static_cast<double>(value); };
    const double kvWidth = number(dim) / heads * kvHeads;
    const double layer = 2.0 * dim + 2.0 * number(dim) * dim + 2.0 * dim * kvWidth + 3.0 * number(dim) * hidden;
    const double embedding = number(vocab) * dim;
    const double rest = dim + number(context) * dim / heads;
    const double least = sizeof header + sizeof(float) * (embedding + layers * layer + rest);
    const auto size = static_cast<double>(bytes.size());
    return size == least || size == least + sizeof(float) * embedding;
}

constexpr std::string_view llama2cHint = "Its export.py writes a Hugging Face directory with --version -1";

constexpr std::array foreignFiles{
    ForeignFile{"is a Git LFS pointer, not the file itself", "Fetch the file with git lfs pull", isLfsPointer},
    ForeignFile{"is a web page, not a checkpoint", "The download failed; fetch the file again", isMarkup},
    ForeignFile{"is a GGML file from before GGUF", "llama.cpp's convert_llama_ggml_to_gguf.py converts it", isOldGgml},
    ForeignFile{"is an HDF5 file, not a checkpoint",
                "Weights of Keras or TensorFlow are not supported; transformers loads some with from_tf=True, and "
                "save_pretrained converts them",
                isHdf5},
    ForeignFile{"is compressed", "Unpack it first", isCompressed},
    ForeignFile{"is a tar archive",
                "Unpack it first; if it is a PyTorch checkpoint of before 2017, load and save it in PyTorch", isTar},
    ForeignFile{"is a NumPy array, not a checkpoint", "", isNumpy},
    ForeignFile{"is a TensorFlow Lite graph, which is not supported", "Open the model that it was converted from",
                isTfLite},
    ForeignFile{"is a checkpoint of llama2.c, which is not supported", llama2cHint, isLlama2c},
    ForeignFile{"is a checkpoint of llama2.c, which is not supported", llama2cHint, isFirstLlama2c},
};

struct ForeignExtension {
    std::string_view extension;
    std::string_view what;
    std::string_view hint;
};

/// Formats without a magic number, which are recognised by their extension.
constexpr std::array foreignExtensions{
    ForeignExtension{".onnx", "is an ONNX graph, which is not supported", "Open the model that it was exported from"},
    ForeignExtension{".msgpack", "holds weights of Flax, which are not supported",
                     "transformers loads them with from_flax=True, and save_pretrained converts them"},
};

void addSample(Sha256& hash, std::span<const std::byte> data) {
    constexpr std::size_t pieces = 16;
    constexpr std::size_t pieceBytes = 256;
    if (data.size() <= pieces * pieceBytes) {
        hash.add(data.data(), data.size());
        return;
    }
    const std::size_t last = data.size() - pieceBytes;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
        // last * piece / (pieces - 1), computed without overflow
        const std::size_t start = last / (pieces - 1) * piece + last % (pieces - 1) * piece / (pieces - 1);
        hash.add(data.data() + start, pieceBytes);
    }
}

} // namespace

std::int64_t TensorEntry::elements() const {
    std::int64_t count = 1;
    for (const std::int64_t size : shape)
        count *= size;
    return count;
}

Checkpoint::Checkpoint(std::vector<TensorEntry> tensors)
    : m_tensors(std::move(tensors)) {
    std::ranges::sort(m_tensors, {}, &TensorEntry::name);
    const auto twin = std::ranges::adjacent_find(m_tensors, {}, &TensorEntry::name);
    if (twin != m_tensors.end())
        throw Error("appears twice", twin->subject());
}

const TensorEntry* Checkpoint::find(std::string_view name) const {
    const auto found = std::ranges::lower_bound(m_tensors, name, {}, &TensorEntry::name);
    return found != m_tensors.end() && found->name == name ? &*found : nullptr;
}

at::Tensor readTensor(const TensorEntry& entry) {
    try {
        switch (entry.type->reading) {
        case StorageType::Reading::unsupported:
            throw Error(fmt::format("is stored as {}, which is not supported", entry.type->name), entry.subject(),
                        "Supported types are " + readableTypes(*entry.type));
        case StorageType::Reading::dequantised: {
            at::Tensor result = at::empty(entry.shape, at::kFloat);
            dequantise(*entry.type, entry.data, {result.data_ptr<float>(), static_cast<std::size_t>(result.numel())});
            return result;
        }
        case StorageType::Reading::boolean:
            // In a damaged file, a byte may be neither 0 nor 1. Such a bool would be undefined behaviour.
            return viewOf(entry).ne(0);
        default:
            return viewOf(entry);
        }
    } catch (const c10::Error& error) {
        throw torchError(error, entry.subject());
    }
}

std::int64_t elementCount(std::span<const std::int64_t> shape, const std::string& subject) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) {
        if (size < 0)
            throw Error(fmt::format("has the negative dimension {}", size), subject);
        if (size > 0 && count > std::numeric_limits<std::int64_t>::max() / size)
            throw Error("has a shape whose size overflows: " + shapeText(shape), subject);
        count *= size;
    }
    return count;
}

std::string shapeText(std::span<const std::int64_t> shape) {
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

void refuseOverlaps(std::vector<TensorEntry>& entries) {
    const auto begin = [](const TensorEntry& entry) { return entry.data.data(); };
    std::ranges::sort(entries, {}, begin);
    const TensorEntry* previous = nullptr;
    for (const TensorEntry& entry : entries) {
        if (entry.data.empty())
            continue;
        if (previous && previous->data.data() + previous->data.size() > entry.data.data())
            throw Error(fmt::format("shares bytes with tensor {}", previous->name), entry.subject());
        previous = &entry;
    }
}

void refuseForeign(const MappedFile& file) {
    const std::string_view bytes = charactersOf(file.bytes());
    for (const ForeignFile& foreign : foreignFiles) {
        if (foreign.recognises(bytes))
            throw Error(std::string(foreign.what), file.path(), std::string(foreign.hint));
    }
    const std::string extension = std::filesystem::path(file.path()).extension().string();
    const auto found = std::ranges::find(foreignExtensions, extension, &ForeignExtension::extension);
    if (found != foreignExtensions.end())
        throw Error(std::string(found->what), file.path(), std::string(found->hint));
}

std::shared_ptr<const MappedFile> openWeights(const std::string& path) {
    auto file = MappedFile::open(path);
    refuseForeign(*file);
    return file;
}

std::string fingerprintOf(const Checkpoint& checkpoint) {
    Sha256 hash;
    for (const TensorEntry& entry : checkpoint.tensors()) {
        hash.add(entry.name.c_str(), entry.name.size() + 1);
        hash.add(static_cast<std::int64_t>(entry.shape.size()));
        for (const std::int64_t size : entry.shape)
            hash.add(size);
        // Otherwise the system reads half a gigabyte ahead around the samples of a large model.
        entry.file->expectScattered(entry.data);
        addSample(hash, entry.data);
        entry.file->release(entry.data);
    }
    return "sha256:" + hash.hexadecimal();
}

} // namespace secateur
