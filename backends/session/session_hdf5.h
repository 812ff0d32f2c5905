#pragma once

#include "analysis/session/session.h"

#include <string>
#include <string_view>

namespace secateur {

class MappedFile;

// Sessions as HDF5 files (resources/manual/formats.md, Session). They are self-describing and can be read with h5py.
// Thread-safe. A file that another program wrote or changed is read in a child process, because HDF5 may crash on a
// damaged file.

/// Whether a path names a session. This is decided by its extension, even if the file is missing or damaged, and
/// otherwise by the first bytes of the file.
bool isSession(const std::string& path);

/// Reads a whole session. The title and other facts of metrics that this version does not know are taken from the
/// session.
/// @throws Error if the file is not a complete session of this version or an older one
Session readSession(const std::string& path);
Session readSession(const MappedFile& file);

/// Writes a session under a temporary name and renames it, replacing an existing file. Waits while another process
/// writes.
/// @throws Error
void writeSession(const Session& session, const std::string& path);

/// A session as the bytes of a file, for other processes of the same program.
std::string sessionBytes(const Session& session);
/// @param bytes that sessionBytes() returned
Session sessionFromBytes(std::string_view bytes);

/// Adds results, masks, evaluations, curves, prediction and view to a session file of the same model. Writes a new file if
/// there is none. All other data of the file are kept. Waits while another process writes.
/// @throws Error if the file belongs to another model (the message names both), is not a session, or stays locked
void addToSession(const Session& additions, const std::string& path);

/// Whether there is a file to add to; an empty one counts as none.
bool hasContent(const std::string& path);

/// Checks, before long work, that addToSession() will be able to store its results. @throws Error as addToSession()
void checkCanAdd(const ModelCard& model, const std::string& path);

} // namespace secateur
