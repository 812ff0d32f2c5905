#pragma once

namespace secateur {

/// Seconds since this process was launched: by the kernel's account where it keeps one, else since the first call.
double processAge();

} // namespace secateur
