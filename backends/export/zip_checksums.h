#pragma once

#include "backends/export/weight_cuts.h"
#include "backends/formats/zip_directory.h"

#include <memory>
#include <span>
#include <string>

namespace secateur {

/// Whether a file is a zip archive, whose entries have checksums.
bool isZip(const MappedFile& file);

/// Writes the checksums of the entries that cuts changed into a copy of an archive, wherever it states them.
/// @param source the archive as it was @param copy the same, but for bytes that were changed
/// @throws Error
void renewChecksums(const std::shared_ptr<const MappedFile>& source, const std::string& copy,
                    std::span<const WeightCut> cuts);

} // namespace secateur
