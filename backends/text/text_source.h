#pragma once

#include "analysis/text/sequences.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

class JsonObject;

/// A line of a text file.
struct TextLine {
    std::size_t number = 0; ///< counted from 1
    std::string text;
};

/// The lines of a text that are not blank.
std::vector<TextLine> nonBlankLines(std::string_view text);

/// The content of a text file: the one way in which texts and tasks are read. Neither the beginning nor a part of an
/// invalid text is used.
/// @throws Error naming the file and, if it is not UTF-8, the offset of the first invalid byte
std::string readTextFile(const std::string& path);

/// @param name of the file or the option that holds the text
/// @throws Error with the offset of the first byte that is not valid UTF-8
void checkUtf8(std::string_view text, const std::string& name);

/// The documents at a path. In a folder, each file that is neither hidden nor empty is a document, in the order of
/// names. In a .jsonl file, each row is a document: the text of `field` or, if `field` is empty, of the first of
/// "text", "content", "page" and "prompt" in the row.
/// So is each element of a .json file that contains a list. A row with the field "instruction" and none of these is a
/// prompt as in the code of AMP: "Instruction: ...", "Input: ..." if it has one, and "Response:" on lines of their own.
/// Any other file, and the built-in text (empty path), is divided by `split`.
/// @throws Error naming the file, and the row of a .jsonl
std::vector<std::string> readDocuments(const std::string& path, const std::string& field = {},
                                       TextSplit split = TextSplit::document);

/// The document in a row of a .jsonl file: the text of `field` or, if it is empty, of the first usual field.
/// @throws Error naming the row
std::string documentIn(const JsonObject& row, const std::string& field = {});

/// The name of a path in results: the path, or "built-in".
std::string sourceName(const std::string& path);

/// The default text (resources/texts): documents of prose, dialogue, code, tables and many languages. They are mixed,
/// so that a short beginning of the text is varied too. It is UTF-8, to be divided by TextSplit::document.
std::string_view builtInText();

} // namespace secateur
