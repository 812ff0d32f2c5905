#pragma once

#include "analysis/text/sequences.h"

#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// The documents in a place: of a folder one per file, by name; of a .jsonl file one per row, the text of `field` (when
/// empty: "text", "content", "page" or "prompt", whichever a row has first); of any other file what `split` says, and
/// of no place (an empty path) the same of the built-in text.
/// @throws Error naming the file, and the row of a .jsonl
std::vector<std::string> readDocuments(const std::string& path, const std::string& field = {},
                                       TextSplit split = TextSplit::document);

/// What results call a place: its path, or "built-in".
std::string sourceName(const std::string& path);

/// What verbs run on when no text is named: documents of prose, talk, code, tables and many languages, in an order in
/// which every beginning is varied (resources/texts). UTF-8; TextSplit::document tells the documents apart.
std::string_view builtInText();

} // namespace secateur
