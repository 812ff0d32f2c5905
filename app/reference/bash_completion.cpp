#include "app/reference/shell_text.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace secateur {

namespace {

// PROGRAM and FUNCTION are replaced. FUNCTION_of sets the variables `verbs`, `options`, `valued` (options with a
// value), `arguments` (kinds of arguments, the last one for all further ones) for a verb, and `kind` and `choices` of
// the value of the option `before`. Kinds: text, path, folder; a list is a text whose choices are separated by commas.
constexpr std::string_view frame = R"(
FUNCTION_offer() {
    # Offers values of a kind for the text `value`. bash replaces the text behind the last ":" or "=" only.
    local kind=$1 choices=$2 value=$3 head='' reply
    case $kind in
        list) [[ $value == *,* ]] && head=${value%,*}, ;;
        path) compopt -o default 2>/dev/null ;;
        folder) compopt -o dirnames 2>/dev/null ;;
    esac
    [[ $kind == list ]] && compopt -o nospace 2>/dev/null
    local dropped=${value%"${value##*[:=]}"}
    while IFS= read -r reply; do
        reply=$head$reply
        COMPREPLY+=("${reply#"$dropped"}")
    done < <(compgen -W "$choices" -- "${value#"$head"}")
}

FUNCTION() {
    local -a words=()
    local word joined='' verb='' verbs='' options='' valued='' kind='' choices='' before='' i count=0
    local -a arguments=()
    COMPREPLY=()
    # bash splits words at ":" and "="; they are joined again.
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if [[ -n $joined || ( $word == [:=]* && ${#words[@]} -gt 0 ) ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        joined=''
        [[ $word == *[:=] ]] && joined=yes
    done
    local last=$((${#words[@]} - 1)) current=${words[${#words[@]}-1]}
    ((last > 0)) && before=${words[last-1]}
    local value=$current isValue=''
    if [[ $current == --*=* ]]; then
        before=${current%%=*}
        value=${current#*=}
        isValue=yes
    fi
    FUNCTION_of ''
    for ((i = 0; i < last; ++i)); do
        word=${words[i]}
        if [[ $word == -* ]]; then
            [[ " $valued " == *" $word "* ]] && ((++i))
        elif [[ " $verbs " == *" $word "* ]]; then
            verb+=${verb:+ }$word
            FUNCTION_of "$verb"
        else
            ((++count))
        fi
    done
    if [[ -n $before && " $valued " == *" $before "* && ( -n $isValue || $current != -* ) ]]; then
        FUNCTION_offer "$kind" "$choices" "$value"
    elif [[ $current == -* ]]; then
        FUNCTION_offer text "$options" "$current"
    elif [[ -n $verbs ]]; then
        FUNCTION_offer text "$verbs" "$current"
    elif ((${#arguments[@]} > 0)); then
        ((count >= ${#arguments[@]})) && count=$((${#arguments[@]} - 1))
        kind=${arguments[count]%% *}
        FUNCTION_offer "$kind" "${arguments[count]#"$kind"}" "$current"
    fi
}

complete -F FUNCTION PROGRAM
)";

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
    return CLI::detail::find_and_replace(std::string(text), std::string(from), std::string(to));
}

const char* kindName(const OptionReference& option) {
    if (option.takesList)
        return "list";
    return option.kind == ValueKind::folder ? "folder" : option.kind == ValueKind::path ? "path" : "text";
}

/// The branch that sets kind and choices of an option's value; nothing if both would be those of any text.
std::string valueBranch(const OptionReference& option) {
    if (option.isSwitch() || (option.kind == ValueKind::text && option.choices.empty()))
        return {};
    return fmt::format("                {}) kind={} choices='{}' ;;\n", CLI::detail::join(option.names, "|"),
                       kindName(option), CLI::detail::join(option.choices, " "));
}

std::string branchOf(const VerbReference& verb) {
    std::string verbs;
    for (const VerbReference& below : verb.verbs)
        verbs += (verbs.empty() ? "" : " ") + below.path.back();
    std::string text = fmt::format("        '{}')\n            verbs='{}'\n", verb.verb(), verbs);
    text += fmt::format("            options='{}'\n", namesAsWords(verb.options, [](const auto&) { return true; }));
    text += fmt::format("            valued='{}'\n",
                        namesAsWords(verb.options, [](const auto& option) { return !option.isSwitch(); }));
    std::string arguments;
    for (const OptionReference& argument : verb.arguments)
        arguments += fmt::format("{}'{} {}'", arguments.empty() ? "" : " ", kindName(argument),
                                 CLI::detail::join(argument.choices, " "));
    text += fmt::format("            arguments=({})\n", arguments);
    std::string values;
    for (const OptionReference& option : verb.options)
        values += valueBranch(option);
    if (!values.empty())
        text += "            case $before in\n" + values + "            esac\n";
    text += "            ;;\n";
    for (const VerbReference& below : verb.verbs)
        text += branchOf(below);
    return text;
}

} // namespace

std::string bashCompletion(const VerbReference& program) {
    const std::string function = functionName(program);
    std::string text = headingOf(program, "bash");
    text +=
        "\n" + function + "_of() {\n    kind=text choices=''\n    case $1 in\n" + branchOf(program) + "    esac\n}\n";
    return text + replaced(replaced(frame, "FUNCTION", function), "PROGRAM", program.path.front());
}

} // namespace secateur
