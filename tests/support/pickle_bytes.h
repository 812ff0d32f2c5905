#pragma once

#include "tests/support/zip.h"

/// Functions that build pickles of state dicts from single opcodes.
namespace secateur::test::pickle {

inline QByteArray text(const QByteArray& value) {
    return 'X' + little<quint32>(static_cast<quint32>(value.size())) + value;
}
inline QByteArray number(quint32 value) {
    return 'J' + little(value);
}
inline QByteArray global(const QByteArray& module, const QByteArray& name) {
    return 'c' + module + '\n' + name + '\n';
}
inline QByteArray tupleOf(const QByteArray& items) {
    return '(' + items + 't';
}
inline QByteArray storage(const QByteArray& kind, const QByteArray& key, quint32 count) {
    return tupleOf(text("storage") + global("torch", kind) + text(key) + text("cpu") + number(count)) + 'Q';
}
inline QByteArray tensor(const QByteArray& inStorage, quint32 offset, const QByteArray& shape,
                         const QByteArray& strides) {
    return global("torch._utils", "_rebuild_tensor_v2") +
           tupleOf(inStorage + number(offset) + tupleOf(shape) + tupleOf(strides) + "\x89}") + 'R';
}
inline QByteArray dictionary(const QByteArray& items) {
    return "\x80\x02}(" + items + "u.";
}

/// A zip archive as torch.save writes it, with `pickle` as its data.pkl and the bytes `numbers` as its only storage, of
/// two float32 values.
inline QByteArray fileOf(const QByteArray& pickle, const QByteArray& numbers = QByteArray(8, '\1')) {
    return zipOf({{"archive/data.pkl", pickle}, {"archive/data/0", numbers}});
}
inline const QByteArray twoNumbers =
    dictionary(text("w") + tensor(storage("FloatStorage", "0", 2), 0, number(2), number(1)));

} // namespace secateur::test::pickle
