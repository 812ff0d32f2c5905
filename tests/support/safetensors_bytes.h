#pragma once

#include "tests/support/files.h"

/// Builds the bytes of safetensors files.
namespace secateur::test::safetensors {

/// A file: the length of the header, the header, and `dataBytes` bytes of tensor data.
inline QByteArray fileOf(const QByteArray& header, int dataBytes) {
    return little<quint64>(static_cast<quint64>(header.size())) + header + QByteArray(dataBytes, '\x01');
}

/// A header with a single tensor "w".
inline QByteArray oneTensor(const QByteArray& dtype, const QByteArray& shape, const QByteArray& offsets) {
    return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

inline QByteArray nested(int depth) {
    return R"({"w":)" + QByteArray(depth, '[') + QByteArray(depth, ']') + "}";
}

} // namespace secateur::test::safetensors
