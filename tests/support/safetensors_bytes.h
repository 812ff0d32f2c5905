#pragma once

#include "tests/support/files.h"

/// Safetensors files put together by hand.
namespace secateur::test::safetensors {

/// The length, the header and the tensors' bytes.
inline QByteArray fileOf(const QByteArray& header, int dataBytes) {
    return little<quint64>(static_cast<quint64>(header.size())) + header + QByteArray(dataBytes, '\x01');
}

/// A header of one tensor "w".
inline QByteArray oneTensor(const QByteArray& dtype, const QByteArray& shape, const QByteArray& offsets) {
    return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

inline QByteArray nested(int depth) {
    return R"({"w":)" + QByteArray(depth, '[') + QByteArray(depth, ']') + "}";
}

} // namespace secateur::test::safetensors
