#pragma once

#include "analysis/session/services.h"

namespace secateur {

/// The doors that the window needs, onto the backends.
Services windowServices();

} // namespace secateur
