#pragma once

#include <cstddef>
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
    std::string format;               ///< "text", "instructions", "chat" or "classification"
    std::string templateName;         ///< the template of instructions and chats; otherwise empty
    std::string digest;               ///< "sha256:..." of ids, targets and labels
    std::vector<std::string> warnings;
};

/// A training set in two parts. Both have the format and the classes of the whole.
struct TrainingSplit {
    TrainingSet training; ///< with the warnings and the counts of rows of the whole
    TrainingSet heldOut;
};

/// How many examples are held out, and which.
struct HeldOutRules {
    double share = 0.05;   ///< of the examples, rounded to the nearest number; 0 = none
    std::size_t least = 1; ///< but never all
    std::size_t most = 200;
    std::uint64_t seed = 0;
};

/// Divides a set into examples to train on and examples to evaluate with. Both parts keep the order of the set, and its
/// source and digest. The choice depends only on the number of examples and the rules. @throws UsageError for a share
/// that is not from 0 to 1
TrainingSplit splitOff(const TrainingSet& set, const HeldOutRules& rules = {});

/// The numbers 0 to count - 1 in the order in which an epoch trains on the examples. The order depends only on the
/// arguments, on every machine. @param epoch counted from 0
std::vector<std::size_t> epochOrder(std::size_t count, std::uint64_t seed, int epoch);

} // namespace secateur
