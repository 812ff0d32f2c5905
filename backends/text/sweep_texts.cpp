#include "backends/text/sweep_texts.h"

#include "analysis/base/error.h"
#include "analysis/evaluation/evaluation.h"
#include "backends/session/mask_json.h"
#include "backends/text/text_source.h"

#include <algorithm>
#include <cstddef>

namespace secateur {

namespace {

using Texts = std::vector<std::string>;

/// The documents of the calibration text and of the scored text.
struct BothTexts {
    Texts calibration;
    Texts scored;
    bool areEqual = false; ///< whether both were named and are the same
};

/// The place behind the first separator in the last third of a text: behind blank lines if there are any in the first
/// half of this third, else behind a line break or a space.
std::size_t placeToDivide(std::string_view text) {
    const std::size_t third = text.size() * 2 / 3;
    const std::size_t latest = third + (text.size() - third) / 2;
    for (const std::string_view separator : {"\n\n\n", "\n\n", "\n", " "}) {
        const std::size_t found = text.find(separator, third);
        if (found != std::string_view::npos && found < latest)
            return found + separator.size();
    }
    throw Error("is too short to be divided into a calibration text and a scored text", {},
                "Name a text to score by --score");
}

Texts dividedBy(const Texts& documents, TextSplit rule) {
    Texts parts;
    for (const std::string& document : documents)
        for (const std::string_view part : splitDocuments(document, rule))
            parts.emplace_back(part);
    return parts;
}

BothTexts readBoth(const SweepTextRequest& request) {
    const SequenceRequest& own = request.calibration;
    const Texts whole = readDocuments(own.path, own.field, TextSplit::windows);
    const TextSplit scoredSplit = request.splitsBoth ? own.rules.split : TextSplit::windows;
    if (request.score) {
        BothTexts texts{readDocuments(own.path, own.field, own.rules.split),
                        readDocuments(*request.score, own.field, scoredSplit)};
        texts.areEqual = whole == readDocuments(*request.score, own.field, TextSplit::windows);
        return texts;
    }
    try {
        auto [first, rest] = lastThirdApart(whole);
        const bool isOneText = whole.size() == 1; // the rows of a .jsonl and the files of a folder are not divided
        return {isOneText ? dividedBy(first, own.rules.split) : first, isOneText ? dividedBy(rest, scoredSplit) : rest};
    } catch (const Error& error) {
        throw error.within(sourceName(own.path));
    }
}

} // namespace

std::pair<Texts, Texts> lastThirdApart(const Texts& documents) {
    if (documents.size() == 1) {
        const std::string& text = documents.front();
        const std::size_t place = placeToDivide(text);
        return {{text.substr(0, place)}, {text.substr(place)}};
    }
    std::size_t bytes = 0;
    for (const std::string& document : documents)
        bytes += document.size();
    std::size_t first = 0;
    std::size_t before = 0;
    while (first + 1 < documents.size() && 3 * before < 2 * bytes)
        before += documents[first++].size();
    const auto middle = documents.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(first, 1));
    if (documents.empty() || middle == documents.end())
        throw Error("is too short to be divided into a calibration text and a scored text", {},
                    "Name a text to score by --score");
    return {Texts(documents.begin(), middle), Texts(middle, documents.end())};
}

SweepInputs readSweepTexts(const Model& model, const SweepTextRequest& request, const Progress& progress) {
    SweepInputs inputs;
    const BothTexts texts = readBoth(request);
    inputs.calibration = sequenceText(model, request.calibration, texts.calibration, progress);
    inputs.warnings = inputs.calibration.warnings;
    const std::string path = request.score.value_or(request.calibration.path);
    if (givesPooledOutput(model)) {
        SequenceRequest pooled;
        pooled.path = path;
        pooled.rules.bos = request.calibration.rules.bos;
        pooled.rules.mostTokens = request.scored.mostTokens;
        inputs.pooled = sequenceText(model, pooled, texts.scored, progress);
    } else if (model.has(-1, WeightName::lmHead)) {
        inputs.scored = evaluationText(model, {path, request.calibration.field, request.scored}, texts.scored, progress);
    }
    const bool isScored = inputs.pooled || inputs.scored;
    for (const std::string& warning : inputs.scored ? inputs.scored->warnings : std::vector<std::string>())
        if (std::ranges::find(inputs.warnings, warning) == inputs.warnings.end())
            inputs.warnings.push_back(warning);
    inputs.scoresCalibrationText = isScored && texts.areEqual;
    if (inputs.scoresCalibrationText)
        inputs.warnings.emplace_back("the scored text is the calibration text: strategies have seen what they are "
                                     "scored on, and their losses are too low for a comparison");
    inputs.maskDigest = [](const PruningMask& mask) { return maskDigest(mask); };
    inputs.taskDigest = [](const AskedTask& asked) { return dataDigest(asked); };
    inputs.textDigest = [](const SequenceText& text) { return dataDigest(text.set, text.labels); };
    return inputs;
}

} // namespace secateur
