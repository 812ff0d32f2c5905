#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace secateur {

/// An option of a metric, a strategy or a figure, as lists and help texts show it.
struct OptionInfo {
    std::string_view name;
    std::string_view type; ///< "bool", "integer", "number" or "text"
    std::string_view defaultValue;
    std::string_view meaning;
};

/// The parts of a request such as "id:key=value:key=value".
struct ParsedRequest {
    std::string id;
    std::map<std::string, std::string> options; ///< values by key; after validation without default values
};

/// Parses a request. A number between colons belongs to the value before it: in "gnorm_greedy:stop=floor:0.02" the
/// value is "floor:0.02".
/// @throws UsageError if an option has no '=' or is given twice
ParsedRequest parseRequest(std::string_view text);

/// Checks names and types of options and removes those that equal their default.
/// @throws UsageError for an unknown option, listing the known ones, and for a value of another type
void validateOptions(ParsedRequest& request, std::span<const OptionInfo> known);

/// The option's value, or its default; empty for an unknown option.
std::string optionValue(const std::map<std::string, std::string>& options, std::span<const OptionInfo> known,
                        std::string_view name);

} // namespace secateur
