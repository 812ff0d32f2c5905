#include "app/reference/offered_values.h"

#include <string_view>

namespace secateur {

namespace {

// CLI11 stores copies of validators as their base class, so that the name is the only place for a mark:
// "offers one KIND value value" or "offers list KIND value value", where KIND may be "-".
constexpr std::string_view markOfOne = "offers one ";
constexpr std::string_view markOfList = "offers list ";
constexpr std::string_view noKind = "-";

CLI::Validator markOf(std::string_view kind, const std::vector<std::string>& values, Several several) {
    std::string name(several == Several::byComma ? markOfList : markOfOne);
    name += kind;
    for (const std::string& value : values)
        name += " " + value;
    return CLI::Validator([](std::string&) { return std::string(); }, std::string(), std::move(name));
}

std::vector<std::string> namesOfValidators(CLI::Option& option) {
    std::vector<std::string> names;
    try {
        for (int index = 0;; ++index)
            names.push_back(option.get_validator(index)->get_name());
    } catch (const CLI::OptionNotFound&) { // behind the last one; CLI11 does not tell their number
        return names;
    }
}

} // namespace

CLI::Validator offers(const std::vector<std::string>& values, Several several) {
    return markOf(noKind, values, several);
}

CLI::Validator offersIds(const std::string& kind, Several several, const std::vector<std::string>& more) {
    return markOf(kind, more, several);
}

OfferedValues offeredBy(CLI::Option& option) {
    OfferedValues offered;
    for (const std::string& name : namesOfValidators(option)) {
        if (!name.starts_with(markOfOne) && !name.starts_with(markOfList))
            continue;
        const bool isList = name.starts_with(markOfList);
        std::vector<std::string> words = CLI::detail::split(name.substr((isList ? markOfList : markOfOne).size()), ' ');
        offered.several = isList ? Several::byComma : Several::no;
        offered.kind = words.front() == noKind ? std::string() : words.front();
        offered.values.assign(words.begin() + 1, words.end());
    }
    return offered;
}

} // namespace secateur
