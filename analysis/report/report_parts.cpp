#include "analysis/base/shown_text.h"
#include "analysis/report/report_sections.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace secateur {

TableColumn textColumn(std::string title) {
    return {.title = std::move(title), .decimals = 0, .isText = true};
}

TableCell reportWords(std::string_view text) {
    return {.text = shownLine(text)};
}

TableCell reportNumber(double value, double error) {
    return {.value = value, .error = error > 0 ? error : 0};
}

ReportFigure tableBlock(FigureTable table, std::string caption) {
    ReportFigure block;
    block.figure.kind = FigureKind::table;
    block.figure.table = std::move(table);
    block.caption = std::move(caption);
    return block;
}

std::string shownMask(const EvaluatedMask& mask) {
    return mask.name.empty() ? (mask.digest == "dense" ? "dense" : shortDigest(mask.digest)) : mask.name;
}

std::string shownRun(const Evaluation& run) {
    return shownName({shownMask(run.mask), run.mask.digest}, run.adapter);
}

std::string shortDigest(const std::string& digest) {
    constexpr std::size_t digits = 12;
    return digest.substr(digest.find(':') + 1, digits);
}

std::string shownSource(const std::string& source) {
    const std::string file = std::filesystem::path(source).filename().string();
    return source == "built-in" ? "built-in text" : file.empty() ? source : file;
}

void ReportWarnings::add(const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings)
        if (std::ranges::find(m_warnings, warning) == m_warnings.end())
            m_warnings.push_back(warning);
}

void ReportWarnings::appendTo(ReportSection& section) const {
    for (const std::string& warning : m_warnings)
        section.blocks.emplace_back(ReportText{"Warning: " + shownLine(warning)});
}

} // namespace secateur
