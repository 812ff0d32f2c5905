#pragma once

#include <torch/version.h>

/// Whether libtorch is of this version or a later one, for #if. For sources only: includes libtorch.
#define SECATEUR_TORCH_AT_LEAST(major, minor)                                                                          \
    (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))
