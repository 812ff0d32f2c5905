#include "app/reference/shell_text.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace secateur {

namespace {

// AT is true behind the verbs that it is given, BEFORE where the next word is a verb of theirs.
constexpr std::string_view functions = R"(
function AT_verbs
    set -l words (commandline -opc)
    set -e words[1]
    string match -v -- '-*' $words
end

function AT
    set -l verbs (AT_verbs)
    for i in (seq (count $argv))
        test "$verbs[$i]" = "$argv[$i]"; or return 1
    end
end

function AT_end
    set -l verbs (AT_verbs)
    test (count $verbs) -eq (count $argv); and AT $argv
end

)";

std::string fishQuoted(const std::string& text) {
    return "'" + marked(text, "'\\", "\\") + "'";
}

std::string fishChoices(const OptionReference& option) {
    const std::string choices = CLI::detail::join(option.choices, " ");
    return fishQuoted(option.takesList ? "(__fish_append , " + choices + ")" : choices);
}

/// How a value is completed: -x forbids files, -F allows them, -r says that there is a value.
std::string fishValue(const OptionReference& option) {
    if (option.isSwitch())
        return {};
    if (option.kind == ValueKind::folder)
        return " -x -a '(__fish_complete_directories)'";
    std::string text = option.kind == ValueKind::path ? " -r -F" : option.mayLackItsValue ? " -f" : " -x";
    if (!option.choices.empty())
        text += " -a " + fishChoices(option);
    return text;
}

std::string fishName(const std::string& name) {
    return name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
}

/// The beginning of a line that holds at a verb. @param function "_at" or "_at_end" @param verb path without the
/// program
std::string fishStart(const VerbReference& verb, std::string_view end) {
    const std::string& program = verb.path.front();
    VerbReference root;
    root.path = {program};
    std::string condition = "_" + functionName(root) + "_at" + std::string(end);
    for (std::size_t i = 1; i < verb.path.size(); ++i)
        condition += " " + verb.path[i];
    return fmt::format("complete -c {} -n {}", program, fishQuoted(condition));
}

std::string linesOf(const VerbReference& verb) {
    std::string text;
    for (const VerbReference& below : verb.verbs)
        text += fmt::format("{} -f -a {} -d {}\n", fishStart(verb, "_end"), below.path.back(),
                            fishQuoted(shortDescription(below.summary)));
    for (const OptionReference& option : verb.options) {
        std::string names;
        for (const std::string& name : option.names)
            names += fishName(name);
        text += fmt::format("{}{}{} -d {}\n", fishStart(verb, verb.verbs.empty() ? "" : "_end"), names,
                            fishValue(option), fishQuoted(shortDescription(option.description)));
    }
    bool takesFiles = false;
    for (const OptionReference& argument : verb.arguments)
        takesFiles = takesFiles || argument.kind != ValueKind::text;
    for (const OptionReference& argument : verb.arguments)
        if (!argument.choices.empty())
            text += fmt::format("{}{} -a {}\n", fishStart(verb, ""), takesFiles ? "" : " -f", fishChoices(argument));
    for (const VerbReference& below : verb.verbs)
        text += linesOf(below);
    return text;
}

} // namespace

std::string fishCompletion(const VerbReference& program) {
    return headingOf(program, "fish") +
           CLI::detail::find_and_replace(std::string(functions), "AT", "_" + functionName(program) + "_at") +
           linesOf(program);
}

} // namespace secateur
