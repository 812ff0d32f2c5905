#pragma once

#include <string>
#include <string_view>

namespace secateur {

// A line at the end of a file with the SHA-256 of all before it. HDF5 1.10 does not survive every damaged file, so a
// session is checked before HDF5 sees it. HDF5 ignores what lies behind its own end, and cuts it off when it writes.

/// The line to put behind these bytes.
std::string sealOf(std::string_view bytes);
/// A file without the line passes: another program wrote or changed it. @throws Error when it no longer fits
void checkSeal(const std::string& path);

} // namespace secateur
