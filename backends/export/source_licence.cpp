#include "backends/export/source_licence.h"

#include "analysis/base/shown_text.h"
#include "analysis/export/export_card.h"
#include "backends/export/compact_source.h"
#include "backends/export/companion_files.h"

#include <algorithm>
#include <sstream>
#include <string_view>

namespace secateur {

namespace {

constexpr std::size_t mostLetters = 100;

std::string trimmed(std::string_view text) {
    const auto isSpace = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '"' || c == '\''; };
    while (!text.empty() && isSpace(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && isSpace(text.back()))
        text.remove_suffix(1);
    return std::string(text.substr(0, mostLetters));
}

std::string licenceInCard(const std::string& readme) {
    std::istringstream lines(readme.substr(0, metadataLength(readme)));
    constexpr std::string_view key = "license:";
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(key))
            return trimmed(std::string_view(line).substr(key.size()));
    return {};
}

} // namespace

std::string licenceOf(const ModelCard& card) {
    if (card.format == "gguf")
        return trimmed(CompactSource(card).ggufMetadata().text("general.license").value_or(""));
    return licenceInCard(companionContent(modelFolder(card.path), "README.md"));
}

} // namespace secateur
