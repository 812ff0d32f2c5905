#include "backends/formats/safetensors.h"

#include "analysis/base/error.h"
#include "backends/base/json_object.h"

#include <fmt/format.h>

#include <cstring>

namespace secateur {

namespace {

// The limit of the reference implementation.
constexpr std::uint64_t longestHeader = 100'000'000;
constexpr std::uint64_t lengthBytes = 8;

/// The header's text, and the offset of the tensors' bytes.
std::pair<std::string_view, std::size_t> headerOf(const MappedFile& file) {
    const auto bytes = file.bytes();
    std::uint64_t length = 0;
    if (bytes.size() < lengthBytes)
        throw Error(fmt::format("is {} bytes long, too short for a safetensors header", bytes.size()), file.path());
    std::memcpy(&length, bytes.data(), lengthBytes);
    if (length > bytes.size() - lengthBytes)
        throw Error(fmt::format("states a header of {} bytes, but {} bytes follow", length, bytes.size() - lengthBytes),
                    file.path(), "It is cut short or not a safetensors file");
    if (length > longestHeader)
        throw Error(fmt::format("states a header of {} bytes; the limit is {}", length, longestHeader), file.path());
    const auto size = static_cast<std::size_t>(length);
    return {charactersOf(bytes.subspan(lengthBytes, size)), lengthBytes + size};
}

/// @param data the part of the file that offsets refer to
TensorEntry entryOf(const JsonObject& header, const std::string& name, std::span<const std::byte> data,
                    const std::shared_ptr<const MappedFile>& file) {
    const std::string subject = file->path() + ": " + name;
    const auto description = header.object(name);
    const auto dtype = description ? description->text("dtype") : std::nullopt;
    const auto shape = description ? description->sizes("shape") : std::nullopt;
    const auto offsets = description ? description->sizes("data_offsets") : std::nullopt;
    if (!dtype || !shape || !offsets || offsets->size() != 2)
        throw Error("needs a dtype, a shape and two data_offsets in the header", subject);
    const StorageType* type = safetensorsType(*dtype);
    if (!type)
        throw Error(fmt::format("has the unknown dtype \"{}\"", *dtype), subject);

    const std::int64_t elements = elementCount(*shape, subject);
    const auto begin = static_cast<std::uint64_t>((*offsets)[0]);
    const auto end = static_cast<std::uint64_t>((*offsets)[1]);
    if (begin > end || end > data.size())
        throw Error(
            fmt::format("lies at bytes {} to {}, but the file holds {} bytes of tensors", begin, end, data.size()),
            subject, "The file is cut short or damaged");
    // Divisions, because a product could overflow.
    const auto length = static_cast<std::int64_t>(end - begin);
    if (length % type->bytes != 0 || elements % type->elements != 0 ||
        length / type->bytes != elements / type->elements)
        throw Error(fmt::format("has {} bytes, which do not match {} of shape {}", length, *dtype, shapeText(*shape)),
                    subject);
    return {name, type, *shape, data.subspan(begin, end - begin), file};
}

} // namespace

std::vector<TensorEntry> safetensorsEntries(const std::shared_ptr<const MappedFile>& file) {
    const auto [text, dataStart] = headerOf(*file);
    const JsonObject header = JsonObject::parse(text, file->path() + ": header");
    const auto data = file->bytes().subspan(dataStart);
    std::vector<TensorEntry> entries;
    for (const std::string& name : header.keys()) {
        if (name != "__metadata__")
            entries.push_back(entryOf(header, name, data, file));
    }
    refuseOverlaps(entries);
    return entries;
}

bool looksLikeSafetensors(std::string_view bytes) {
    std::uint64_t length = 0;
    if (bytes.size() <= lengthBytes || bytes[lengthBytes] != '{')
        return false;
    std::memcpy(&length, bytes.data(), lengthBytes);
    return length <= bytes.size() - lengthBytes;
}

std::unique_ptr<const Checkpoint> openSafetensors(const std::string& path, const Progress& progress) {
    return openHf(path, safetensorsWeights, progress);
}

} // namespace secateur
