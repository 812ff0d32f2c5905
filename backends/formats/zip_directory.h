#pragma once

#include "backends/base/mapped_file.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace secateur {

/// The directory of a zip archive whose entries are not compressed. Entries are views of the mapped file; a zip library
/// would copy tens of gigabytes.
class ZipDirectory {
public:
    /// Reads the end record and the central directory, with or without zip64. @throws Error
    explicit ZipDirectory(std::shared_ptr<const MappedFile> file);

    struct Entry {
        std::uint16_t flags = 0;
        std::uint16_t method = 0; ///< compression method; 0 = not compressed
        std::uint64_t storedBytes = 0;
        std::uint64_t bytes = 0;
        std::uint64_t offset = 0; ///< offset of the entry's local header in the file
        std::uint64_t record = 0; ///< offset of the entry's record of the directory in the file
        std::uint32_t checksum = 0;
    };
    const std::map<std::string, Entry>& entries() const { return m_entries; }
    bool has(const std::string& name) const { return m_entries.contains(name); }
    /// The content of an entry. @throws Error if there is no such entry, or it is compressed, encrypted, or extends
    /// beyond the file
    std::span<const std::byte> bytes(const std::string& name) const;

private:
    void readEntries(std::uint64_t offset, std::uint64_t size, std::uint64_t count);

    std::shared_ptr<const MappedFile> m_file;
    std::map<std::string, Entry> m_entries;
};

} // namespace secateur
