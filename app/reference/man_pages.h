#pragma once

#include "app/reference/program_reference.h"

#include <string>
#include <vector>

namespace secateur {

/// A page of section 1 in the man macros of groff. It holds ASCII only: groff reads UTF-8 only when told to.
struct ManPage {
    std::string name; ///< "secateur-cli-measure"
    std::string summary;
    std::string text;
};

/// The page of a program, and one of each of its verbs. Verbs of verbs are sections of the verb's page.
/// @param version of the program @param others pages of other programs to refer to
std::vector<ManPage> manPages(const VerbReference& program, const std::string& version,
                              const std::vector<std::string>& others);

} // namespace secateur
