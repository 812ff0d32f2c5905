#include "app/reference/shell_text.h"

#include <algorithm>

namespace secateur {

std::string functionName(const VerbReference& verb) {
    std::string name;
    for (const std::string& word : verb.path)
        name += "_" + word;
    std::ranges::replace(name, '-', '_');
    return name;
}

std::string headingOf(const VerbReference& program, std::string_view shell) {
    return "# Completions of " + program.path.front() + " for " + std::string(shell) +
           ", written by: secateur-cli completions " + std::string(shell) + "\n";
}

std::string marked(std::string_view text, std::string_view characters, std::string_view mark) {
    std::string result;
    for (const char c : text) {
        if (characters.find(c) != std::string_view::npos)
            result += mark;
        result += c;
    }
    return result;
}

} // namespace secateur
