#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace secateur {

/// Values of an option or an argument, for completions.
enum class ValueKind {
    none,   ///< a switch, which has no value
    text,   ///< a text or a number
    path,   ///< a file or a folder
    folder, ///< a folder
};

/// An option, or an argument without a name.
struct OptionReference {
    std::vector<std::string> names;   ///< "-h" and "--help"; of an argument "MODEL"
    std::string value;                ///< placeholder of its value: "FILE"; of a switch empty
    std::string description;          ///< without the last full stop
    std::string defaultValue;         ///< may be empty
    std::vector<std::string> choices; ///< values that are known; a path may be another value
    std::vector<std::string> needs;   ///< names of options that are needed with it
    ValueKind kind = ValueKind::none;
    bool takesList = false; ///< whether one value holds several choices, separated by commas
    bool isRequired = false;
    bool repeats = false;         ///< whether it may be given several times
    bool mayLackItsValue = false; ///< whether the option may stand without a value

    bool isSwitch() const { return kind == ValueKind::none; }
};

/// A program, or a verb of it.
struct VerbReference {
    std::vector<std::string> path; ///< "secateur-cli", "mask", "union"
    std::string summary;           ///< without a full stop
    std::string notes;             ///< sentences; may be empty
    std::vector<std::string> examples;
    std::vector<OptionReference> arguments; ///< in their order
    std::vector<OptionReference> options;
    std::vector<VerbReference> verbs; ///< without hidden ones

    /// The path as words: "secateur-cli mask union".
    std::string command() const;
    /// The path without the program, as words: "mask union".
    std::string verb() const;
};

/// The ids that `list KIND` prints.
using IdsOfKind = std::function<std::vector<std::string>(const std::string& kind)>;

/// Reads a program's verbs and options from CLI11. @param program not const, because CLI11 gives access to validators
/// only so
VerbReference programReference(CLI::App& program, const IdsOfKind& idsOfKind);

/// The verbs without verbs of their own, in order; of a program without verbs the program itself.
std::vector<const VerbReference*> leavesOf(const VerbReference& program);

/// A description in at most about a hundred bytes, for lists of completions.
std::string shortDescription(std::string_view description);

} // namespace secateur
