#pragma once

#include "analysis/session/session.h"

#include <string>

namespace secateur {

class MappedFile;

// Sessions as HDF5 files (resources/manual/formats.md, Session): self-describing, readable with h5py alone.
// Thread-safe. A file that another program wrote or changed is read in a child process, since HDF5 may crash on a
// damaged file.

/// Whether a path names a session: by its extension, even if the file is missing or damaged; else by the file's first
/// bytes.
bool isSession(const std::string& path);

/// Reads a whole session. For metrics that this version does not know, takes title and other facts from the session.
/// @throws Error if the file is not a complete session of this version or an older one
Session readSession(const std::string& path);
Session readSession(const MappedFile& file);

/// Writes a new file beside `path` and renames it; replaces an existing file. Waits while another process writes.
/// @throws Error
void writeSession(const Session& session, const std::string& path);

/// Adds results, masks, evaluations, prediction and view to a session file of the same model, or writes a new file.
/// Keeps all other data of the file. Waits while another process writes.
/// @throws Error if the file is of another model (both are named), is no session, or stays locked
void addToSession(const Session& additions, const std::string& path);

/// Whether there is a file to add to; an empty one counts as none.
bool hasContent(const std::string& path);

/// Checks, before long work, that addToSession() will be able to store its results. @throws Error as addToSession()
void checkCanAdd(const ModelCard& model, const std::string& path);

} // namespace secateur
