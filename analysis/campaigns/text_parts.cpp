#include "analysis/campaigns/text_parts.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <string_view>
#include <utility>

namespace secateur {

namespace {

constexpr std::string_view beforePart = ", part ";
constexpr std::string_view beforeParts = " of ";

SequenceText partOfText(const SweepInputs& inputs, std::size_t part, std::size_t parts) {
    const SequenceText& whole = inputs.calibration;
    const std::size_t all = whole.set.sequences.size();
    const std::size_t begin = all * part / parts;
    const std::size_t end = all * (part + 1) / parts;
    SequenceText text{.set = {}, .labels = {}, .data = whole.data, .digest = {}, .warnings = {}};
    for (std::size_t i = begin; i < end; ++i) {
        text.set.sequences.push_back(whole.set.sequences[i]);
        text.set.tokens += std::ssize(whole.set.sequences[i].ids);
        if (!whole.labels.empty())
            text.labels.push_back(whole.labels[i]);
    }
    text.data.sequences = std::ssize(text.set.sequences);
    text.data.tokens = text.data.allTokens = text.set.tokens;
    text.data.split += partEnding(static_cast<int>(part) + 1, static_cast<int>(parts));
    text.digest = inputs.textDigest(text);
    return text;
}

/// Inputs with another calibration text and nothing to score.
SweepInputs unscored(const SweepInputs& inputs, SequenceText calibration) {
    SweepInputs own;
    own.calibration = std::move(calibration);
    own.type = inputs.type;
    own.batchTokens = inputs.batchTokens;
    own.streamBytes = inputs.streamBytes;
    own.maskDigest = inputs.maskDigest;
    own.taskDigest = inputs.taskDigest;
    own.textDigest = inputs.textDigest;
    return own;
}

} // namespace

std::string partEnding(int part, int parts) {
    return fmt::format("{}{}{}{}", beforePart, part, beforeParts, parts);
}

int partsOfText(const MeasuredData& data) {
    const std::size_t part = data.split.rfind(beforePart);
    const std::size_t of = part == std::string::npos ? part : data.split.find(beforeParts, part);
    int parts = 0;
    if (of != std::string::npos)
        std::from_chars(data.split.data() + of + beforeParts.size(), data.split.data() + data.split.size(), parts);
    return parts;
}

bool isPartOfText(const MeasuredData& data) {
    return partsOfText(data) > 0;
}

void chooseOnParts(const Model& model, const SweepRequest& request, const SweepInputs& inputs, const SweepKnown& known,
                   int parts, const SweepSink& sink, const Progress& progress) {
    if (std::ssize(inputs.calibration.set.sequences) < parts)
        throw UsageError(fmt::format("the calibration text has {}, fewer than {} parts",
                                     counted(inputs.calibration.set.sequences.size(), "sequence"), parts),
                         "--stability", "Read more tokens (--max-tokens), or shorter sequences (--seq-len)");
    SweepRequest own = request;
    std::erase_if(own.series, [](const SweepSeries& series) { return !isCalibrated(series.strategy); });
    own.choosesOnly = true;
    for (int part = 0; part < parts && !own.series.empty(); ++part) {
        const SweepInputs read =
            unscored(inputs, partOfText(inputs, static_cast<std::size_t>(part), static_cast<std::size_t>(parts)));
        const Progress step = progress.part(static_cast<double>(part) / parts, (part + 1.0) / parts)
                                  .named(fmt::format("part {} of {} of the text", part + 1, parts));
        runSweep(model, own, read, known, planSweep(model, own, read, known), {}, sink, step);
    }
}

} // namespace secateur
