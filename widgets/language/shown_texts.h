#pragma once

#include <QString>

#include <cstdint>
#include <string_view>

namespace secateur {

/// The title, summary or other text of a table row in `analysis`, in the language of the interface.
QString rowText(std::string_view text);

/// A count of things in the language of the interface: "1 head", "3,072 heads".
/// @param thing a noun of the list in shown_texts.cpp, in the singular
QString countText(std::uint64_t count, const char* thing);

} // namespace secateur
