#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A value of a pickle. It refers to other values by index, so that values may be shared and even contain themselves.
struct PickleValue {
    enum class Kind {
        none,
        boolean, ///< `integer` is 0 or 1
        integer,
        longInteger, ///< more than 64 bits; `text` has its bytes, lowest first
        real,        ///< a float, whose value is not kept because no reader needs it
        text,
        bytes, ///< in `text`
        list,
        tuple,
        dictionary, ///< `items`: key, value, key, value...
        global,     ///< `text` is its full name
        call,       ///< `items`: the global to call, and its arguments as a tuple; the call was not executed
        external,   ///< a persistent object; `items`: its id
    };
    Kind kind = Kind::none;
    std::int64_t integer = 0;
    std::string_view text; ///< a view of the pickle, or of the list of known globals
    std::vector<std::uint32_t> items;
};

struct Pickle {
    std::vector<PickleValue> values;
    std::uint32_t top = 0;
    std::size_t length = 0; ///< size of the pickle in bytes

    const PickleValue& operator[](std::uint32_t index) const { return values[index]; }
};

/// Reads the pickle at the beginning of `bytes` without executing code: globals are only names, and calls are kept as
/// values, except that collections.OrderedDict becomes a dictionary. State set on an object (BUILD) is dropped.
/// @param globals full names ("torch._utils._rebuild_tensor_v2") that may occur; any other one is an error
/// @throws Error naming the unknown global, or the opcode that cannot be read
Pickle readPickle(std::span<const std::byte> bytes, const std::string& subject,
                  std::span<const std::string_view> globals);

} // namespace secateur
