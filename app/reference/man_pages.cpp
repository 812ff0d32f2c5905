#include "app/reference/man_pages.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace secateur {

namespace {

enum class Style { prose, literal };

/// The code point that begins at `at`, which is moved behind it. @param text valid UTF-8
std::uint32_t codePoint(std::string_view text, std::size_t& at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(at++);
    if (first < 0x80)
        return first;
    const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    std::uint32_t point = first & (0x3fU >> more);
    for (int i = 0; i < more && at < text.size(); ++i)
        point = point << 6 | (byte(at++) & 0x3fU);
    return point;
}

/// A word as groff prints it unchanged. In literal text a hyphen is a minus sign, which can be copied into a shell.
std::string escapedWord(std::string_view word, Style style) {
    std::string text;
    for (std::size_t at = 0; at < word.size();) {
        const std::uint32_t point = codePoint(word, at);
        switch (point) {
        case '\\':
            text += "\\e";
            break;
        case '-':
            text += style == Style::literal ? "\\-" : "-";
            break;
        case '\'':
            text += "\\(aq";
            break;
        case '`':
            text += "\\(ga";
            break;
        case '^':
            text += "\\(ha";
            break;
        case '~':
            text += "\\(ti";
            break;
        case '"':
            text += "\\(dq";
            break;
        case '.':
            text += text.empty() ? "\\&." : ".";
            break; // a line that begins with a point is a request
        default:
            text += point < 0x80 ? std::string(1, static_cast<char>(point)) : fmt::format("\\[u{:04X}]", point);
        }
    }
    return text;
}

/// Whether a word of a sentence is code: an option, a file, a command.
bool isCode(std::string_view word) {
    word.remove_prefix(std::min(word.find_first_not_of("(\"["), word.size()));
    return word.starts_with("-") || word.starts_with("secateur") || word.find_first_of("./=:_|") < word.size() - 1;
}

std::string escaped(std::string_view text, Style style) {
    std::string result;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        const std::string_view word = text.substr(begin, end - begin);
        result += escapedWord(word, isCode(word) ? Style::literal : style);
        result += end < text.size() ? " " : "";
        begin = end + 1;
    }
    return result;
}

std::string literal(std::string_view text) {
    return escaped(text, Style::literal);
}

std::string bold(std::string_view text) {
    return "\\fB" + literal(text) + "\\fR";
}

/// A sentence; what stands in grave accents is bold.
std::string prose(std::string_view text) {
    std::string result;
    bool isBold = false;
    for (const std::string& part : CLI::detail::split(std::string(text), '`')) {
        result += isBold ? bold(part) : escaped(part, Style::prose);
        isBold = !isBold;
    }
    return result;
}

/// A sentence from a phrase.
std::string sentence(std::string_view text) {
    const bool ends = text.ends_with('.');
    return prose(text) + (ends ? "\n" : ".\n");
}

std::string italic(std::string_view text) {
    return "\\fI" + literal(text) + "\\fR";
}

bool isArgument(const OptionReference& option) {
    return !option.names.front().starts_with('-');
}

std::string optionHead(const OptionReference& option) {
    if (isArgument(option))
        return italic(option.value);
    std::string head;
    for (const std::string& name : option.names)
        head += (head.empty() ? "" : ", ") + bold(name);
    if (option.isSwitch())
        return head;
    return head + (option.mayLackItsValue ? " [" + italic(option.value) + "]" : " " + italic(option.value));
}

/// The default, if the description does not state it in brackets itself.
std::string defaultNote(const OptionReference& option) {
    if (option.defaultValue.empty() || option.description.find('[') != std::string::npos)
        return {};
    return " [" + option.defaultValue + "]";
}

std::string optionEntry(const OptionReference& option) {
    std::string text = ".TP\n" + optionHead(option) + "\n" + sentence(option.description + defaultNote(option));
    if (!option.needs.empty())
        text += "Requires " + bold(CLI::detail::join(option.needs, ", ")) + ".\n";
    if (option.isRequired && !isArgument(option))
        text += "Required.\n";
    return text;
}

std::string entries(const std::vector<OptionReference>& options) {
    std::string text;
    for (const OptionReference& option : options)
        text += optionEntry(option);
    return text;
}

/// The command with its arguments and its required options.
std::string synopsis(const VerbReference& verb) {
    std::string text = bold(verb.command());
    if (!verb.verbs.empty())
        return text + " \\fIVERB\\fR [\\fIOPTION\\fR...]\n";
    for (const OptionReference& argument : verb.arguments) {
        const std::string name = italic(argument.value) + (argument.repeats ? "..." : "");
        text += argument.isRequired ? " " + name : " [" + name + "]";
    }
    for (const OptionReference& option : verb.options)
        if (option.isRequired)
            text += " " + optionHead(option);
    return text + " [\\fIOPTION\\fR...]\n";
}

/// The synopses of a verb's verbs, or of the verb.
std::string synopses(const VerbReference& verb) {
    std::string text;
    for (const VerbReference* leaf : leavesOf(verb))
        text += (text.empty() ? "" : ".br\n") + synopsis(*leaf);
    return text;
}

