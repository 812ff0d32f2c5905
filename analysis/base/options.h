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

/// The parts of "id:key=value:key=value".
struct ParsedRequest {
    std::string id;
    std::map<std::string, std::string> options; ///< once validated, only those that differ from their default
};

/// A part that is only a number continues the value before it: "gnorm_greedy:stop=floor:0.02".
/// @throws UsageError when an option has no '=' or is given twice
ParsedRequest parseRequest(std::string_view text);

/// Checks names and types of options and removes those that equal their default.
/// @throws UsageError naming the option and listing the known ones
void validateOptions(ParsedRequest& request, std::span<const OptionInfo> known);

/// The option's value, or its default.
std::string optionValue(const std::map<std::string, std::string>& options, std::span<const OptionInfo> known,
                        std::string_view name);

} // namespace secateur
