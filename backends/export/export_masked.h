#pragma once

#include "analysis/export/export_target.h"

namespace secateur {

/// Writes a model with cut weights set to 0 (ExportWriter::write): format, names, shapes, types, split and small files
/// of the source; no other byte of its weights changes. Beside it the mask (model.mask.json in a folder, NAME.mask.json
/// beside a file; a file that holds this very mask stays) and a card (README.md or NAME.md).
ExportResult writeMasked(const ExportTarget& target, const Model& source, const ExportRequest& request,
                         const Progress& progress);

/// That of the source: zeros change no shape.
ExportLayout maskedLayout(const ModelSpec& source, const PruningMask& mask);

} // namespace secateur
