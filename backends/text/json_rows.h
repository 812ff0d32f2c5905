#pragma once

#include "backends/text/text_source.h"

#include <string>
#include <vector>

namespace secateur {

/// The rows of a file of JSON objects, with their lines: one object per line, or a list of objects. The rows are not
/// parsed, so that an invalid row does not hide the others.
/// @throws Error naming the file, and the line of an incomplete list
std::vector<TextLine> jsonRows(const std::string& path);

} // namespace secateur
