#pragma once

#include <functional>

namespace secateur::cli {

/// Runs a function that draws with Qt, without a display. Only in builds with Qt.
void runOffscreen(const std::function<void()>& draw);

} // namespace secateur::cli
