#pragma once

#include <string_view>
#include <vector>

namespace secateur {

/// Refuses an unknown id: `Unknown metric "sink_had". Did you mean sink_head?`. If no known id is similar, all are
/// listed.
/// @param what kind of id, in the singular @param known ids; further choices may follow them
/// @throws UsageError always
[[noreturn]] void refuseUnknown(std::string_view what, std::string_view id, const std::vector<std::string_view>& known);

/// The ids of a table's rows. @param table rows with a member `id`, or pointers to them
template <typename Table>
std::vector<std::string_view> idsOf(const Table& table) {
    std::vector<std::string_view> ids;
    for (const auto& row : table) {
        if constexpr (requires { row->id; })
            ids.push_back(row->id);
        else
            ids.push_back(row.id);
    }
    return ids;
}

} // namespace secateur
