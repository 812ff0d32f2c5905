#include "analysis/strategies/held_out_text.h"

#include "analysis/base/error.h"
#include "analysis/metrics/measure.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace secateur {

namespace {

constexpr std::int64_t heldOutShare = 4; ///< one of so many tokens

std::int64_t tokensOf(std::span<const TokenSequence> sequences) {
    std::int64_t sum = 0;
    for (const TokenSequence& sequence : sequences)
        sum += std::ssize(sequence.ids);
    return sum;
}

/// Number of sequences from the end that have at least a quarter of the tokens.
std::size_t lastQuarter(std::span<const TokenSequence> sequences) {
    const std::int64_t all = tokensOf(sequences);
    std::size_t count = 0;
    while (count < sequences.size() && heldOutShare * tokensOf(sequences.last(count)) < all)
        ++count;
    return count;
}

/// The tokens [begin, end) of a sequence.
TokenSequence pieceOf(const TokenSequence& sequence, std::ptrdiff_t begin, std::ptrdiff_t end) {
    TokenSequence piece;
    piece.document = sequence.document;
    piece.ids.assign(sequence.ids.begin() + begin, sequence.ids.begin() + end);
    if (!sequence.types.empty())
        piece.types.assign(sequence.types.begin() + begin, sequence.types.begin() + end);
    return piece;
}

} // namespace

CalibrationText TextPart::text() const {
    CalibrationText part = settings;
    part.sequences = sequences;
    part.labels = labels;
    return part;
}

SplitText withLastQuarterHeldOut(const CalibrationText& text) {
    SplitText split{{{}, {}, text}, {{}, {}, text}};
    const std::size_t count = lastQuarter(text.sequences);
    if (count < text.sequences.size()) {
        const std::size_t first = text.sequences.size() - count;
        split.fitted.sequences.assign(text.sequences.begin(), text.sequences.end() - static_cast<std::ptrdiff_t>(count));
        split.heldOut.sequences.assign(text.sequences.end() - static_cast<std::ptrdiff_t>(count), text.sequences.end());
        if (!text.labels.empty()) {
            split.fitted.labels.assign(text.labels.begin(), text.labels.begin() + static_cast<std::ptrdiff_t>(first));
            split.heldOut.labels.assign(text.labels.begin() + static_cast<std::ptrdiff_t>(first), text.labels.end());
        }
        return split;
    }
    constexpr std::ptrdiff_t shortest = 2 * heldOutShare; // so that each part predicts a token
    const std::ptrdiff_t length = text.sequences.empty() ? 0 : std::ssize(text.sequences.back().ids);
    if (!text.labels.empty() || length < shortest)
        throw Error("The calibration text is too short to hold out its last quarter");
    split.fitted.sequences.assign(text.sequences.begin(), text.sequences.end() - 1);
    split.fitted.sequences.push_back(pieceOf(text.sequences.back(), 0, length - length / heldOutShare));
    split.heldOut.sequences.push_back(pieceOf(text.sequences.back(), length - length / heldOutShare, length));
    return split;
}

MetricResult measureOn(const Model& model, const CalibrationText& text, const MetricRequest& metric,
                       const Progress& progress) {
    const auto readInput = [&](const Progress&) {
        MeasureInput input;
        input.plan = model.runner().plan(PruningMask(model.spec()), text.type);
        input.text.set.sequences.assign(text.sequences.begin(), text.sequences.end());
        input.text.labels.assign(text.labels.begin(), text.labels.end());
        input.text.data = text.data.value_or(MeasuredData());
        input.text.digest = text.digest;
        input.batchTokens = text.batchTokens;
        return input;
    };
    std::vector<MetricResult> results = measure(model, std::array{metric}, readInput, progress);
    if (results.empty() || !results.front().isWhole)
        throw Cancelled();
    return std::move(results.front());
}

} // namespace secateur
