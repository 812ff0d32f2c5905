#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace secateur {

// Marks of options for shell completions. They accept every text and are not shown in --help: the verb checks the
// values itself, with errors that say more than CLI11's. Options with a CLI::IsMember need no mark.

enum class Several { no, byComma };

/// The option's values are these texts, or begin with one of them.
CLI::Validator offers(const std::vector<std::string>& values, Several several = Several::no);
/// The option's values are ids that `list KIND` prints, or begin with one. @param more further values
CLI::Validator offersIds(const std::string& kind, Several several = Several::no,
                         const std::vector<std::string>& more = {});

/// What a mark says.
struct OfferedValues {
    std::string kind; ///< of `list KIND`; may be empty
    std::vector<std::string> values;
    Several several = Several::no;
};

/// The marks of an option. @param option not const, because CLI11 gives access to its validators only so
OfferedValues offeredBy(CLI::Option& option);

} // namespace secateur
