#include "backends/formats/zip_directory.h"

#include "analysis/base/error.h"
#include "backends/base/mapped_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace secateur {

namespace {

constexpr std::uint32_t endMark = 0x06054b50;
constexpr std::uint32_t locatorMark = 0x07064b50;
constexpr std::uint32_t end64Mark = 0x06064b50;
constexpr std::uint32_t entryMark = 0x02014b50;
constexpr std::uint32_t localMark = 0x04034b50;

constexpr std::size_t endRecordBytes = 22;
constexpr std::size_t locatorBytes = 20;
constexpr std::size_t entryBytes = 46;
constexpr std::size_t longestComment = 0xffff;
constexpr std::uint32_t saturated = 0xffffffff; ///< value that says that the number is in the zip64 extra field
constexpr std::uint16_t zip64Extra = 1;

const std::string damaged = "The file is cut short or damaged";

/// The place of the central directory in the file.
struct Place {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint64_t count = 0;
    std::uint64_t end = 0; ///< offset of the record that follows the directory
};

std::uint32_t markAt(std::span<const std::byte> bytes, std::size_t position) {
    std::uint32_t mark = 0;
    std::memcpy(&mark, bytes.data() + position, sizeof mark);
    return mark;
}

/// Finds the end record of an archive. It is the last record of the file. A comment may follow, whose length it states.
std::optional<std::size_t> findEnd(std::span<const std::byte> bytes) {
    for (std::size_t tail = endRecordBytes; tail <= std::min(bytes.size(), endRecordBytes + longestComment); ++tail) {
        const std::size_t position = bytes.size() - tail;
        std::uint16_t comment = 0;
        std::memcpy(&comment, bytes.data() + position + endRecordBytes - sizeof comment, sizeof comment);
        if (markAt(bytes, position) == endMark && comment == tail - endRecordBytes)
            return position;
    }
    return std::nullopt;
}

Place readEnd64(std::span<const std::byte> bytes, std::size_t locator, const std::string& path) {
    ByteReader reader(bytes.subspan(locator, locatorBytes), path);
    reader.take(8, "the zip64 locator");
    const std::uint64_t offset = reader.u64("the zip64 locator");
    if (offset > locator)
        throw Error(fmt::format("states its zip64 end record at byte {}, after its locator", offset), path, damaged);
    ByteReader record(bytes.subspan(static_cast<std::size_t>(offset), locator - static_cast<std::size_t>(offset)),
                      path);
    const char* const what = "the zip64 end record";
    if (record.u32(what) != end64Mark)
        throw Error(fmt::format("has no zip64 end record at byte {}", offset), path, damaged);
    record.take(8 + 2 + 2 + 4 + 4 + 8, what); // skips size, versions, disks, number of entries on this disk
    Place place;
    place.count = record.u64(what);
    place.size = record.u64(what);
    place.offset = record.u64(what);
    place.end = offset;
    return place;
}

Place findDirectory(const MappedFile& file) {
    const auto bytes = file.bytes();
    const auto end = findEnd(bytes);
    if (!end)
        throw Error("has no end record of a zip archive", file.path(), damaged);
    Place place;
    if (*end >= locatorBytes && markAt(bytes, *end - locatorBytes) == locatorMark) {
        place = readEnd64(bytes, *end - locatorBytes, file.path());
    } else {
        const char* const what = "the end record";
        ByteReader reader(bytes.subspan(*end), file.path());
        reader.take(4 + 2 + 2 + 2, what); // skips signature, disks, number of entries on this disk
        place.count = reader.u16(what);
        place.size = reader.u32(what);
        place.offset = reader.u32(what);
        place.end = *end;
    }
    if (place.offset > place.end || place.size > place.end - place.offset)
        throw Error(fmt::format("has a zip directory of {} bytes at byte {}, beyond its end record at byte {}",
                                place.size, place.offset, place.end),
                    file.path(), damaged);
    if (place.count > place.size / entryBytes)
        throw Error(fmt::format("states {} zip entries in a directory of {} bytes", place.count, place.size),
                    file.path(), damaged);
    return place;
}

/// Reads numbers of more than 32 bits from an extra field. It contains only those numbers, in the order below.
void readZip64(ByteReader extra, ZipDirectory::Entry& entry) {
    const char* const what = "an extra field of a zip entry";
    while (extra.left() >= 4) {
        const std::uint16_t kind = extra.u16(what);
        const auto field = extra.take(extra.u16(what), what);
        if (kind != zip64Extra)
            continue;
        ByteReader numbers(field, "");
        for (std::uint64_t* number : {&entry.bytes, &entry.storedBytes, &entry.offset}) {
            if (*number == saturated && numbers.left() >= 8)
                *number = numbers.u64(what);
        }
    }
}

} // namespace

