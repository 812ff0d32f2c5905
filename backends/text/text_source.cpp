#include "backends/text/text_source.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "backends/base/json_object.h"
#include "backends/base/mapped_file.h"
#include "backends/text/json_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr std::array<const char*, 4> usualFields{"text", "content", "page", "prompt"};

std::vector<std::string> rowsOf(const fs::path& path, const std::string& field) {
    const std::string content = readTextFile(path.string());
    std::vector<std::string> documents;
    std::size_t number = 0;
    for (const std::string_view line : splitDocuments(content, TextSplit::line)) {
        ++number;
        documents.push_back(
            documentIn(JsonObject::parse(line, fmt::format("{}: row {}", path.string(), number)), field));
    }
    return documents;
}

/// The documents of a .json file with a list of rows.
std::vector<std::string> listedRowsOf(const std::string& path, const std::string& field) {
    std::vector<std::string> documents;
    for (const TextLine& row : jsonRows(path))
        documents.push_back(
            documentIn(JsonObject::parse(row.text, fmt::format("{}: line {}", path, row.number)), field));
    return documents;
}

bool isJsonList(const fs::path& path) {
    return path.extension() == ".json" && trimmed(readTextFile(path.string())).starts_with('[');
}

/// The prompt of an instruction (resources/manual/formats.md, Texts).
std::string instructionPrompt(const JsonObject& row) {
    const std::string input = row.text("input").value_or("");
    return fmt::format("Instruction: {}\n{}Response:", row.text("instruction").value_or(""),
                       input.empty() ? "" : fmt::format("Input: {}\n", input));
}

std::vector<fs::path> filesIn(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.is_regular_file() && entry.file_size() > 0 && !entry.path().filename().string().starts_with('.'))
            files.push_back(entry.path());
    }
    std::ranges::sort(files);
    if (files.empty())
        throw Error("holds no text files", folder.string());
    return files;
}

std::vector<std::string> partsOf(std::string_view content, TextSplit split) {
    const auto parts = splitDocuments(content, split);
    return {parts.begin(), parts.end()};
}

} // namespace

std::vector<TextLine> nonBlankLines(std::string_view text) {
    std::vector<TextLine> lines;
    std::size_t number = 0;
    for (std::string& line : split(text, '\n')) {
        ++number;
        if (!trimmed(line).empty())
            lines.push_back({number, std::move(line)});
    }
    return lines;
}

std::string readTextFile(const std::string& path) {
    const auto file = MappedFile::open(path);
    std::string content(charactersOf(file->bytes()));
    file->checkWhole();
    checkUtf8(content, path);
    return content;
}

void checkUtf8(std::string_view text, const std::string& name) {
    if (const auto bad = firstInvalidUtf8(text))
        throw Error(fmt::format("is not UTF-8: invalid byte at offset {} (from 0)", *bad), name);
}

std::vector<std::string> readDocuments(const std::string& path, const std::string& field, TextSplit split) {
    if (path.empty())
        return partsOf(builtInText(), split);
    try {
        if (!fs::exists(path))
            throw Error("does not exist", path);
        if (fs::is_directory(path)) {
            std::vector<std::string> documents;
            for (const fs::path& file : filesIn(path))
                documents.push_back(readTextFile(file.string()));
            return documents;
        }
        if (fs::path(path).extension() == ".jsonl")
            return rowsOf(path, field);
        if (isJsonList(path))
            return listedRowsOf(path, field);
        return partsOf(readTextFile(path), split);
    } catch (const fs::filesystem_error& error) {
        throw Error(error.code().message(), error.path1().empty() ? path : error.path1().string());
    }
}

std::string documentIn(const JsonObject& row, const std::string& field) {
    if (!field.empty()) {
        const auto text = row.text(field);
        if (!text)
            row.refuse(field, "is missing");
        return *text;
    }
    const auto usual = std::ranges::find_if(usualFields, [&](const char* name) { return row.isText(name); });
    if (usual == usualFields.end() && row.isText("instruction"))
        return instructionPrompt(row);
    if (usual == usualFields.end())
        throw Error("has none of the fields text, content, page, prompt", row.subject(), "Name the field by --field");
    return *row.text(*usual);
}

std::string sourceName(const std::string& path) {
    return path.empty() ? "built-in" : path;
}

} // namespace secateur
