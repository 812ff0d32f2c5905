#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A value of a pickle. It refers to others by their index, so that values may be shared and even contain themselves.
struct PickleValue {
    enum class Kind {
        none,
        boolean, ///< `integer` is 0 or 1
        integer,
        longInteger, ///< of more than 64 bits: its bytes, lowest first, are `text`
        real,        ///< its number is left out: nothing asks for it
        text,
        bytes, ///< in `text`
        list,
        tuple,
        dictionary, ///< `items`: key, value, key, value...
        global,     ///< `text` is its full name
        call,       ///< `items`: the global, its arguments as a tuple; it was not made
        external,   ///< `items`: its persistent id
    };
    Kind kind = Kind::none;
    std::int64_t integer = 0;
    std::string_view text; ///< views the pickle, or the list of known globals
    std::vector<std::uint32_t> items;
};

struct Pickle {
    std::vector<PickleValue> values;
    std::uint32_t top = 0;
    std::size_t length = 0; ///< bytes of the pickle

    const PickleValue& operator[](std::uint32_t index) const { return values[index]; }
};

/// Reads what the pickle at the beginning of `bytes` describes, and runs nothing: globals are names, calls of them are
/// kept as they are written, but for collections.OrderedDict, which becomes a dictionary. State given to an object
/// after it was made is dropped.
/// @param globals full names ("torch._utils._rebuild_tensor_v2") that may occur; any other ends the reading
/// @throws Error naming the global or the opcode
Pickle readPickle(std::span<const std::byte> bytes, const std::string& subject,
                  std::span<const std::string_view> globals);

} // namespace secateur
