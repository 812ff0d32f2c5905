#include "app/reference/program_reference.h"

#include "app/reference/offered_values.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>

namespace secateur {

namespace {

constexpr std::size_t longestPlaceholder = 40;

/// The members of a CLI::IsMember, which CLI11 adds to the type of an option: "TEXT:{auto,float32}".
std::vector<std::string> membersIn(const std::string& type) {
    const std::size_t begin = type.find(":{");
    const std::size_t end = type.find('}');
    if (begin == std::string::npos || end == std::string::npos)
        return {};
    return CLI::detail::split(type.substr(begin + 2, end - begin - 2), ',');
}

std::string withoutFullStop(std::string text) {
    if (text.ends_with('.') && !text.ends_with("..."))
        text.pop_back();
    return text;
}

std::string placeholderOf(const CLI::Option& option, const std::vector<std::string>& members) {
    if (!option.get_option_text().empty())
        return option.get_option_text();
    const std::string type = option.get_type_name();
    const std::string name = type.substr(0, type.find(':'));
    const std::string choices = CLI::detail::join(members, "|");
    if (!choices.empty() && choices.size() <= longestPlaceholder)
        return choices;
    return name == "INT" || name == "UINT" ? "N" : name == "FLOAT" ? "X" : name;
}

/// The kind by a placeholder: FILE, DIR, PATH, MODEL, "FILE|DIR", "dense|none|MASK".
ValueKind kindOf(const std::string& placeholder) {
    const auto names = [&](const char* word) { return placeholder.find(word) != std::string::npos; };
    if (placeholder == "DIR")
        return ValueKind::folder;
    return names("FILE") || names("DIR") || names("PATH") || names("MASK") || names("MODEL") ? ValueKind::path
                                                                                             : ValueKind::text;
}

std::vector<std::string> namesOf(const CLI::Option& option) {
    if (option.get_positional())
        return {option.get_name(true)};
    std::vector<std::string> names;
    for (const std::string& name : option.get_snames())
        names.push_back("-" + name);
    for (const std::string& name : option.get_lnames())
        names.push_back("--" + name);
    return names;
}

OptionReference optionOf(CLI::Option& option, const IdsOfKind& idsOfKind) {
    OptionReference reference;
    reference.names = namesOf(option);
    reference.description = withoutFullStop(option.get_description());
    reference.isRequired = option.get_required();
    for (const CLI::Option* needed : option.get_needs())
        reference.needs.push_back(needed->get_name());
    std::ranges::sort(reference.needs); // CLI11 orders them by their addresses
    if (option.get_items_expected_max() == 0)
        return reference;
    const OfferedValues offered = offeredBy(option);
    reference.choices = membersIn(option.get_type_name());
    reference.value = option.get_positional() ? option.get_name(true) : placeholderOf(option, reference.choices);
    reference.choices.insert(reference.choices.end(), offered.values.begin(), offered.values.end());
    if (!offered.kind.empty())
        std::ranges::copy(idsOfKind(offered.kind), std::back_inserter(reference.choices));
    reference.takesList = offered.several == Several::byComma;
    reference.kind = !option.get_positional()    ? kindOf(reference.value)
                     : reference.choices.empty() ? ValueKind::path
                                                 : ValueKind::text;
    reference.defaultValue = option.get_default_str();
    reference.repeats = option.get_expected_max() > 1;
    reference.mayLackItsValue = option.get_expected_min() == 0;
    return reference;
}

/// Splits the text below the options into examples ("Example: COMMAND", and indented lines behind it) and notes.
void readFooter(const std::string& footer, VerbReference& reference) {
    constexpr std::string_view mark = "Example: ";
    for (const std::string& line : CLI::detail::split(footer, '\n')) {
        const std::size_t begin = line.find_first_not_of(' ');
        if (begin == std::string::npos)
            continue;
        if (line.starts_with(mark))
            reference.examples.push_back(line.substr(mark.size()));
        else if (begin > 0 && !reference.examples.empty())
            reference.examples.push_back(line.substr(begin));
        else
            reference.notes += (reference.notes.empty() ? "" : " ") + line;
    }
}

VerbReference verbOf(CLI::App& verb, const VerbReference* parent, const std::string& footerOfProgram,
                     const IdsOfKind& idsOfKind) {
    VerbReference reference;
    if (parent)
        reference.path = parent->path;
    reference.path.push_back(verb.get_name());
    reference.summary = withoutFullStop(verb.get_description());
    if (!parent || verb.get_footer() != footerOfProgram) // a verb without a text of its own has the program's
        readFooter(verb.get_footer(), reference);
    for (CLI::Option* option : verb.get_options({})) {
        if (option->get_group().empty())
            continue;
        std::vector<OptionReference>& list = option->get_positional() ? reference.arguments : reference.options;
        list.push_back(optionOf(*option, idsOfKind));
    }
    for (CLI::App* below : verb.get_subcommands([](CLI::App* app) { return !app->get_group().empty(); }))
        reference.verbs.push_back(verbOf(*below, &reference, footerOfProgram, idsOfKind));
    return reference;
}

void addLeaves(const VerbReference& verb, std::vector<const VerbReference*>& leaves) {
    if (verb.verbs.empty())
        leaves.push_back(&verb);
    for (const VerbReference& below : verb.verbs)
        addLeaves(below, leaves);
}

} // namespace

std::string VerbReference::command() const {
    return CLI::detail::join(path, " ");
}

std::string VerbReference::verb() const {
    return CLI::detail::join(std::vector<std::string>(path.begin() + 1, path.end()), " ");
}

VerbReference programReference(CLI::App& program, const IdsOfKind& idsOfKind) {
    return verbOf(program, nullptr, program.get_footer(), idsOfKind);
}

std::vector<const VerbReference*> leavesOf(const VerbReference& program) {
    std::vector<const VerbReference*> leaves;
    addLeaves(program, leaves);
    return leaves;
}

std::string shortDescription(std::string_view description) {
    constexpr std::size_t most = 100;
    if (description.size() <= most)
        return std::string(description);
    const std::string_view head = description.substr(0, most);
    const std::size_t end = head.find_last_of(' '); // never inside a character of several bytes
    return std::string(head.substr(0, end)) + "...";
}

} // namespace secateur
