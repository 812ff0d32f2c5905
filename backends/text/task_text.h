#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace secateur {

/// Characters of valid UTF-8.
std::size_t codePoints(std::string_view text);

/// The first character as in a title and all others in lower case, as Python's str.capitalize() does.
std::string capitalised(std::string_view text);

/// HellaSwag's texts without what WikiHow left in them: blanks around the whole, " [title]" (which ends a sentence),
/// other brackets, double blanks.
std::string withoutWikiHow(std::string_view text);

} // namespace secateur
