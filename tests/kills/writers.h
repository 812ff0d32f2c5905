#pragma once

#include "analysis/masks/mask_record.h"
#include "analysis/session/session.h"

#include <functional>
#include <string>
#include <vector>

namespace secateur::test {

/// A kind of file that Secateur writes again and again under the same name. Each version written is called a
/// generation, and every generation has different contents.
struct Writer {
    std::string id;
    int generations; ///< number of generations that a child process writes, after generation 0 exists
    /// Writes a generation into a folder that contains the previous one.
    std::function<void(const std::string& folder, int generation)> write;
    /// Opens the written files with the product's readers. @throws Error if they are not complete
    std::function<void(const std::string& folder)> open;
};

const std::vector<Writer>& writers();
const Writer& writer(const std::string& id);

/// The contents of a file, without the times of writing in it. For a session, the data that it stores. @throws Error if
/// the file is not complete
std::string contentOf(const std::string& file);

/// Path of the model whose mask is edited while the autosave runs.
std::string autosavedModel();
/// The mask after edit number `edit`. The heads that it cuts encode the number.
PruningMask editedMask(const ModelSpec& spec, int edit);
/// The number in the name of an edit: 17 for "edit 17".
int numberOf(const std::string& editName);

} // namespace secateur::test