/// Appends the examples of a verb and of its verbs, each once.
void addExamples(const VerbReference& verb, std::string& text) {
    for (const std::string& example : verb.examples)
        if (const std::string line = literal(example) + "\n"; text.find("\n" + line) == std::string::npos)
            text += ".P\n.nf\n.RS\n" + line + ".RE\n.fi\n";
    for (const VerbReference& below : verb.verbs)
        addExamples(below, text);
}

bool hasOption(const VerbReference& verb, const OptionReference& option) {
    return std::ranges::any_of(verb.options, [&](const OptionReference& other) {
        return other.names == option.names && other.description == option.description;
    });
}

/// The options that all verbs of a verb have.
std::vector<OptionReference> commonOptions(const VerbReference& verb) {
    std::vector<OptionReference> common;
    std::ranges::copy_if(verb.verbs.front().options, std::back_inserter(common), [&](const OptionReference& option) {
        return std::ranges::all_of(verb.verbs, [&](const VerbReference& below) { return hasOption(below, option); });
    });
    return common;
}

/// The sections of the verbs of a verb, each with its own options, and the section of the options of all.
std::string sectionsOfVerbs(const VerbReference& verb) {
    const std::vector<OptionReference> common = commonOptions(verb);
    std::string text = ".SH VERBS\n";
    for (const VerbReference& below : verb.verbs) {
        text += ".SS " + literal(below.path.back()) + "\n" + sentence(below.summary);
        if (!below.notes.empty())
            text += sentence(below.notes);
        text += entries(below.arguments);
        for (const OptionReference& option : below.options)
            if (std::ranges::none_of(common, [&](const auto& other) { return other.names == option.names; }))
                text += optionEntry(option);
    }
    return text + ".SH OPTIONS\n" + entries(common);
}

std::string heading(const std::string& name, const std::string& summary, const std::string& version) {
    std::string capitals = name;
    std::ranges::transform(capitals, capitals.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
    std::string phrase = summary;
    if (phrase.size() > 1 && phrase[1] >= 'a' && phrase[1] <= 'z' && phrase[0] >= 'A' && phrase[0] <= 'Z')
        phrase[0] = static_cast<char>(phrase[0] - 'A' + 'a');
    return fmt::format(".\\\" Written by: secateur-cli man\n.TH {} 1 \"\" \"Secateur {}\" \"User Commands\"\n"
                       ".SH NAME\n{} \\- {}\n",
                       literal(capitals), version, literal(name), prose(phrase));
}

std::string seeAlso(std::vector<std::string> names, const std::string& own) {
    std::erase(names, own);
    std::string text = ".SH SEE ALSO\n";
    for (const std::string& name : names)
        text += fmt::format(".BR {} (1){}\n", literal(name), name == names.back() ? "" : ",");
    return text;
}

std::string pageName(const VerbReference& verb) {
    return CLI::detail::join(verb.path, "-");
}

constexpr const char* exitStatus =
    ".SH EXIT STATUS\n.TP\n0\nSuccess.\n.TP\n1\nThe work failed, was stopped, or its output "
    "could not be written.\n.TP\n2\nWrong usage.\n";

std::string verbPage(const VerbReference& verb, const std::string& version, const std::vector<std::string>& all) {
    std::string text = heading(pageName(verb), verb.summary, version) + ".SH SYNOPSIS\n" + synopses(verb) +
                       ".SH DESCRIPTION\n" + sentence(verb.summary);
    if (!verb.notes.empty())
        text += sentence(verb.notes);
    if (verb.verbs.empty())
        text += entries(verb.arguments) + ".SH OPTIONS\n" + entries(verb.options);
    else
        text += sectionsOfVerbs(verb);
    std::string examples;
    addExamples(verb, examples);
    if (!examples.empty())
        text += ".SH EXAMPLES\n" + examples;
    return text + exitStatus + seeAlso(all, pageName(verb));
}

/// The page of a program with verbs, which lists them.
std::string programPage(const VerbReference& program, const std::string& version, const std::vector<std::string>& all) {
    std::string text = heading(pageName(program), program.summary, version) + ".SH SYNOPSIS\n" + synopsis(program) +
                       ".SH DESCRIPTION\n" + sentence(program.summary);
    if (!program.notes.empty())
        text += sentence(program.notes);
    text += ".SH VERBS\n";
    for (const VerbReference& verb : program.verbs)
        text += ".TP\n.BR " + literal(pageName(verb)) + " (1)\n" + sentence(verb.summary);
    return text + ".SH OPTIONS\n" + entries(program.options) + exitStatus + seeAlso(all, pageName(program));
}

} // namespace

std::vector<ManPage> manPages(const VerbReference& program, const std::string& version,
                              const std::vector<std::string>& others) {
    std::vector<std::string> all = others;
    all.push_back(pageName(program));
    for (const VerbReference& verb : program.verbs)
        all.push_back(pageName(verb));
    std::ranges::sort(all);
    if (program.verbs.empty())
        return {{pageName(program), program.summary, verbPage(program, version, all)}};
    std::vector<ManPage> pages{{pageName(program), program.summary, programPage(program, version, all)}};
    for (const VerbReference& verb : program.verbs)
        pages.push_back({pageName(verb), verb.summary, verbPage(verb, version, all)});
    return pages;
}

} // namespace secateur
