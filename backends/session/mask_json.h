#pragma once

#include "analysis/masks/mask_record.h"
#include "analysis/masks/pruning_mask.h"
#include "backends/session/compensation_link.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A mask that was read from a file, with warnings about the file. People may write such files by hand.
struct MaskReading {
    MaskRecord record;
    std::vector<std::string> warnings; ///< sentences, without the file's name
    /// The mask's compensation, which parseMask() does not read; readMask() adds it to the mask.
    std::optional<CompensationLink> compensation = {};
};

/// Reads a mask from JSON (resources/manual/formats.md, Mask file). A cut in a layer applies to all layers that share
/// its weights.
/// @param subject the file's name, for error messages
/// @param fingerprint fingerprint of the open model; a mask with another one gets a warning. Empty = not compared
/// @throws Error naming file and field if the mask has a newer version, another architecture or another structure, or
/// if cuts are out of range, repeated, or inside a dropped unit
MaskReading parseMask(std::string_view text, const std::string& subject, const ModelSpec& spec,
                      const std::string& fingerprint);
/// Reads a mask and its compensation from files. If the file of the compensation does not exist, reads the mask without
/// it and warns. @throws Error as parseMask(); also if a file cannot be read, or the compensation is not the one that
/// the mask states or does not fit the model
MaskReading readMask(const std::string& path, const ModelSpec& spec, const std::string& fingerprint);

/// The architecture and structure for which a mask file was made. @throws Error
ModelSpec readMaskedModel(const std::string& path);
/// The name of that model; empty if the file states none. @throws Error
std::string readMaskedModelName(const std::string& path);

/// The compensation that a mask file states; empty if it has none, or if the file cannot be read as a mask.
std::optional<CompensationLink> compensationLinkIn(const std::string& path);

/// The history of a strategy: {"measure", "before", "steps", "cuts": [{"step", "layer", "head", "score", "value"},
/// ...]}. Other units than heads have "unit" instead of "head".
std::string historyJson(const PruneHistory& history);
/// The losses against alpha: [{"layer", "alpha", "alphas", "losses"}, ...].
std::string alphaCurvesJson(const std::vector<AlphaCurve>& curves);
/// The fits of a compensation: [{"layer", "projection", "mu", "error_before", "error_after"}, ...]. "mu" is null for the
/// mode bias.
std::string fitsJson(std::span<const FittedPart> fits);

/// A mask as JSON, with one line per layer in ascending order. Of layers that share weights, only the first is written.
/// Equal records give equal texts. Invalid UTF-8 is replaced.
/// @param compensationFile name of the file with the compensation of the mask, if it has one
std::string maskJson(const MaskRecord& record, std::string_view compensationFile = "compensation");
/// Writes a mask file beside its path and renames it. A compensation is written first, to a file whose name contains a
/// part of its sum: NAME.0123456789abcdef.compensation.safetensors for NAME.mask.json. Whenever the process ends, the
/// old or the new mask is there with its own compensation. Compensations of this name that no JSON file of the folder
/// states are then removed. @param force whether to replace a file that is no mask
/// @throws Error
void writeMask(const std::string& path, const MaskRecord& record, bool force = false);

/// The digest of a mask: "dense" if it keeps everything, otherwise "sha256:" and 64 lower-case hexadecimal digits. The
/// hashed bytes are architecture and structure, each followed by a zero byte, and then, for each layer with cuts in
/// ascending order: its index; 1 for a dropped block, otherwise 0; the attention (0 kept, 1 dropped, 2 bypass_qk);
/// alpha (float64); 1 for a dropped MLP, otherwise 0; the number of cut heads and each of them; the number of cut
/// neurons and each of them. Integers are int64. All numbers are little-endian. If the mask has a compensation,
/// "compensation", compensationSum(), each followed by a zero byte, come last.
std::string maskDigest(const PruningMask& mask);

} // namespace secateur
