#pragma once

#include "tests/support/files.h"

#include <QList>

#include <optional>

namespace secateur::test {

/// A file in an archive, with what its directory shall say otherwise than is true.
struct ZipFile {
    QByteArray name;
    QByteArray bytes;
    quint16 method = 0;
    quint16 flags = 0;
    std::optional<quint32> size = {};
    std::optional<quint32> offset = {};
    QByteArray localName = {};
};

/// An archive of files as they are, without compression.
inline QByteArray zipOf(const QList<ZipFile>& files) {
    QByteArray archive;
    QByteArray directory;
    for (const ZipFile& file : files) {
        const QByteArray localName = file.localName.isEmpty() ? file.name : file.localName;
        const auto size = file.size.value_or(static_cast<quint32>(file.bytes.size()));
        const QByteArray sizes =
            little<quint32>(0) + little<quint32>(0) + little(size) + little(size); // time, checksum
        const auto lengthOf = [](const QByteArray& name) { return little(static_cast<quint16>(name.size())); };
        directory += "PK\1\2" + little<quint32>(0) + little(file.flags) + little(file.method) + sizes +
                     lengthOf(file.name) + QByteArray(12, '\0') +
                     little(file.offset.value_or(static_cast<quint32>(archive.size()))) + file.name;
        archive += "PK\3\4" + little<quint16>(0) + little(file.flags) + little(file.method) + sizes +
                   lengthOf(localName) + little<quint16>(0) + localName + file.bytes;
    }
    const auto count = little(static_cast<quint16>(files.size()));
    return archive + directory + "PK\5\6" + little<quint32>(0) + count + count +
           little(static_cast<quint32>(directory.size())) + little(static_cast<quint32>(archive.size())) +
           little<quint16>(0);
}

} // namespace secateur::test
