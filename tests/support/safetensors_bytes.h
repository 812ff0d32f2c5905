#pragma once

#include "tests/support/files.h"

/// Functions that build safetensors files.
namespace secateur::test::safetensors {

/// A complete file: the length of the header, the header, and `dataBytes` bytes of tensor data.
inline QByteArray fileOf(const QByteArray& header, int dataBytes) {
    return little<quint64>(static_cast<quint64>(header.size())) + header + QByteArray(dataBytes, '\x01');
}

/// The header of a file with a single tensor named "w".
inline QByteArray oneTensor(const QByteArray& dtype, const QByteArray& shape, const QByteArray& offsets) {
    return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

inline QByteArray nested(int depth) {
    return R"({"w":)" + QByteArray(depth, '[') + QByteArray(depth, ']') + "}";
}

} // namespace secateur::test::safetensors
