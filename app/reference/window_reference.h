#pragma once

#include "app/reference/program_reference.h"

namespace secateur {

/// The window's program, for its man page and completions. Its options are those of window_options.h and Qt's.
VerbReference windowReference();

} // namespace secateur
