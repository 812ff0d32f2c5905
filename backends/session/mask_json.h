#pragma once

#include "analysis/masks/mask_record.h"
#include "analysis/masks/pruning_mask.h"

#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A mask that was read from a file, and warnings about the file, which may be written by hand.
struct MaskReading {
    MaskRecord record;
    std::vector<std::string> warnings; ///< sentences, without the file's name
};

/// Reads a mask from JSON (resources/manual/formats.md, Mask file). Cuts of a layer apply to all layers that share its
/// weights.
/// @param subject the file, for messages
/// @param fingerprint of the open model; a mask with another one gets a warning. Empty = not compared
/// @throws Error naming file and field: for a mask of a newer version, for another architecture or structure, and for
/// cuts that are out of range, repeated, or inside a dropped unit
MaskReading parseMask(std::string_view text, const std::string& subject, const ModelSpec& spec,
                      const std::string& fingerprint);
/// Reads a mask from a file. @throws Error as parseMask(), and if the file cannot be read
MaskReading readMask(const std::string& path, const ModelSpec& spec, const std::string& fingerprint);

/// The architecture and structure for which a mask file is made, as a specification. @throws Error
ModelSpec readMaskedModel(const std::string& path);
/// The name of that model; empty if the file states none. @throws Error
std::string readMaskedModelName(const std::string& path);

/// A strategy's history: {"measure", "before", "steps", "cuts": [{"step", "layer", "head", "score", "value"}, ...]}.
std::string historyJson(const PruneHistory& history);

/// A mask as JSON, with one line per layer in ascending order; of layers that share weights, only the first. Equal
/// records give equal text. Invalid UTF-8 is replaced.
std::string maskJson(const MaskRecord& record);
/// Writes a mask file beside its path and renames it. @param force whether to replace a file that is no mask
/// @throws Error
void writeMask(const std::string& path, const MaskRecord& record, bool force = false);

/// "dense" for a mask that keeps all, else "sha256:" and 64 lower-case hexadecimal digits. The hashed bytes are
/// architecture and structure, each followed by a zero byte; then, for each layer with cuts, in order: its number, 1
/// for a dropped block else 0, the attention (0 kept, 1 dropped, 2 bypass_qk), alpha (float64), 1 for a dropped MLP
/// else 0, the number of cut heads and each of them, the number of cut neurons and each of them. Integers are int64;
/// all numbers are little-endian.
std::string maskDigest(const PruningMask& mask);

} // namespace secateur
