#pragma once

#include "analysis/base/wire.h"
#include "analysis/tasks/task.h"

#include <string>
#include <string_view>

namespace secateur {

/// The only texts on the wire that are not copied are ids of task formats.
template <>
struct Wire<std::string_view> {
    static void write(WireWriter& writer, std::string_view id) { writer.put(std::string(id)); }
    static std::string_view read(WireReader& reader) {
        const auto id = reader.get<std::string>();
        return id.empty() ? std::string_view() : taskFormat(id).id;
    }
};

} // namespace secateur
