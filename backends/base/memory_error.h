#pragma once

#include "analysis/base/error.h"

#include <c10/util/Exception.h>

#include <string>

namespace secateur {

// For sources only: pulls in ATen.

/// For an allocation that failed: says how much memory is available. @param bytes of the allocation; 0 = unknown
Error memoryError(const std::string& subject, double bytes = 0);

/// libtorch's exception as an Error; memoryError() if an allocation failed.
Error torchError(const c10::Error& error, const std::string& subject);

} // namespace secateur
