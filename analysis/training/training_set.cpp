#include "analysis/training/training_set.h"

#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace secateur {

namespace {

/// Mixes the bits of a number (finaliser of SplitMix64), so that near seeds give unrelated orders.
std::uint64_t mixed(std::uint64_t bits) {
    bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
    return bits ^ (bits >> 31U);
}

/// The numbers 0 to count - 1, shuffled (Fisher-Yates). std::shuffle is not used, because its results differ between
/// libraries.
std::vector<std::size_t> shuffledNumbers(std::size_t count, std::uint64_t seed) {
    std::vector<std::size_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i + 1 < count; ++i)
        std::swap(numbers[i], numbers[i + random() % (count - i)]);
    return numbers;
}

std::size_t heldOutCount(std::size_t count, const HeldOutRules& rules) {
    if (!(rules.share >= 0 && rules.share <= 1))
        throw UsageError(fmt::format("expected a share from 0 to 1, found {}", rules.share), "held-out share");
    if (rules.share == 0 || count < 2)
        return 0;
    const auto wanted = static_cast<std::size_t>(std::llround(rules.share * static_cast<double>(count)));
    return std::min({std::max(wanted, rules.least), rules.most, count - 1});
}

} // namespace

std::int64_t TrainingExample::targetCount() const {
    if (label >= 0)
        return 1;
    return std::ranges::count_if(targets, [](int target) { return target >= 0; });
}

TrainingSplit splitOff(const TrainingSet& set, const HeldOutRules& rules) {
    const std::vector<std::size_t> order = shuffledNumbers(set.examples.size(), mixed(rules.seed));
    std::vector<bool> isHeldOut(set.examples.size());
    for (std::size_t i = 0; i < heldOutCount(set.examples.size(), rules); ++i)
        isHeldOut[order[i]] = true;
    TrainingSplit parts;
    for (TrainingSet* const part : {&parts.training, &parts.heldOut}) {
        part->classes = set.classes;
        part->source = set.source;
        part->format = set.format;
        part->templateName = set.templateName;
        part->digest = set.digest;
    }
    parts.training.truncated = set.truncated;
    parts.training.skipped = set.skipped;
    parts.training.warnings = set.warnings;
    for (std::size_t i = 0; i < set.examples.size(); ++i) {
        TrainingSet& part = isHeldOut[i] ? parts.heldOut : parts.training;
        part.tokens += std::ssize(set.examples[i].ids);
        part.targets += set.examples[i].targetCount();
        part.examples.push_back(set.examples[i]);
    }
    return parts;
}

std::vector<std::size_t> epochOrder(std::size_t count, std::uint64_t seed, int epoch) {
    return shuffledNumbers(count, mixed(mixed(seed) + static_cast<std::uint64_t>(epoch) + 1));
}

} // namespace secateur
