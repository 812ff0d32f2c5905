#include "analysis/export/export_card.h"

#include "analysis/masks/mask_algebra.h"
#include "analysis/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

std::string cutTable(const PruningMask& mask) {
    std::string rows;
    for (int layer = 0; layer < mask.layerCount(); ++layer)
        if (!mask.layer(layer).keepsAll())
            rows += fmt::format("| {} | {} |\n", layer, description(mask.layer(layer)));
    return rows.empty() ? "Nothing: the mask keeps all.\n" : "| layer | cut |\n| --- | --- |\n" + rows;
}

std::string provenanceText(const MaskRecord& record) {
    std::string text;
    const auto add = [&text](std::string_view what, const std::string& value) {
        if (!value.empty())
            text += fmt::format("- {}: {}\n", what, value);
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
    return text.empty() ? "The mask does not say where it came from.\n" : text;
}

/// Length of the block between two lines of dashes that a text begins with; 0 where there is none.
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

} // namespace

std::string exportCard(const ExportFacts& facts, std::string_view sourceCard) {
    const std::size_t metadata = metadataLength(sourceCard);
    std::string card(sourceCard.substr(0, metadata));
    card += fmt::format("# {0}, pruned\n\n"
                        "{0} as a {1} export, written by Secateur {2} on {3}. What was cut is 0; names, shapes and "
                        "types are the source's, so it opens wherever that opens, and is no smaller and no faster.\n\n"
                        "- source: {4}, {5}\n- fingerprint of the source: {6}\n- mask: `{7}`\n",
                        facts.source.name, facts.target, facts.version, utcNow(), facts.source.spec.architecture,
                        facts.source.spec.structure(), facts.source.fingerprint, facts.maskFile);
    card += "\n## What was cut\n\n" + cutTable(facts.record.mask);
    card += "\n## How\n\n" + provenanceText(facts.record);
    card += "\n## What it measured\n\n";
    for (const std::string& line : facts.measured)
        card += "- " + line + "\n";
    card += fmt::format("- Logits of {} drawn tokens differ from those of the source under the mask by {} at most, of "
                        "{} at most (float32)\n",
                        facts.verified.tokens, significant(facts.verified.most), significant(facts.verified.scale));
    const std::string_view rest = sourceCard.substr(metadata);
    if (rest.find_first_not_of(" \t\r\n") != std::string_view::npos)
        card += "\n---\n\n" + std::string(rest.substr(rest.find_first_not_of("\r\n")));
    return card;
}

} // namespace secateur
