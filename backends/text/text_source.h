#pragma once

#include "analysis/text/sequences.h"

#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Reads the documents at a path. In a folder, each file that is neither hidden nor empty is a document, in the order
/// of names. In a .jsonl file, each row is a document. Its text is in `field`; if `field` is empty, in the first of
/// "text", "content", "page" and "prompt" that the row has. Any other file, and the built-in text (empty path), is
/// divided by `split`.
/// @throws Error naming the file, and the row of a .jsonl
std::vector<std::string> readDocuments(const std::string& path, const std::string& field = {},
                                       TextSplit split = TextSplit::document);

/// The name of a path in results: the path, or "built-in".
std::string sourceName(const std::string& path);

/// The default text (resources/texts): documents of prose, dialogue, code, tables and many languages. They are mixed,
/// so that a short beginning of the text is varied too. It is UTF-8, to be divided by TextSplit::document.
std::string_view builtInText();

} // namespace secateur
