#include "app/reference/shell_text.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace secateur {

namespace {

/// A text in single quotes.
std::string zshQuoted(const std::string& text) {
    return "'" + CLI::detail::find_and_replace(text, "'", "'\\''") + "'";
}

/// What completes a value, behind the last colon of a specification.
std::string zshAction(const OptionReference& option) {
    const std::string choices = CLI::detail::join(option.choices, " ");
    if (option.takesList)
        return "_sequence compadd - " + choices;
    if (option.kind == ValueKind::folder)
        return "_files -/";
    if (option.kind == ValueKind::path)
        return choices.empty() ? "_files" : "_alternative \"values:value:(" + choices + ")\" \"files:file:_files\"";
    return choices.empty() ? " " : "(" + choices + ")";
}

std::string zshValue(const OptionReference& option) {
    if (option.isSwitch())
        return {};
    return fmt::format("{}:{}:{}", option.mayLackItsValue ? ":" : "", marked(option.value, ":\\", "\\"),
                       zshAction(option));
}

/// Specifications of one option for _arguments, one for each of its names.
std::vector<std::string> zshOption(const OptionReference& option) {
    std::vector<std::string> specifications;
    const std::string others = option.names.size() > 1 ? "(" + CLI::detail::join(option.names, " ") + ")" : "";
    for (const std::string& name : option.names) {
        const char* const sign = option.isSwitch() || !name.starts_with("--") ? "" : "=";
        specifications.push_back(
            zshQuoted(fmt::format("{}{}{}[{}]{}", option.repeats ? "*" : others, name, sign,
                                  marked(shortDescription(option.description), "[]\\", "\\"), zshValue(option))));
    }
    return specifications;
}

std::string zshArgument(const OptionReference& argument, std::size_t position) {
    const std::string place = argument.repeats ? "*" : std::to_string(position);
    return zshQuoted(fmt::format("{}:{}:{}", place, argument.value, zshAction(argument)));
}

/// A call of _arguments with the options of a verb. @param further specifications behind them
std::string zshArguments(const VerbReference& verb, const std::vector<std::string>& further) {
    std::vector<std::string> specifications;
    for (const OptionReference& option : verb.options)
        for (std::string& specification : zshOption(option))
            specifications.push_back(std::move(specification));
    specifications.insert(specifications.end(), further.begin(), further.end());
    return CLI::detail::join(specifications, " \\\n        ");
}

std::string leafFunction(const VerbReference& verb) {
    std::vector<std::string> arguments;
    for (std::size_t i = 0; i < verb.arguments.size(); ++i)
        arguments.push_back(zshArgument(verb.arguments[i], i + 1));
    return fmt::format("{}() {{\n    _arguments -s \\\n        {}\n}}\n\n", functionName(verb),
                       zshArguments(verb, arguments));
}

std::string groupFunction(const VerbReference& verb) {
    std::string list;
    for (const VerbReference& below : verb.verbs)
        list += "        " + zshQuoted(below.path.back() + ":" + shortDescription(below.summary)) + "\n";
    const std::string choices = zshArguments(verb, {"'1: :->verb'", "'*:: :->rest'"});
    std::string text = fmt::format("{}() {{\n    local context state state_descr line\n    typeset -A opt_args\n"
                                   "    local -a verbs=(\n{}    )\n    _arguments -C \\\n        {}\n",
                                   functionName(verb), list, choices);
    text += "    case $state in\n        verb) _describe -t verbs verb verbs ;;\n        rest)\n";
    text += "            case $line[1] in\n";
    for (const VerbReference& below : verb.verbs)
        text += fmt::format("                {}) {} ;;\n", below.path.back(), functionName(below));
    return text + "            esac ;;\n    esac\n}\n\n";
}

std::string functionsOf(const VerbReference& verb) {
    std::string text;
    for (const VerbReference& below : verb.verbs)
        text += functionsOf(below);
    return text + (verb.verbs.empty() ? leafFunction(verb) : groupFunction(verb));
}

} // namespace

std::string zshCompletion(const VerbReference& program) {
    return "#compdef " + program.path.front() + "\n" + headingOf(program, "zsh") + "\n" + functionsOf(program) +
           functionName(program) + " \"$@\"\n";
}

} // namespace secateur
