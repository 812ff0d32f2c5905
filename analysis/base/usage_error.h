#pragma once

#include "analysis/base/error.h"

namespace secateur {

/// A request that names something unknown or malformed: exit status 2 on the command line.
class UsageError : public Error {
    using Error::Error;
};

} // namespace secateur