ZipDirectory::ZipDirectory(std::shared_ptr<const MappedFile> file)
    : m_file(std::move(file)) {
    const Place place = findDirectory(*m_file);
    readEntries(place.offset, place.size, place.count);
}

void ZipDirectory::readEntries(std::uint64_t offset, std::uint64_t size, std::uint64_t count) {
    const auto bytes = m_file->bytes().subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
    ByteReader reader(bytes, m_file->path());
    const char* const what = "the zip directory";
    for (std::uint64_t i = 0; i < count; ++i) {
        Entry entry;
        entry.record = offset + reader.position();
        if (reader.u32(what) != entryMark)
            throw Error(fmt::format("has no entry {} in its zip directory", i), m_file->path(), damaged);
        reader.take(4, what); // skips versions
        entry.flags = reader.u16(what);
        entry.method = reader.u16(what);
        reader.take(4, what); // skips the time
        entry.checksum = reader.u32(what);
        entry.storedBytes = reader.u32(what);
        entry.bytes = reader.u32(what);
        const std::uint16_t nameBytes = reader.u16(what);
        const std::uint16_t extraBytes = reader.u16(what);
        const std::uint16_t commentBytes = reader.u16(what);
        reader.take(2 + 2 + 4, what); // skips disk and attributes
        entry.offset = reader.u32(what);
        const auto name = reader.take(nameBytes, what);
        readZip64(ByteReader(reader.take(extraBytes, what), m_file->path()), entry);
        reader.take(commentBytes, what);
        const std::string text(charactersOf(name));
        if (!m_entries.emplace(text, entry).second)
            throw Error("appears twice in the archive", m_file->path() + ": " + text);
    }
}

std::span<const std::byte> ZipDirectory::bytes(const std::string& name) const {
    const std::string subject = m_file->path() + ": " + name;
    const auto found = m_entries.find(name);
    if (found == m_entries.end())
        throw Error("is not in the archive", subject, damaged);
    const Entry& entry = found->second;
    if ((entry.flags & 1) != 0)
        throw Error("is encrypted, which is not supported", subject);
    if (entry.method != 0 || entry.storedBytes != entry.bytes)
        throw Error("is compressed, which is not supported", subject, "torch.save writes uncompressed archives");
    const auto all = m_file->bytes();
    if (entry.offset > all.size())
        throw Error(fmt::format("begins at byte {}, but the file has {} bytes", entry.offset, all.size()), subject,
                    damaged);
    ByteReader reader(all.subspan(static_cast<std::size_t>(entry.offset)), subject);
    const char* const what = "its local header";
    if (reader.u32(what) != localMark)
        throw Error(fmt::format("has no local header at byte {}", entry.offset), subject, damaged);
    reader.take(22, what); // skips fields that the directory repeats
    const std::uint16_t nameBytes = reader.u16(what);
    const std::uint16_t extraBytes = reader.u16(what);
    const auto localName = reader.take(nameBytes, what);
    if (charactersOf(localName) != name)
        throw Error("has another name in its local header", subject, damaged);
    reader.take(extraBytes, what);
    return reader.take(entry.bytes, "the entry");
}

} // namespace secateur
