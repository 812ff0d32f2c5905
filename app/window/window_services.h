#pragma once

#include "analysis/session/services.h"

namespace secateur {

/// The window's services, implemented by the backends.
Services windowServices();

} // namespace secateur
