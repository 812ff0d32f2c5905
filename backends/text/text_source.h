#pragma once

#include "analysis/text/sequences.h"

#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// The documents at a path: in a folder one per file, by name; in a .jsonl file one per row, the text of `field` (if
/// empty, the first one of "text", "content", "page" and "prompt" that the row has); in any other file, and in the
/// built-in text (empty path), as `split` says.
/// @throws Error naming the file, and the row of a .jsonl
std::vector<std::string> readDocuments(const std::string& path, const std::string& field = {},
                                       TextSplit split = TextSplit::document);

/// The name of a path in results: the path, or "built-in".
std::string sourceName(const std::string& path);

/// The text that is used when none is named: documents of prose, dialogue, code, tables and many languages, mixed so
/// that every beginning is varied (resources/texts). UTF-8; split by TextSplit::document.
std::string_view builtInText();

} // namespace secateur
