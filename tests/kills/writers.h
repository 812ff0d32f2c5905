#pragma once

#include "analysis/masks/mask_record.h"
#include "analysis/session/session.h"

#include <QString>
#include <QStringList>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace secateur::test {

/// Something that Secateur writes under one name, in generations that can be told apart.
struct Writer {
    std::string id;
    int generations; ///< that a child process writes, one after the other, over generation 0
    /// Writes one generation into a folder, over the one before.
    std::function<void(const std::string& folder, int generation)> write;
    /// Opens what is there with the program's own readers. @throws Error when that is not whole
    std::function<void(const std::string& folder)> open;
};

const std::vector<Writer>& writers();
const Writer& writer(const std::string& id);

/// A file without the times at which it was written; of a session what is in it. @throws Error when that is not whole
std::string contentOf(const std::string& file);

/// Of the file that is edited under the autosave.
std::string autosavedModel();
/// The n-th edit: which heads it cuts says its number.
PruningMask editedMask(const ModelSpec& spec, int edit);
/// "edit 17" as 17.
int numberOf(const std::string& editName);

/// The child's whole life; what it says on standard output: "begin N TIME", "done N TIME", "edit N TIME", "died TIME",
/// and at the end "calls N". Times are nanoseconds().
/// @param arguments of the program: id of a writer or "autosave", the folder, the call to die at
int writeUntilKilled(const QStringList& arguments);
/// Opens a session with an autosave beside it, says "open" or "open elsewhere", and waits to be ended.
int holdSession(const QStringList& arguments);

} // namespace secateur::test
