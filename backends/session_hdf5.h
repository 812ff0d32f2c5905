#pragma once

#include "analysis/session.h"

#include <string>

namespace secateur {

// Sessions as HDF5 (contract.md, Session HDF5): self-describing, readable with h5py alone. Thread-safe.

/// Reads everything this version knows; results of metrics it does not know become warnings of the model card, and
/// addToSession keeps them. @throws Error for anything that is not a whole session of this version or an older one
Session readSession(const std::string& path);

/// Writes a new file beside `path` and renames it; replaces what was there. @throws Error
void writeSession(const Session& session, const std::string& path);

/// Adds results and view to a session of the same model, or writes a new one when there is none. Another writer is
/// waited for. @throws Error when the file holds another model (both named), is no session, or stays locked
void addToSession(const Session& additions, const std::string& path);

} // namespace secateur
