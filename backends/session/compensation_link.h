#pragma once

#include "analysis/masks/pruning_mask.h"
#include "backends/base/json_object.h"

#include <optional>
#include <string>
#include <string_view>

namespace secateur {

// The compensation of a mask file lies in a safetensors file beside it, which the mask's JSON names with its SHA-256.

/// The field "compensation" of a mask's JSON.
struct CompensationLink {
    std::string file; ///< name of a file beside the mask
    std::string sum;  ///< SHA-256 of that file, 64 lower-case hexadecimal digits
    std::string mode; ///< "bias", "scale", "both" or "weights"
};

/// The link in a mask's JSON; empty if it is null. Earlier versions called the field "bias_compensation".
/// @throws Error naming a field that is missing or has an invalid value
std::optional<CompensationLink> compensationLinkOf(const JsonObject& mask);

/// The link to the compensation of a mask as JSON; "null" if it has none.
std::string compensationLinkJson(const PruningMask& mask, std::string_view file);

/// Adds the compensation that a mask file states to its mask. @param path of the mask file
/// @return false if the file of the compensation does not exist; the mask is then unchanged
/// @throws Error if the file cannot be read, has another sum, or does not fit the mask
bool addLinkedCompensation(const std::string& path, const CompensationLink& link, const ModelSpec& spec,
                           PruningMask& mask);

/// The file with the compensation of a mask that is about to be written:
/// NAME.0123456789abcdef.compensation.safetensors for NAME.mask.json. The digits are the first of its sum, so that the
/// compensation of an earlier mask with this path stays until the new mask is written.
class CompensationFile {
public:
    /// Writes the file, if the mask has a compensation. @param path of the mask file @throws Error
    CompensationFile(const std::string& path, const PruningMask& mask);
    /// Removes the file, unless keep() was called or it was there before.
    ~CompensationFile();
    CompensationFile(const CompensationFile&) = delete;
    CompensationFile& operator=(const CompensationFile&) = delete;

    const std::string& name() const { return m_name; } ///< empty if the mask has no compensation
    const std::string& path() const { return m_path; }
    void keep() { m_isNew = false; } ///< called after the mask was written

private:
    std::string m_name;
    std::string m_path;
    bool m_isNew = false;
};

/// Removes compensations that a CompensationFile wrote for this path and that no JSON file of the folder states: that
/// of the replaced mask, and those that a killed process left behind at least a minute ago. Does nothing if they cannot
/// be removed. @param current name that the mask now states; empty = none @param earlier link of the replaced mask
void removeUnusedCompensations(const std::string& path, const std::string& current,
                               const std::optional<CompensationLink>& earlier);

} // namespace secateur
