#pragma once

#include "analysis/report/report.h"

#include <string>
#include <string_view>

namespace secateur {

/// The document of `report --json` (resources/manual/formats.md): path of the file, title, and the sections with the
/// labels of their figures and tables.
std::string reportJson(const Report& report, std::string_view path);

} // namespace secateur
