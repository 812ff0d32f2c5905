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

/// One kind of file that Secateur writes under a fixed name. Its generations have different contents.
struct Writer {
    std::string id;
    int generations; ///< written by a child process one after the other, after generation 0
    /// Writes one generation into a folder that holds the one before.
    std::function<void(const std::string& folder, int generation)> write;
    /// Opens the files with the program's own readers. @throws Error if they are not whole
    std::function<void(const std::string& folder)> open;
};

const std::vector<Writer>& writers();
const Writer& writer(const std::string& id);

/// The contents of a file without the times at which it was written; of a session the data in it. @throws Error if it
/// is not whole
std::string contentOf(const std::string& file);

/// Path of the model that is edited while the autosave writes.
std::string autosavedModel();
/// Edit number `edit`. The heads that it cuts encode the number.
PruningMask editedMask(const ModelSpec& spec, int edit);
/// 17 for "edit 17".
int numberOf(const std::string& editName);

/// Runs the child process. It prints "begin N TIME", "done N TIME", "edit N TIME" and "died TIME", and "calls N" if it
/// survives. Times are nanoseconds().
/// @param arguments the id of a writer or "autosave", the folder, and the number of the call at which to die
int writeUntilKilled(const QStringList& arguments);
/// Opens a session with an autosave beside it, prints "open" or "open elsewhere", and waits until it is killed.
int holdSession(const QStringList& arguments);

} // namespace secateur::test
