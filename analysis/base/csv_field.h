#pragma once

#include <string>

namespace secateur {

/// A CSV field, quoted by RFC 4180 if necessary.
std::string csvField(const std::string& text);

} // namespace secateur
