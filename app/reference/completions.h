#pragma once

#include "app/reference/program_reference.h"

#include <span>
#include <string>

namespace secateur {

/// A shell for which completions are written.
struct Shell {
    const char* id;
    const char* summary;
    /// A script that completes verbs, options, their known values, files and folders.
    std::string (*completion)(const VerbReference& program);
};

std::span<const Shell> shells();

} // namespace secateur
