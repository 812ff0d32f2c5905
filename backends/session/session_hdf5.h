#pragma once

#include "analysis/session/session.h"

#include <string>

namespace secateur {

class MappedFile;

// Sessions as HDF5 files (resources/manual/formats.md, Session): self-describing, readable with h5py alone.
// Thread-safe. A file that another program wrote or changed is read in a child process, since HDF5 may crash on a
// damaged file.

/// Whether a file is a session by its first bytes or its extension. With the extension it may be missing or damaged.
bool isSession(const std::string& path);

/// Reads the whole session. Metrics unknown to this version are described by what the session says of them.
/// @throws Error unless the file is a complete session of this version or an older one
Session readSession(const std::string& path);
Session readSession(const MappedFile& file);

/// Writes a new file beside `path` and renames it; replaces an existing file. Waits for another writer.
/// @throws Error
void writeSession(const Session& session, const std::string& path);

/// Adds results, masks, evaluations and view to a session of the same model, or writes a new session. All else in the
/// file stays. Waits for another writer.
/// @throws Error if the file is of another model (both are named), is no session, or stays locked
void addToSession(const Session& additions, const std::string& path);

/// Checks before the work what addToSession() would refuse after it. @throws Error
void checkCanAdd(const ModelCard& model, const std::string& path);

} // namespace secateur
