#pragma once

#include <QString>

#include <optional>

namespace secateur {

/// How well a text answers what was typed: its letters in order, best at the beginnings of words and side by side.
/// Nothing when some letter is missing; upper and lower case are the same.
std::optional<int> fuzzyScore(const QString& typed, const QString& text);

} // namespace secateur
