#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// The server of a model, and the path of the model there.
struct RemoteAddress {
    std::vector<std::string> command; ///< starts the server: program and arguments
    std::string place;                ///< name for display: the host
    std::string path;                 ///< of the model on the server
    std::string shown;                ///< the address as the user gave it
};

/// Whether a path names a model on another machine: "ssh://host/path".
bool isRemotePath(std::string_view path);

/// Reads "ssh://[USER@]HOST[:PORT]/PATH". "/~/PATH" is relative to the home directory. The server is started by the
/// program that the variable SECATEUR_SSH names [ssh]. @throws UsageError if the address is malformed
RemoteAddress addressOf(const std::string& path);

/// A server that a command of the shell starts. @param path of the model, opened by the server
RemoteAddress addressOfCommand(const std::string& command, const std::string& path);

} // namespace secateur
