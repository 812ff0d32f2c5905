#include "analysis/base/shown_text.h"
#include "analysis/base/text.h"
#include "analysis/metrics/request_title.h"
#include "analysis/report/report_sections.h"
#include "analysis/session/result_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace secateur {

namespace {

/// The values of a field over the layers: "9", or "6 to 9" if they differ.
std::string overLayers(const ModelSpec& spec, int LayerSpec::* member) {
    if (spec.layers.empty())
        return "0";
    const auto [least, most] = std::ranges::minmax(spec.layers, {}, member);
    return least.*member == most.*member ? std::to_string(least.*member)
                                         : fmt::format("{} to {}", least.*member, most.*member);
}

std::string groupedCount(std::int64_t count) {
    return grouped(static_cast<std::uint64_t>(count));
}

std::vector<std::pair<std::string, std::string>> cardRows(const ModelCard& card) {
    const ModelSpec& spec = card.spec;
    const std::size_t stored = spec.tiedGroups().size();
    std::vector<std::pair<std::string, std::string>> rows{
        {"Name", card.name},
        {"File", card.path},
        {"Format", card.format},
        {"Architecture", fmt::format("{} ({})", spec.architecture, name(spec.family))},
        {"Layers", stored == 0 ? std::to_string(spec.layerCount())
                               : fmt::format("{}, sharing the weights of {}", spec.layerCount(), stored)},
        {"Hidden size", groupedCount(spec.hidden)},
        {"Heads of a layer", fmt::format("{}, in {} KV groups", overLayers(spec, &LayerSpec::heads),
                                         overLayers(spec, &LayerSpec::kvHeads))},
        {"Head size", overLayers(spec, &LayerSpec::headDim)},
        {"MLP width", overLayers(spec, &LayerSpec::ffn)},
        {"Vocabulary", groupedCount(spec.vocab) + " tokens"},
        {"Context", spec.context > 0 ? groupedCount(spec.context) + " tokens" : "not stated"},
        {"Parameters", groupedCount(card.parameters)},
        {"Size of the weights", fmt::format("{}, mostly {}", shortBytes(static_cast<double>(card.bytes)), card.dtype)},
        {"Tokenizer", card.tokenizer.empty() ? "none" : card.tokenizer},
        {"Structure", spec.structure()},
        {"Fingerprint", card.fingerprint}};
    if (spec.family == Family::decoder)
        rows.insert(rows.begin() + 10, {"Embeddings", spec.tiedEmbeddings ? "tied to the LM head" : "separate"});
    if (spec.classes > 0)
        rows.insert(rows.begin() + 10, {"Classes", std::to_string(spec.classes)});
    if (!card.adapter.empty())
        rows.emplace_back("Adapter", card.adapter);
    return rows;
}

/// A text that results were measured on, with a letter.
struct NamedText {
    std::string name; ///< "A"
    std::string digest;
    MeasuredData data;
};

std::string letterOf(std::size_t index) {
    constexpr std::size_t letters = 26;
    const std::string own(1, static_cast<char>('A' + index % letters));
    return index < letters ? own : own + std::to_string(index / letters);
}

bool isSameText(const NamedText& text, const MetricResult& result) {
    return text.digest == result.measurement.dataDigest && text.data == result.data;
}

std::vector<NamedText> textsOf(const Session& session) {
    std::vector<NamedText> texts;
    for (const MetricResult& result : session.results)
        if (result.data && std::ranges::none_of(texts, [&](const NamedText& text) { return isSameText(text, result); }))
            texts.push_back({letterOf(texts.size()), result.measurement.dataDigest, *result.data});
    return texts;
}

std::string letterOfText(const std::vector<NamedText>& texts, const MetricResult& result) {
    const auto found = std::ranges::find_if(texts, [&](const NamedText& text) { return isSameText(text, result); });
    return found == texts.end() ? "" : found->name;
}

ReportFigure textsTable(const std::vector<NamedText>& texts) {
    FigureTable table;
    table.columns = {textColumn("Text"),
                     textColumn("Source"),
                     {.title = "Sequences", .decimals = 0, .hasThousands = true},
                     {.title = "Tokens", .decimals = 0, .hasThousands = true},
                     {.title = "Sequence length", .decimals = 0, .hasThousands = true},
                     textColumn("Split by"),
                     textColumn("BOS")};
    for (const NamedText& text : texts) {
        const MeasuredData& data = text.data;
        const std::string part = data.isPart() ? fmt::format(", part {} of {}", data.part, data.parts) : "";
        table.rows.push_back(
            {{reportWords(text.name), reportWords(shownSource(data.source) + part),
              reportNumber(static_cast<double>(data.sequences)), reportNumber(static_cast<double>(data.tokens)),
              reportNumber(static_cast<double>(data.sequenceLength)), reportWords(data.split), reportWords(data.bos)}});
        table.notes.push_back(fmt::format("Digest of {}: {}.", text.name, shownLine(text.digest)));
        if (data.tokens < data.allTokens)
            table.notes.push_back(fmt::format("The run on {} was stopped after {} of {} tokens.", text.name,
                                              groupedCount(data.tokens), groupedCount(data.allTokens)));
    }
    return tableBlock(std::move(table), "Texts that metrics were measured on.");
}

ReportFigure resultsTable(const Session& session, const std::vector<NamedText>& texts) {
    FigureTable table;
    table.columns = {textColumn("Result"), textColumn("Quantity"), textColumn("Text"), textColumn("Mask"),
                     textColumn("Type"),   textColumn("Device"),   {"Seconds", 2},     textColumn("Key")};
    for (const MetricResult& result : session.results) {
        const Measurement& measurement = result.measurement;
        const SessionMask* mask = session.mask(measurement.maskDigest);
        table.rows.push_back(
            {{reportWords(result.request.resultId()), reportWords(titleOf(result.request)),
              reportWords(letterOfText(texts, result)),
              reportWords(mask
                              ? mask->name
                              : shownMask({measurement.maskDigest == "dense" ? "" : shortDigest(measurement.maskDigest),
                                           measurement.maskDigest})),
              reportWords(measurement.dtype), reportWords(measurement.device), reportNumber(result.seconds),
              reportWords(measurementKey(measurement))}});
        if (result.standardError)
            table.notes.push_back(result.request.resultId() + " has estimates with standard errors.");
        if (!result.isWhole)
            table.notes.push_back(result.request.resultId() + " is incomplete: its run was stopped.");
    }
    return tableBlock(std::move(table),
                      "Measurements. The key names one of several measurements of a result: RESULT@KEY.");
}

} // namespace

ReportSection modelSection(const Session& session) {
    FigureTable table;
    table.columns = {textColumn("Property"), textColumn("Value")};
    for (const auto& [what, value] : cardRows(session.model))
        table.rows.push_back({{reportWords(what), reportWords(value)}});
    ReportSection section;
    section.blocks.emplace_back(tableBlock(std::move(table), "Model card."));
    ReportWarnings warnings;
    warnings.add(session.model.warnings);
    warnings.appendTo(section);
    return section;
}

ReportSection measurementsSection(const Session& session) {
    ReportSection section;
    if (session.results.empty())
        return section;
    const std::vector<NamedText> texts = textsOf(session);
    section.blocks.emplace_back(resultsTable(session, texts));
    if (!texts.empty())
        section.blocks.emplace_back(textsTable(texts));
    ReportWarnings warnings;
    for (const MetricResult& result : session.results)
        warnings.add(result.warnings);
    warnings.appendTo(section);
    return section;
}

} // namespace secateur
