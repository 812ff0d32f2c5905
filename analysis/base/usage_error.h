#pragma once

#include "analysis/base/error.h"

namespace secateur {

/// The error of a request that names something unknown or is malformed. The command line then exits with status 2.
class UsageError : public Error {
    using Error::Error;
};

} // namespace secateur
