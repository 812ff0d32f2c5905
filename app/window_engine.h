#pragma once

#include "analysis/engine.h"

namespace secateur {

/// The doors that the window needs, onto the backends.
Engine windowEngine();

} // namespace secateur
