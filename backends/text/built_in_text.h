#pragma once

#include <string_view>

namespace secateur {

/// What verbs run on when no text is named: documents of prose, talk, code, tables and many languages, in an order in
/// which every beginning is varied (resources/texts). UTF-8; TextSplit::document tells the documents apart.
std::string_view builtInText();

} // namespace secateur
