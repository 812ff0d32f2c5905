#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace secateur {

// A line at the end of a file with the SHA-256 of all before it. HDF5 1.10 does not survive every damaged file, so a
// session is checked before HDF5 sees it. HDF5 ignores what lies behind its own end, and cuts it off when it writes.

/// The line to put behind these bytes.
std::string sealOf(std::string_view bytes);
/// Whether a file ends with the line; without it, another program wrote or changed it.
/// @throws Error when the line does not fit the bytes before it
bool isSealed(std::span<const std::byte> file);

} // namespace secateur
