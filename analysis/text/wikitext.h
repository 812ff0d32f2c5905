#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Whether a text is a raw WikiText file, or a piece of one: some line is a top-level heading as those files spell it,
/// " = Title = ".
bool looksLikeWikitext(std::string_view text);

/// The rows that data set libraries make of such a file (evaluation.md 1.1): each line with its line break, nothing
/// where a line is blank.
std::vector<std::string_view> wikitextRows(std::string_view text);

/// Its articles, each from its top-level heading to the next one, without the line break before that (1.3).
std::vector<std::string_view> wikitextPages(std::string_view text);

/// A page without the blanks and marks that WikiText puts around punctuation, replacement by replacement as the
/// evaluation harness does it (1.3), whose oddities are kept.
std::string detokenised(std::string_view page);

/// Runs of white space and one more: an empty piece before or behind counts as a word (1.3).
std::int64_t wordCount(std::string_view page);

} // namespace secateur
