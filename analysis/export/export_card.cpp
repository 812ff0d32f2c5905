#include "analysis/export/export_card.h"

#include "analysis/base/replaceable.h"
#include "analysis/base/shown_text.h"
#include "analysis/base/text.h"
#include "analysis/masks/mask_algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace secateur {

namespace {

std::string cutTable(const PruningMask& mask) {
    std::string rows;
    for (int layer = 0; layer < mask.layerCount(); ++layer)
        if (!mask.layer(layer).keepsAll())
            rows += fmt::format("| {} | {} |\n", layer, description(mask.layer(layer)));
    return rows.empty() ? "Nothing: the mask cuts nothing.\n" : "| layer | cut |\n| --- | --- |\n" + rows;
}

std::string provenanceText(const MaskRecord& record) {
    std::string text;
    const auto add = [&text](std::string_view what, const std::string& value) {
        if (!value.empty())
            text += fmt::format("- {}: {}\n", markdownLine(what), markdownLine(value));
    };
    if (const auto& provenance = record.provenance) {
        add("method", provenance->strategy);
        for (const auto& [option, value] : provenance->options)
            add(option, value);
        if (const auto& budget = provenance->budget)
            add("budget", exactly(budget->amount) + (budget->isPercentage ? "%" : ""));
        add("measured on", provenance->text);
        add("seed", provenance->seed ? std::to_string(*provenance->seed) : "");
        add("mask made", provenance->created);
    }
    add("note", record.note);
    return text.empty() ? "The mask does not state how it was made.\n" : text;
}

std::string contentsText(const ExportFacts& facts) {
    if (!facts.contents.empty())
        return std::string(facts.contents);
    const std::string_view types =
        facts.record.mask.isCompensated()
            ? "the compensation of the mask is in the output and down projections and their biases, which are float32 "
              "where their type would round it. All other names, shapes and types are the source's"
            : "names, shapes and types are the source's";
    return fmt::format("Cut weights are 0; {}, so it opens in the same programs, and is neither smaller nor faster",
                       types);
}

/// The metadata block of an export's card: that of the source, or the licence alone, if it is a plain YAML word.
std::string metadataText(std::string_view sourceMetadata, std::string_view licence) {
    const bool isWord = std::ranges::all_of(
        licence, [](unsigned char c) { return c < 128 && (std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_'); });
    if (!sourceMetadata.empty() || licence.empty() || !isWord)
        return std::string(sourceMetadata);
    return fmt::format("---\nlicense: {}\n---\n", licence);
}

} // namespace

std::size_t metadataLength(std::string_view text) {
    constexpr std::string_view line = "---\n";
    if (!text.starts_with(line))
        return 0;
    const std::size_t end = text.find("\n---", line.size() - 1);
    if (end == std::string_view::npos)
        return 0;
    const std::size_t behind = text.find('\n', end + 1);
    return behind == std::string_view::npos ? text.size() : behind + 1;
}

std::string sentence(const LogitDifference& verified) {
    if (verified.tokens == 0)
        return "Not verified: Secateur writes this format, but does not read it";
    const bool differ = verified.relative() > exportTolerance;
    const char* reason = !differ                      ? ""
                         : verified.hasRoundedWeights ? ", because weights were rounded"
                                                      : ", because the masked model magnifies rounding";
    return fmt::format("Verified: logits {} the masked model{} (max. difference {} of {} on {} tokens{})",
                       differ ? "differ from those of" : "match", reason, significant(verified.most),
                       significant(verified.scale), verified.tokens,
                       differ && !verified.hasRoundedWeights
                           ? fmt::format("; {} for equal inputs of each layer, relative", significant(verified.step))
                           : "");
}

std::string exportCard(const ExportFacts& facts, std::string_view sourceCard) {
    const std::size_t metadata = metadataLength(sourceCard);
    std::string card = metadataText(sourceCard.substr(0, metadata), facts.licence);
    card += fmt::format("# {0}, pruned\n\n"
                        "An {2}{3} on {4}. {9}.\n\n"
                        "- form: {1}\n- source: {5}, {6}\n- fingerprint of the source: {7}\n- mask: {8}\n",
                        markdownLine(facts.source.name), facts.target, exportCardMark, facts.version, utcNow(),
                        facts.source.spec.architecture, facts.source.spec.structure(), facts.source.fingerprint,
                        markdownLine(facts.maskFile), contentsText(facts));
    if (!facts.source.adapter.empty())
        card += fmt::format("- adapter, merged into the weights: {}\n", markdownLine(facts.source.adapter));
    if (!facts.types.empty())
        card += fmt::format("- types of the weights: {}\n", facts.types);
    card += fmt::format("- licence of the source: {}\n",
                        facts.licence.empty() ? "not stated" : markdownLine(facts.licence));
    if (!facts.loading.empty())
        card += fmt::format("\n## How to open it\n\n{}", facts.loading.substr(0, facts.loading.size() - 1));
    card += "\n## What was cut\n\n" + cutTable(facts.record.mask);
    card += "\n## How\n\n" + provenanceText(facts.record);
    card += "\n## Measured\n\n";
    for (const std::string& line : facts.measured)
        card += "- " + markdownLine(line) + "\n";
    card += "- " + sentence(facts.verified) + (facts.verified.tokens > 0 ? ", in float32\n" : "\n");
    const std::string_view rest = sourceCard.substr(metadata);
    if (rest.find_first_not_of(" \t\r\n") != std::string_view::npos)
        card += "\n---\n\n" + std::string(rest.substr(rest.find_first_not_of("\r\n")));
    return card;
}

std::string interruptedExportCard(std::string_view version) {
    return fmt::format(
        "# Interrupted {}{}\n\nThe files of this export do not all belong together. Repeat the export.\n",
        exportCardMark, version);
}

} // namespace secateur
