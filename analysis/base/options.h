#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace secateur {

/// One option of a metric, a strategy or a figure, as lists and help show it.
struct OptionInfo {
    std::string_view name;
    std::string_view type; ///< "bool", "integer", "number" or "text"
    std::string_view defaultValue;
    std::string_view meaning;
};

/// "id:key=value:key=value" taken apart.
struct ParsedRequest {
    std::string id;
    std::map<std::string, std::string> options; ///< only those that differ from their default, once validated
};

/// A number by itself belongs to the value before it: "gnorm_greedy:stop=floor:0.02".
/// @throws UsageError when an option lacks its '=' or comes twice
ParsedRequest parseRequest(std::string_view text);

/// Checks every option against the known ones and its type, and drops those at their default.
/// @throws UsageError naming the option and listing the known ones
void validateOptions(ParsedRequest& request, std::span<const OptionInfo> known);

/// The option's value, or its default.
std::string optionValue(const std::map<std::string, std::string>& options, std::span<const OptionInfo> known,
                        std::string_view name);

} // namespace secateur
