#include "backends/export/zip_checksums.h"

#include "backends/base/file_output.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace secateur {

namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

/// CRC-32 as zip uses it, eight bytes at a time: table k advances a byte over k zero bytes.
constexpr Tables tables = [] {
    constexpr std::uint32_t polynomial = 0xedb88320;
    Tables made{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit)
            value = (value & 1U) != 0 ? value >> 1U ^ polynomial : value >> 1U;
        made[0][byte] = value;
    }
    for (std::size_t table = 1; table < made.size(); ++table)
        for (std::size_t byte = 0; byte < 256; ++byte)
            made[table][byte] = made[table - 1][byte] >> 8U ^ made[0][made[table - 1][byte] & 255U];
    return made;
}();

std::uint32_t checksum(std::span<const std::byte> bytes) {
    std::uint32_t value = 0xffffffff;
    std::size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i, sizeof word);
        word ^= value;
        value = 0;
        for (std::size_t byte = 0; byte < 8; ++byte)
            value ^= tables[7 - byte][word >> 8 * byte & 255U];
    }
    for (; i < bytes.size(); ++i)
        value = value >> 8U ^ tables[0][(value ^ std::to_integer<std::uint32_t>(bytes[i])) & 255U];
    return ~value;
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
    return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

} // namespace

bool isZip(const MappedFile& file) {
    constexpr std::array magic{'P', 'K', '\3', '\4'};
    return file.bytes().size() > magic.size() && std::memcmp(file.bytes().data(), magic.data(), magic.size()) == 0;
}

void renewChecksums(const std::shared_ptr<const MappedFile>& source, const std::string& copy,
                    std::span<const WeightCut> cuts) {
    const ZipDirectory archive(source);
    const auto all = source->bytes();
    const auto changed = MappedFile::open(copy);
    const auto write = [&](std::size_t place, std::uint32_t value) {
        overwrite(copy, place, std::as_bytes(std::span(&value, 1)));
    };
    for (const auto& [name, entry] : archive.entries()) {
        // Entries that are not stored hold no tensors, and no cut lies in them.
        if (entry.method != 0 || entry.bytes == 0)
            continue;
        const auto bytes = archive.bytes(name);
        if (std::ranges::none_of(cuts, [&](const WeightCut& cut) { return overlap(bytes, cut.entry->data); }))
            continue;
        const auto begin = static_cast<std::size_t>(bytes.data() - all.data());
        const std::uint32_t renewed = checksum(changed->bytes().subspan(begin, bytes.size()));
        constexpr std::size_t inRecord = 16;
        constexpr std::size_t inHeader = 14;
        write(static_cast<std::size_t>(entry.record) + inRecord, renewed);
        // The local header repeats it, or a descriptor behind the bytes does, with or without a mark of four bytes.
        for (const std::size_t place : {static_cast<std::size_t>(entry.offset) + inHeader, begin + bytes.size(),
                                        begin + bytes.size() + sizeof renewed}) {
            std::uint32_t stated = 0;
            if (place + sizeof stated > all.size())
                continue;
            std::memcpy(&stated, all.data() + place, sizeof stated);
            if (stated == entry.checksum && stated != 0)
                write(place, renewed);
        }
    }
}

} // namespace secateur
