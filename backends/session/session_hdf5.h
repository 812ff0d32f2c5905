#pragma once

#include "analysis/session/session.h"

#include <string>

namespace secateur {

class MappedFile;

// Sessions as HDF5 (contract.md, Session HDF5): self-describing, readable with h5py alone. Thread-safe. A file that
// another program wrote or changed is read in a child process, as HDF5 may crash on a damaged one.

/// Whether a file is a session by its first bytes or its name; one that has the name need not be there, or whole.
bool isSession(const std::string& path);

/// Reads the whole session. Results of metrics that this version does not know come with the description that the
/// session holds of them. @throws Error for anything that is not a whole session of this version or an older one
Session readSession(const std::string& path);
Session readSession(const MappedFile& file);

/// Writes a new file beside `path` and renames it; replaces what was there. Another writer is waited for.
/// @throws Error
void writeSession(const Session& session, const std::string& path);

/// Adds results, masks, evaluations and view to a session of the same model, or writes a new one when there is none.
/// Whatever else the file holds stays in it. Another writer is waited for.
/// @throws Error when the file holds another model (both named), is no session, or stays locked
void addToSession(const Session& additions, const std::string& path);

/// Refuses at once what addToSession would refuse after the work. @throws Error
void checkCanAdd(const ModelCard& model, const std::string& path);

} // namespace secateur
