#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A value of a pickle. It refers to other values by index, so that values can be shared or contain themselves.
struct PickleValue {
    enum class Kind {
        none,
        boolean, ///< `integer` is 0 or 1
        integer,
        longInteger, ///< a number of more than 64 bits; `text` has its bytes, lowest byte first
        real,        ///< a floating-point number; its value is not kept, because no reader needs it
        text,
        bytes, ///< bytes, which are in `text`
        list,
        tuple,
        dictionary, ///< `items` is: key, value, key, value and so on
        global,     ///< a function or class; `text` is its full name
        call,       ///< a call that was not executed; `items` is the global and a tuple of its arguments
        external,   ///< a persistent object; `items` is its id
    };
    Kind kind = Kind::none;
    std::int64_t integer = 0;
    std::string_view text; ///< a view of the pickle, or of the list of allowed globals
    std::vector<std::uint32_t> items;
};

struct Pickle {
    std::vector<PickleValue> values;
    std::uint32_t top = 0;
    std::size_t length = 0; ///< size of the pickle in bytes

    const PickleValue& operator[](std::uint32_t index) const { return values[index]; }
};

/// Reads the pickle at the beginning of `bytes` without executing code. Globals are kept as names, and calls are kept
/// as values. Only collections.OrderedDict becomes a dictionary. State that is set on an object (BUILD) is ignored.
/// @param globals full names of globals that may occur, such as "torch._utils._rebuild_tensor_v2"; any other global is
/// an error
/// @throws Error naming the unknown global, or the opcode that is not supported
Pickle readPickle(std::span<const std::byte> bytes, const std::string& subject,
                  std::span<const std::string_view> globals);

} // namespace secateur
