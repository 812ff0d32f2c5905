#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace secateur {

/// A sequence to train on.
struct TrainingExample {
    std::vector<int> ids;
    std::vector<int> types;   ///< token types (encoders); empty = 0
    std::vector<int> targets; ///< decoders: [ids] the token that each position predicts, -1 = not trained on
    int label = -1;           ///< classifiers: the class
    bool operator==(const TrainingExample&) const = default;

    std::int64_t targetCount() const; ///< number of targets; of classifiers 1
};

/// The sequences of a training text, in its order.
struct TrainingSet {
    std::vector<TrainingExample> examples;
    std::vector<std::string> classes; ///< names of the labels; empty for decoders
    std::int64_t tokens = 0;          ///< of all examples
    std::int64_t targets = 0;         ///< positions that are trained on
    std::int64_t truncated = 0;       ///< rows that were longer than the maximum length
    std::int64_t skipped = 0;         ///< rows that were left out: invalid, or without a target
    std::string source;               ///< path of the data
    std::string digest;               ///< "sha256:..." of ids, targets and labels
    std::vector<std::string> warnings;
};

} // namespace secateur
