#include "analysis/training/training_batches.h"

namespace secateur {

std::vector<TokenSequence> sequencesOf(std::span<const TrainingExample* const> examples) {
    std::vector<TokenSequence> sequences;
    for (const TrainingExample* example : examples) {
        sequences.push_back({example->ids, example->types, sequences.size()});
        sequences.back().types.resize(example->ids.size());
    }
    return sequences;
}

TrainingBatches trainingBatches(std::span<const TrainingExample* const> examples, std::int64_t batchTokens) {
    TrainingBatches made;
    made.padded = paddedBatches(sequencesOf(examples), batchTokens);
    for (std::size_t batch = 0; batch < made.padded.batches.size(); ++batch) {
        const auto positions = static_cast<std::size_t>(made.padded.batches[batch].positions);
        std::vector<int>& targets = made.targets.emplace_back();
        for (const std::size_t index : made.padded.sequences[batch]) {
            const TrainingExample& example = *examples[index];
            if (example.label >= 0) {
                targets.push_back(example.label);
                continue;
            }
            targets.insert(targets.end(), example.targets.begin(), example.targets.end());
            targets.resize((targets.size() + positions - 1) / positions * positions, -1);
        }
    }
    return made;
}

std::vector<const TrainingExample*> pointersTo(std::span<const TrainingExample> examples) {
    std::vector<const TrainingExample*> all;
    for (const TrainingExample& example : examples)
        all.push_back(&example);
    return all;
}

std::vector<const TrainingExample*> pointersTo(const TrainingSet& set, std::span<const std::size_t> indices) {
    std::vector<const TrainingExample*> all;
    for (const std::size_t index : indices)
        all.push_back(&set.examples[index]);
    return all;
}

} // namespace secateur
