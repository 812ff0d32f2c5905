#pragma once

#include "analysis/session/services.h"

#include <string>

namespace secateur {

/// The services for models of this machine and of servers. Paths such as "ssh://host/path" name models on servers.
/// @param local for models of this machine
/// @param command starts a server for the first model that is not a session: `--serve-with`. Empty = none
Services withServers(Services local, const std::string& command = {});

/// The path under which the window opens a model of the server that `--serve-with` starts.
std::string servedPath(const std::string& path);

} // namespace secateur
