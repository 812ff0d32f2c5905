#pragma once

#include "analysis/masks/mask_record.h"
#include "analysis/masks/pruning_mask.h"

#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A mask that was read from a file, with warnings about the file. People may write such files by hand.
struct MaskReading {
    MaskRecord record;
    std::vector<std::string> warnings; ///< sentences, without the file's name
};

/// Reads a mask from JSON (resources/manual/formats.md, Mask file). A cut in a layer applies to all layers that share
/// its weights.
/// @param subject the file's name, for error messages
/// @param fingerprint fingerprint of the open model; a mask with another one gets a warning. Empty = not compared
/// @throws Error naming file and field if the mask has a newer version, another architecture or another structure, or
/// if cuts are out of range, repeated, or inside a dropped unit
MaskReading parseMask(std::string_view text, const std::string& subject, const ModelSpec& spec,
                      const std::string& fingerprint);
/// Reads a mask from a file. @throws Error as parseMask(); also if the file cannot be read
MaskReading readMask(const std::string& path, const ModelSpec& spec, const std::string& fingerprint);

/// The architecture and structure for which a mask file was made. @throws Error
ModelSpec readMaskedModel(const std::string& path);
/// The name of that model; empty if the file states none. @throws Error
std::string readMaskedModelName(const std::string& path);

/// The history of a strategy: {"measure", "before", "steps", "cuts": [{"step", "layer", "head", "score", "value"},
/// ...]}. Other units than heads have "unit" instead of "head".
std::string historyJson(const PruneHistory& history);
/// The losses against alpha: [{"layer", "alpha", "alphas", "losses"}, ...].
std::string alphaCurvesJson(const std::vector<AlphaCurve>& curves);

/// A mask as JSON, with one line per layer in ascending order. Of layers that share weights, only the first is written.
/// Equal records give equal texts. Invalid UTF-8 is replaced.
std::string maskJson(const MaskRecord& record);
/// Writes a mask file beside its path and renames it. @param force whether to replace a file that is no mask
/// @throws Error
void writeMask(const std::string& path, const MaskRecord& record, bool force = false);

/// The digest of a mask: "dense" if it keeps everything, otherwise "sha256:" and 64 lower-case hexadecimal digits. The
/// hashed bytes are architecture and structure, each followed by a zero byte, and then, for each layer with cuts in
/// ascending order: its index; 1 for a dropped block, otherwise 0; the attention (0 kept, 1 dropped, 2 bypass_qk);
/// alpha (float64); 1 for a dropped MLP, otherwise 0; the number of cut heads and each of them; the number of cut
/// neurons and each of them. Integers are int64. All numbers are little-endian.
std::string maskDigest(const PruningMask& mask);

} // namespace secateur
