#pragma once

#include <cstdint>

namespace secateur::pickle_opcode {

/// The instructions of protocols 2 to 5 that torch.save writes, and their near relations.
enum PickleOpcode : std::uint8_t {
    mark = '(',
    stop = '.',
    pop = '0',
    popMark = '1',
    duplicate = '2',
    binFloat = 'G',
    binInt = 'J',
    binInt1 = 'K',
    binInt2 = 'M',
    none = 'N',
    newTrue = 0x88,
    newFalse = 0x89,
    long1 = 0x8a,
    long4 = 0x8b,
    binString = 'T',
    shortBinString = 'U',
    binUnicode = 'X',
    shortBinUnicode = 0x8c,
    binUnicode8 = 0x8d,
    binBytes = 'B',
    shortBinBytes = 'C',
    binBytes8 = 0x8e,
    emptyDictionary = '}',
    emptyList = ']',
    emptyTuple = ')',
    dictionary = 'd',
    list = 'l',
    tuple = 't',
    tuple1 = 0x85,
    tuple2 = 0x86,
    tuple3 = 0x87,
    append = 'a',
    appends = 'e',
    setItem = 's',
    setItems = 'u',
    global = 'c',
    stackGlobal = 0x93,
    reduce = 'R',
    build = 'b',
    binPersistentId = 'Q',
    binPut = 'q',
    longBinPut = 'r',
    memoize = 0x94,
    binGet = 'h',
    longBinGet = 'j',
    protocol = 0x80,
    frame = 0x95,
};

} // namespace secateur::pickle_opcode
