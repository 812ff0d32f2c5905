#include "analysis/base/options.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace secateur {

namespace {

template <typename Number>
bool reads(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

bool hasType(std::string_view value, std::string_view type) {
    if (type == "bool")
        return value == "true" || value == "false";
    if (type == "integer")
        return reads<long long>(value);
    if (type == "number")
        return reads<double>(value);
    return !value.empty();
}

std::string knownNames(std::span<const OptionInfo> known) {
    if (known.empty())
        return "it has no options";
    std::vector<std::string> names;
    for (const OptionInfo& option : known)
        names.emplace_back(option.name);
    return "its options are " + join(names, ", ");
}

} // namespace

ParsedRequest parseRequest(std::string_view text) {
    const std::vector<std::string> parts = split(text, ':');
    ParsedRequest request{parts.front(), {}};
    std::string last;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const std::size_t equals = parts[i].find('=');
        if (i > 1 && reads<double>(parts[i])) { // the number belongs to the previous value: "stop=floor:0.02"
            request.options[last] += ":" + parts[i];
            continue;
        }
        if (equals == std::string::npos || equals == 0)
            throw UsageError(fmt::format("option \"{}\" is not of the form key=value", parts[i]), std::string(text));
        last = parts[i].substr(0, equals);
        const auto [_, isNew] = request.options.emplace(last, parts[i].substr(equals + 1));
        if (!isNew)
            throw UsageError(fmt::format("option \"{}\" is given twice", last), std::string(text));
    }
    return request;
}

void validateOptions(ParsedRequest& request, std::span<const OptionInfo> known) {
    for (auto option = request.options.begin(); option != request.options.end();) {
        const auto& name = option->first; // Clang 14 cannot capture a structured binding
        const auto& value = option->second;
        const auto info = std::find_if(known.begin(), known.end(), [&](const OptionInfo& o) { return o.name == name; });
        if (info == known.end())
            throw UsageError(fmt::format("unknown option \"{}\"; {}", name, knownNames(known)), request.id);
        if (!hasType(value, info->type))
            throw UsageError(fmt::format("option {}={} must have a value of type {}", name, value, info->type),
                             request.id);
        option = value == info->defaultValue ? request.options.erase(option) : std::next(option);
    }
}

std::string optionValue(const std::map<std::string, std::string>& options, std::span<const OptionInfo> known,
                        std::string_view name) {
    if (const auto set = options.find(std::string(name)); set != options.end())
        return set->second;
    const auto info = std::find_if(known.begin(), known.end(), [&](const OptionInfo& o) { return o.name == name; });
    return info == known.end() ? std::string() : std::string(info->defaultValue);
}

} // namespace secateur
