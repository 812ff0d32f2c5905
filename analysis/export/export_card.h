#pragma once

#include "analysis/masks/mask_record.h"
#include "analysis/model/model_card.h"

#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Largest allowed difference between the logits of an export and those of the masked model, relative to the largest
/// logit. Both run in float32 and differ only in the order of sums. Such differences are about 1e-6 in small models. In
/// SmolLM2 they are about 1e-5, because a few large activations magnify them. A wrong head or neuron causes far larger
/// differences.
inline constexpr double exportTolerance = 1e-4;

/// Difference between the logits of two models.
struct LogitDifference {
    double most = 0;  ///< largest absolute difference; infinite if a value is NaN
    double scale = 0; ///< largest absolute logit of the first model
    int tokens = 0;   ///< number of tokens that were compared; 0 = the export was not reopened
    int layer = -1;   ///< first layer of the second model after which the residual streams differ; -1 = none
    /// Largest difference of one layer's update of the residual stream, or of the logits, if both models compute it
    /// from the same stream: relative to the largest number of the update, or logit, at that position. -1 = not
    /// computed
    double step = -1;
    bool hasRoundedWeights = false; ///< whether weights of the second model were rounded to another type
    double relative() const { return scale > 0 ? most / scale : most; }
};

/// "Verified: logits match the masked model (max. difference 0.00 of 40.0 on 256 tokens)", or that the export was not
/// verified
std::string sentence(const LogitDifference& verified);

/// The content of an exported model's card.
struct ExportFacts {
    const ModelCard& source; ///< must contain the fingerprint
    const MaskRecord& record;
    std::string_view target;           ///< ExportTarget::name
    LogitDifference verified;          ///< difference between the source under the mask and the reopened export
    std::vector<std::string> measured; ///< sentences on the quality of the masked model; may be empty
    std::string_view maskFile;         ///< name of the mask file next to the checkpoint
    std::string_view version;          ///< version of Secateur
    /// A sentence, without its full stop, on the content of the files; empty for a masked export.
    std::string_view contents = {};
    std::string_view types = {};   ///< types of the weights: "Q8_0", "as in the source"; empty = not stated
    std::string_view licence = {}; ///< licence of the source; empty = it states none
    std::string_view loading = {}; ///< code that opens the export in each program (loadingText()), in Markdown
};

/// Length of the YAML metadata block at the beginning of a model card, between two lines of dashes; 0 if there is none.
std::size_t metadataLength(std::string_view card);

/// The model card in Markdown.
/// @param sourceCard card of the source. It follows the new card; its YAML metadata block stays at the beginning
std::string exportCard(const ExportFacts& facts, std::string_view sourceCard);

/// The card of an export of several files while they take their names. It stays if that is interrupted, and says that
/// the export may be repeated (isExportCard()).
std::string interruptedExportCard(std::string_view version);

} // namespace secateur
