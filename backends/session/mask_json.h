#pragma once

#include "analysis/masks/mask_record.h"
#include "analysis/masks/pruning_mask.h"

#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A mask from a file, which may be written by hand.
struct MaskReading {
    MaskRecord record;
    std::vector<std::string> warnings; ///< sentences, without the file's name
};

/// Reads the JSON form (resources/manual/formats.md, Mask file). Cuts of a tied layer are copied to all layers that
/// share its weights.
/// @param subject the file, for messages
/// @param fingerprint of the open model; a mask with another one gets a warning. Empty = not compared
/// @throws Error naming file and field: for a mask of a newer version, for another architecture or structure, and for
/// cuts that are out of range, repeated, or inside a dropped unit
MaskReading parseMask(std::string_view text, const std::string& subject, const ModelSpec& spec,
                      const std::string& fingerprint);
/// The same from a file. @throws Error
MaskReading readMask(const std::string& path, const ModelSpec& spec, const std::string& fingerprint);

/// The architecture and structure that a mask file is made for. @throws Error
ModelSpec readMaskedModel(const std::string& path);

/// {"measure", "before", "steps", "cuts": [{"step", "layer", "head", "score", "value"}, ...]}: of MaskProvenance.
std::string historyJson(const PruneHistory& history);

/// The JSON form: one line per layer, in ascending order; of tied layers the first. Equal records give equal text.
/// Invalid UTF-8 is replaced.
std::string maskJson(const MaskRecord& record);
/// Writes beside the target and renames. @throws Error
void writeMask(const std::string& path, const MaskRecord& record);

/// "dense" for a mask that keeps all, else "sha256:" and 64 lower-case hexadecimal digits. Input: architecture and
/// structure, each followed by a zero byte; then, for each layer with cuts, in order: its number, 1 for a dropped block
/// else 0, the attention (0 kept, 1 dropped, 2 bypass_qk), alpha (float64), 1 for a dropped MLP else 0, the number of
/// cut heads and each of them, the number of cut neurons and each of them. Integers are int64; all little-endian.
std::string maskDigest(const PruningMask& mask);

} // namespace secateur
