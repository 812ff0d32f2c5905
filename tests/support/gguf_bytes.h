#pragma once

#include "tests/support/files.h"

#include <QByteArrayList>
#include <QList>

/// Functions that build GGUF files.
namespace secateur::test::gguf {

enum Type : quint32 { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

inline QByteArray text(const QByteArray& value) {
    return little<quint64>(static_cast<quint64>(value.size())) + value;
}

inline QByteArray pair(const QByteArray& key, quint32 type, const QByteArray& value) {
    return text(key) + little<quint32>(type) + value;
}

inline QByteArray arrayOf(quint32 type, quint64 count, const QByteArray& values) {
    return little<quint32>(type) + little<quint64>(count) + values;
}

/// The directory entry of a tensor. As always in GGUF, `dimensions` begins with the fastest varying one.
inline QByteArray tensor(const QByteArray& name, const QList<quint64>& dimensions, quint32 type, quint64 offset) {
    QByteArray bytes = text(name) + little<quint32>(static_cast<quint32>(dimensions.size()));
    for (const quint64 size : dimensions)
        bytes += little(size);
    return bytes + little(type) + little(offset);
}

/// A complete file with an alignment of 32 bytes.
inline QByteArray fileOf(const QByteArrayList& pairs, const QByteArrayList& tensors, int dataBytes,
                         quint32 version = 3) {
    QByteArray bytes = "GGUF" + little(version) + little<quint64>(static_cast<quint64>(tensors.size())) +
                       little<quint64>(static_cast<quint64>(pairs.size()));
    bytes += pairs.join() + tensors.join();
    bytes += QByteArray((32 - bytes.size() % 32) % 32, '\0');
    return bytes + QByteArray(dataBytes, '\x01');
}

/// One file of a split model, which contains a single tensor.
inline QByteArray partOf(int number, int count, const QByteArray& name, int total) {
    return fileOf({pair("split.no", u16, little(static_cast<quint16>(number))),
                   pair("split.count", u16, little(static_cast<quint16>(count))),
                   pair("split.tensors.count", i32, little<qint32>(total))},
                  {tensor(name, {4}, 0, 0)}, 16);
}

inline const QByteArray oneTensor = tensor("w", {32, 2}, 0, 0);
inline constexpr int oneTensorBytes = 256;

} // namespace secateur::test::gguf
