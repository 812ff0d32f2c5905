#pragma once

#include <array>

namespace secateur {

/// An option of the window that takes a value.
struct WindowOption {
    const char* name;  ///< without dashes
    const char* value; ///< placeholder of the value
    const char* description;
};

inline constexpr const char* windowSummary = "A workbench for studying and pruning transformers.";
inline constexpr const char* windowArgument =
    "Model folder or file, session (.h5), mask (.json), or ssh://HOST/PATH of a model on a server.";

/// The options that `secateur --help` shows, besides --help and --version.
inline constexpr std::array windowOptions{
    WindowOption{"mask", "FILE", "Also open this mask."},
    WindowOption{"filter", "CONDITIONS", "Show only these heads, for example \"layer 3-12, not cut\"."},
    WindowOption{"reference", "FILE", "Compare with this session or model."},
    WindowOption{"serve-with", "COMMAND",
                 "Open MODEL on the server that this command starts (`secateur-cli serve` behind anything)."},
    WindowOption{"language", "CODE", "Show the interface in this language: en or de [the system's]."},
};

} // namespace secateur
