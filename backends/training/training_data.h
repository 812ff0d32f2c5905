#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"
#include "analysis/text/sequences.h"
#include "analysis/text/tokenizer.h"
#include "analysis/training/training_set.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace secateur {

/// The formats of training data (resources/manual/formats.md, Training data).
inline constexpr std::array<std::string_view, 4> trainingFormats{"text", "instructions", "chat", "classification"};

/// The user's choice of training data, and how it becomes sequences.
struct TrainingDataRequest {
    std::string path{};         ///< file or folder; empty = the built-in text
    std::string format{};       ///< one of trainingFormats; empty = detected
    std::string templateName{}; ///< name in rowTemplates(); empty = alpaca, for chats recognised
    std::int64_t length = 512;  ///< maximum number of tokens of a sequence, at least 16; encoders: at most the context
    std::string field{};        ///< field of a row with text; empty = automatic
    TextSplit split = TextSplit::document;   ///< how a plain text is divided into documents
    BosRule bos = BosRule::tokenizerDefault; ///< firstOnly = for the first document of a text, and every row
    bool skipsBrokenRows = false;            ///< whether invalid rows are left out; else they are errors
    std::size_t mostExamples = 0;            ///< the first of the data; 0 = all
};

/// Reads training data and encodes it with the model's own tokenizer.
/// @throws Error naming the file, the line and the reason; UsageError for unknown formats and templates; Cancelled
TrainingSet readTrainingSet(const Model& model, const TrainingDataRequest& request, const Progress& progress = {});

/// readTrainingSet() with a tokenizer that is known.
TrainingSet readTrainingSet(const ModelCard& model, const Tokenizer& tokenizer, const TrainingDataRequest& request,
                            const Progress& progress = {});

/// A digest of a training set: "sha256:" and 64 lower-case hexadecimal digits. The hash covers the number of examples;
/// then of each the number of ids, the ids, the number of targets, the targets and the label, all as int64,
/// little-endian.
std::string dataDigest(const TrainingSet& set);

} // namespace secateur
