#include "backends/export/gguf_pre_tokenizers.h"

#include "analysis/base/error.h"
#include "backends/tokenizers/hf_vocabulary.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace secateur {

namespace {

using GgufCut = GgufPreTokenizer::Cut;

[[noreturn]] void refuseStep(const JsonObject& step, const char* kind) {
    step.refuse("type",
                fmt::format("the {} \"{}\" has no counterpart in llama.cpp with these options", kind, typeOf(step)));
}

/// The pattern of a Split that makes each match a word; empty for other steps. @param key "Regex" or "String"
std::optional<std::string> isolatedPattern(const JsonObject& step, const char* key) {
    const auto pattern = typeOf(step) == "Split" ? step.object("pattern") : std::nullopt;
    const std::string behaviour = step.text("behavior").value_or("");
    const bool isolates = behaviour == "Isolated" || (behaviour == "Removed" && step.flag("invert").value_or(false));
    return pattern && isolates ? pattern->text(key) : std::nullopt;
}

bool cutsDigits(const JsonObject& step) {
    return (typeOf(step) == "Digits" && step.flag("individual_digits").value_or(false)) ||
           isolatedPattern(step, "Regex") == "\\p{N}";
}

std::optional<GgufCut> cutOfPattern(const JsonObject& step) {
    static constexpr std::array patterns{
        std::pair{gpt2Pattern, GgufCut::gpt2}, std::pair{llama3Pattern, GgufCut::llama3},
        std::pair{qwen2Pattern, GgufCut::qwen2}, std::pair{tekkenPattern, GgufCut::tekken}};
    const auto pattern = isolatedPattern(step, "Regex");
    for (const auto& [text, cut] : patterns) {
        if (pattern == text)
            return cut;
    }
    return std::nullopt;
}

/// The steps before ByteLevel, followed by the expression that ByteLevel itself splits by.
std::optional<GgufCut> cutOf(std::span<const JsonObject> steps, bool endsWithGpt2) {
    if (!endsWithGpt2) {
        const auto cut = steps.empty() ? std::nullopt : cutOfPattern(steps.back());
        const bool hasDigits = steps.size() == 2 && cut == GgufCut::gpt2 && cutsDigits(steps.front());
        return hasDigits ? std::optional(GgufCut::digitsAndGpt2) : steps.size() == 1 ? cut : std::nullopt;
    }
    if (steps.empty())
        return GgufCut::gpt2;
    return steps.size() == 1 && cutsDigits(steps.front()) ? std::optional(GgufCut::digitsAndGpt2) : std::nullopt;
}

bool normalizesOnlyToNfc(const JsonObject& document) {
    const auto steps = stepsOf(document, "normalizer", "normalizers");
    for (const JsonObject& step : steps) {
        if (typeOf(step) != "NFC")
            refuseStep(step, "normalizer");
    }
    return !steps.empty();
}

bool isPrefix(const JsonObject& step) {
    return typeOf(step) == "Prepend" && step.text("prepend") == spaceMark;
}

bool marksSpaces(const JsonObject& step) {
    const auto pattern = typeOf(step) == "Replace" ? step.object("pattern") : std::nullopt;
    return pattern && pattern->text("String") == " " && step.text("content") == spaceMark;
}

/// Whether a step splits at spaces, of which there are none after they became marks.
bool splitsAtSpaces(const JsonObject& step) {
    const auto pattern = typeOf(step) == "Split" ? step.object("pattern") : std::nullopt;
    return pattern && pattern->text("String") == " ";
}

void readMetaspace(const JsonObject& step, SpaceMarkSteps& found) {
    const bool isWhole = !step.flag("split").value_or(true) && step.text("replacement").value_or("") == spaceMark;
    if (typeOf(step) != "Metaspace" || !isWhole)
        refuseStep(step, "pre-tokenizer");
    const std::string scheme =
        step.text("prepend_scheme").value_or(step.flag("add_prefix_space").value_or(true) ? "always" : "never");
    found.prefix = found.prefix || scheme != "never";
    found.firstOnly = scheme == "first";
}

} // namespace

ByteLevelSteps byteLevelSteps(const JsonObject& document) {
    const auto steps = stepsOf(document, "pre_tokenizer", "pretokenizers");
    if (steps.empty() || typeOf(steps.back()) != "ByteLevel")
        document.refuse("pre_tokenizer", "does not end with ByteLevel");
    const JsonObject& last = steps.back();
    if (last.flag("add_prefix_space").value_or(true))
        last.refuse("add_prefix_space", "puts a space in front of texts, which llama.cpp does not do for byte-level "
                                        "tokenizers");
    const auto cut = cutOf(std::span(steps).first(steps.size() - 1), last.flag("use_regex").value_or(true));
    if (!cut)
        document.refuse("pre_tokenizer", "splits texts in a way for which llama.cpp has no name that is known here");
    return {*cut, normalizesOnlyToNfc(document)};
}

SpaceMarkSteps spaceMarkSteps(const JsonObject& document) {
    SpaceMarkSteps found;
    bool hasMarks = false;
    for (const JsonObject& step : stepsOf(document, "normalizer", "normalizers")) {
        if (!isPrefix(step) && !marksSpaces(step))
            refuseStep(step, "normalizer");
        found.prefix = found.prefix || isPrefix(step);
        hasMarks = hasMarks || marksSpaces(step);
    }
    for (const JsonObject& step : stepsOf(document, "pre_tokenizer", "pretokenizers")) {
        if (hasMarks && splitsAtSpaces(step))
            continue;
        readMetaspace(step, found);
        hasMarks = true;
    }
    if (!hasMarks)
        document.refuse("normalizer", "does not replace spaces by \"▁\", as llama.cpp does for such vocabularies");
    return found;
}

BertCleaning bertSteps(const JsonObject& document) {
    const auto normalizers = stepsOf(document, "normalizer", "normalizers");
    if (normalizers.size() != 1 || typeOf(normalizers.front()) != "BertNormalizer")
        document.refuse("normalizer", "is not BertNormalizer, which is the only one of llama.cpp for WordPiece");
    const JsonObject& step = normalizers.front();
    for (const char* key : {"clean_text", "handle_chinese_chars"}) {
        if (!step.flag(key).value_or(true))
            step.refuse(key, "is false, but llama.cpp has no such option");
    }
    const auto preTokenizers = stepsOf(document, "pre_tokenizer", "pretokenizers");
    if (preTokenizers.size() != 1 || typeOf(preTokenizers.front()) != "BertPreTokenizer")
        document.refuse("pre_tokenizer", "is not BertPreTokenizer, which is the only one of llama.cpp for WordPiece");
    const bool lower = step.flag("lowercase").value_or(true);
    return {.stripAccents = step.flag("strip_accents").value_or(lower), .lowerCase = lower};
}

std::string_view preTokenizerName(GgufCut cut, bool wholeWords, bool around, const std::string& subject) {
    for (const GgufPreTokenizer& row : ggufPreTokenizers()) {
        if (row.cut == cut && row.wholeWords == wholeWords &&
            (row.addsBos && row.addsEos) == (around && cut == GgufCut::gpt2))
            return row.name;
    }
    throw Error(fmt::format("{} whole words without merging (ignore_merges), which no pre-tokenizer of llama.cpp with "
                            "the same expression does",
                            wholeWords ? "encodes" : "does not encode"),
                subject);
}

} // namespace secateur
