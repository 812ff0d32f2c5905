#pragma once

#include "tests/support/files.h"

#include <QList>

#include <optional>

namespace secateur::test {

/// One file for zipOf(). `size`, `offset`, `flags` and `localName` are written to the archive instead of the true
/// values, to make invalid archives.
struct ZipFile {
    QByteArray name;
    QByteArray bytes;
    quint16 method = 0;
    quint16 flags = 0;
    std::optional<quint32> size = {};
    std::optional<quint32> offset = {};
    QByteArray localName = {};
};

/// A zip archive of `files`, without compression.
/// @param large writes all sizes and offsets as 64-bit numbers (ZIP64), as archives over 4 GB do
inline QByteArray zipOf(const QList<ZipFile>& files, bool large = false) {
    QByteArray archive;
    QByteArray directory;
    for (const ZipFile& file : files) {
        const QByteArray localName = file.localName.isEmpty() ? file.name : file.localName;
        const auto size = file.size.value_or(static_cast<quint32>(file.bytes.size()));
        const auto offset = file.offset.value_or(static_cast<quint32>(archive.size()));
        const QByteArray nothing = little<quint32>(0);
        const QByteArray saturated = little<quint32>(0xffffffff);
        const QByteArray sizes = nothing + nothing + little(size) + little(size); // time, checksum and the two sizes
        const QByteArray numbers = little<quint64>(size) + little<quint64>(size) + little<quint64>(offset);
        const QByteArray extra = large ? little<quint16>(1) + little<quint16>(24) + numbers : QByteArray();
        const auto lengthOf = [](const QByteArray& bytes) { return little(static_cast<quint16>(bytes.size())); };
        directory += "PK\1\2" + nothing + little(file.flags) + little(file.method) +
                     (large ? nothing + nothing + saturated + saturated : sizes) + lengthOf(file.name) +
                     lengthOf(extra) + QByteArray(10, '\0') + (large ? saturated : little(offset)) + file.name + extra;
        archive += "PK\3\4" + little<quint16>(0) + little(file.flags) + little(file.method) + sizes +
                   lengthOf(localName) + little<quint16>(0) + localName + file.bytes;
    }
    const auto start = static_cast<quint32>(archive.size());
    const auto length = static_cast<quint32>(directory.size());
    const auto count = static_cast<quint16>(files.size());
    archive += directory;
    if (large)
        archive += "PK\6\6" + little<quint64>(44) + QByteArray(12, '\0') + little<quint64>(count) +
                   little<quint64>(count) + little<quint64>(length) + little<quint64>(start) + "PK\6\7" +
                   little<quint32>(0) + little<quint64>(start + length) + little<quint32>(1);
    const auto saturate = [large](auto number) { return little(large ? static_cast<decltype(number)>(~0U) : number); };
    return archive + "PK\5\6" + little<quint32>(0) + saturate(count) + saturate(count) + saturate(length) +
           saturate(start) + little<quint16>(0);
}

} // namespace secateur::test
