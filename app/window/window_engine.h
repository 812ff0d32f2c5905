#pragma once

#include "analysis/session/engine.h"

namespace secateur {

/// The doors that the window needs, onto the backends.
Engine windowEngine();

} // namespace secateur
