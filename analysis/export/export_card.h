#pragma once

#include "analysis/export/compare_logits.h"
#include "analysis/masks/mask_record.h"
#include "analysis/model/model_card.h"

#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// What the card of an exported model says of it.
struct ExportFacts {
    const ModelCard& source; ///< with its fingerprint
    const MaskRecord& record;
    std::string_view target; ///< name of the ExportTarget
    LogitDifference verified;
    std::vector<std::string> measured; ///< sentences on how well it does; may be empty
    std::string_view maskFile;         ///< the mask that lies beside it
    std::string_view version;          ///< Secateur's
};

/// The card in Markdown.
/// @param sourceCard the source's own, which is kept below; a block of metadata that it begins with stays at the top
std::string exportCard(const ExportFacts& facts, std::string_view sourceCard);

} // namespace secateur
