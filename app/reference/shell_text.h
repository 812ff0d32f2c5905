#pragma once

#include "app/reference/program_reference.h"

#include <string>
#include <string_view>
#include <vector>

namespace secateur {

// The scripts of completions.h, and what they share.

std::string bashCompletion(const VerbReference& program);
std::string zshCompletion(const VerbReference& program);
std::string fishCompletion(const VerbReference& program);

/// A name for a shell function, from the path of a verb: "_secateur_cli_mask_union".
std::string functionName(const VerbReference& verb);

/// The comment in the first lines of a script.
std::string headingOf(const VerbReference& program, std::string_view shell);

/// A text with `mark` in front of each of these characters.
std::string marked(std::string_view text, std::string_view characters, std::string_view mark);

/// All names of those options that are `wanted`, as words.
template <typename Wanted>
std::string namesAsWords(const std::vector<OptionReference>& options, Wanted wanted) {
    std::string words;
    for (const OptionReference& option : options)
        for (const std::string& name : option.names)
            if (wanted(option))
                words += (words.empty() ? "" : " ") + name;
    return words;
}

} // namespace secateur
