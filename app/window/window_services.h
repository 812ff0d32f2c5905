#pragma once

#include "analysis/session/services.h"

namespace secateur {

/// The functions that the window calls, implemented by the backends.
Services windowServices();

} // namespace secateur
