#include "analysis/strategies/held_out_text.h"

#include "analysis/base/error.h"
#include "analysis/metrics/measure.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace secateur {

namespace {

constexpr std::int64_t heldOutShare = 4; ///< one of so many tokens
constexpr std::int64_t shortest = 2;     ///< tokens of a piece, so that it predicts one

std::int64_t tokensOf(std::span<const TokenSequence> sequences) {
    std::int64_t sum = 0;
    for (const TokenSequence& sequence : sequences)
        sum += std::ssize(sequence.ids);
    return sum;
}

/// Number of sequences from the end that have at least a quarter of the tokens; at most all but the first.
std::size_t lastQuarter(std::span<const TokenSequence> sequences) {
    const std::int64_t all = tokensOf(sequences);
    std::size_t count = 0;
    while (count + 1 < sequences.size() && heldOutShare * tokensOf(sequences.last(count)) < all)
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

/// Moves the end of the only fitted sequence to the part that is held out, if whole sequences are less than a quarter.
/// @param quarter of the tokens
void completeFromFirst(SplitText& split, std::int64_t quarter) {
    const std::int64_t lacking = quarter - tokensOf(split.heldOut.sequences);
    const TokenSequence whole = split.fitted.sequences.front();
    const std::int64_t kept = std::ssize(whole.ids) - lacking;
    if (lacking < shortest || kept < shortest)
        return;
    split.fitted.sequences.front() = pieceOf(whole, 0, kept);
    split.heldOut.sequences.insert(split.heldOut.sequences.begin(), pieceOf(whole, kept, std::ssize(whole.ids)));
}

} // namespace

CalibrationText TextPart::text() const {
    CalibrationText part = settings;
    part.sequences = sequences;
    part.labels = labels;
    return part;
}

SplitText withLastQuarterHeldOut(const CalibrationText& text) {
    const std::span<const TokenSequence> all = text.sequences;
    SplitText split{{{}, {}, text}, {{}, {}, text}};
    const std::size_t fitted = all.size() - lastQuarter(all);
    split.fitted.sequences.assign(all.begin(), all.end() - std::ssize(all.subspan(fitted)));
    split.heldOut.sequences.assign(all.end() - std::ssize(all.subspan(fitted)), all.end());
    if (!text.labels.empty()) {
        const auto middle = text.labels.begin() + static_cast<std::ptrdiff_t>(fitted);
        split.fitted.labels.assign(text.labels.begin(), middle);
        split.heldOut.labels.assign(middle, text.labels.end());
    } else if (fitted == 1) {
        completeFromFirst(split, tokensOf(all) / heldOutShare);
    }
    if (split.fitted.sequences.empty() || split.heldOut.sequences.empty())
        throw Error("The calibration text is too short to hold out its last quarter");
    return split;
}

TextPart firstQuarter(const CalibrationText& text) {
    TextPart part{{}, {}, text};
    std::int64_t lacking = std::max(shortest, tokensOf(text.sequences) / heldOutShare);
    for (std::size_t i = 0; i < text.sequences.size() && lacking > 0; ++i) {
        const TokenSequence& whole = text.sequences[i];
        const auto length = std::ssize(whole.ids);
        const auto kept = text.labels.empty() ? std::min(length, std::max(shortest, lacking)) : length;
        part.sequences.push_back(pieceOf(whole, 0, kept));
        if (!text.labels.empty())
            part.labels.push_back(text.labels[i]);
        lacking -= kept;
    }
    return part;
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
