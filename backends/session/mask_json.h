#pragma once

#include "analysis/masks/mask_record.h"

#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A mask out of a file that a person may have written.
struct MaskReading {
    MaskRecord record;
    std::vector<std::string> warnings; ///< sentences, without the file's name
};

/// Reads the JSON form (contract.md). Cuts of layers that share their weights are spread to all of them.
/// @param subject the file, for messages
/// @param fingerprint of the model at hand; when the mask's is another, that is a warning. Empty = not compared
/// @throws Error naming file and field: what is no mask of this version, what does not fit the model's architecture and
/// structure, and every cut that is out of range, said twice, or inside a part that is dropped
MaskReading parseMask(std::string_view text, const std::string& subject, const ModelSpec& spec,
                      const std::string& fingerprint);
/// The same from a file. @throws Error
MaskReading readMask(const std::string& path, const ModelSpec& spec, const std::string& fingerprint);

/// The model that a mask file is made for, as far as the file tells: architecture and structure. @throws Error
ModelSpec readMaskedModel(const std::string& path);

/// {"measure", "before", "steps", "cuts": [{"step", "layer", "head", "score", "value"}, ...]}: of MaskProvenance.
std::string historyJson(const PruneHistory& history);

/// The JSON form: one layer a line in ascending order, of layers that share their weights the first. Equal records give
/// equal text; text that is not UTF-8 is replaced.
std::string maskJson(const MaskRecord& record);
/// Beside its target and renamed into place. @throws Error
void writeMask(const std::string& path, const MaskRecord& record);

} // namespace secateur
