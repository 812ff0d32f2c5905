#include "analysis/base/replaceable.h"

#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace secateur {

namespace {

struct KindRow {
    FileKind kind;
    std::string_view extension; ///< of a figure's file; empty for other kinds
    std::string_view name;      ///< "a mask"
    bool canBeForced;           ///< whether its writers have --force
    bool (*matches)(std::string_view content);
};

bool holds(std::string_view content, std::string_view part) {
    return content.find(part) != std::string_view::npos;
}

bool isJsonObject(std::string_view content) {
    const std::size_t first = content.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && content[first] == '{';
}

bool isMask(std::string_view content) {
    return isJsonObject(content) && holds(content, "\"secateur_mask\"");
}

constexpr std::string_view hdf5Signature = "\x89HDF\r\n\x1a\n";

/// Every session holds its format's name as an attribute.
bool isSessionFile(std::string_view content) {
    return content.starts_with(hdf5Signature) && holds(content, "secateur-session");
}

bool isPng(std::string_view content) {
    return content.starts_with("\x89PNG\r\n\x1a\n");
}

bool isSvg(std::string_view content) {
    constexpr std::size_t prologue = 4096; // before it may stand comments and a document type
    return holds(content.substr(0, prologue), "<svg");
}

bool isPdf(std::string_view content) {
    return content.starts_with("%PDF-");
}

/// Number of columns in a line of CSV: commas inside quotes do not separate them.
std::size_t columnsIn(std::string_view line) {
    std::size_t columns = 1;
    bool isQuoted = false;
    for (const char c : line) {
        isQuoted = isQuoted != (c == '"');
        columns += c == ',' && !isQuoted ? 1 : 0;
    }
    return columns;
}

/// The text up to the end of its first line. Line breaks inside quotes do not end a line.
std::string_view csvLine(std::string_view content) {
    bool isQuoted = false;
    const auto* const end = std::ranges::find_if(content, [&](char c) {
        isQuoted = isQuoted != (c == '"');
        return c == '\n' && !isQuoted;
    });
    return content.substr(0, static_cast<std::size_t>(end - content.begin()));
}

/// A text whose first two lines have the same number of columns, at least two.
bool isCsv(std::string_view content) {
    const std::string_view head = csvLine(content);
    const std::string_view rest = content.substr(std::min(head.size() + 1, content.size()));
    const std::size_t columns = columnsIn(head);
    return columns > 1 && !holds(head, std::string_view("\0", 1)) && !isJsonObject(content) &&
           (rest.empty() || columnsIn(csvLine(rest)) == columns);
}

bool isFigureJson(std::string_view content) {
    constexpr std::array<std::string_view, 9> kinds{"\"heat_map\"",  "\"series\"",  "\"bands\"",
                                                    "\"histogram\"", "\"scatter\"", "\"curves\"",
                                                    "\"panels\"",    "\"grid\"",    "\"table\""};
    return isJsonObject(content) && holds(content, "\"kind\"") && holds(content, "\"title\"") &&
           std::ranges::any_of(kinds, [&](std::string_view kind) { return holds(content, kind); });
}

bool isReport(std::string_view content) {
    constexpr std::string_view before = "<!DOCTYPE html>\n<!-- ";
    return content.starts_with(before) && content.substr(before.size()).starts_with(reportMark);
}

/// Whether a text begins with words and the mark of a table's file.
bool isTableAfter(std::string_view before, std::string_view content) {
    return content.starts_with(before) && content.substr(before.size()).starts_with(tableMark);
}

bool isMarkdownTable(std::string_view content) {
    return isTableAfter("<!-- ", content);
}

bool isLatexTable(std::string_view content) {
    return isTableAfter("% ", content);
}

bool isHtmlTable(std::string_view content) {
    return isTableAfter("<!DOCTYPE html>\n<!-- ", content);
}

/// The mark begins the last line.
bool isCaption(std::string_view content) {
    content = content.substr(0, content.find_last_not_of('\n') + 1);
    return content.substr(content.find_last_of('\n') + 1).starts_with(captionMark); // npos + 1 = 0
}

bool isGguf(std::string_view content) {
    return content.starts_with("GGUF");
}

/// A header's length (64 bits) and the header, a JSON object.
bool isSafetensors(std::string_view content) {
    return content.size() > 9 && content[8] == '{' && content.substr(5, 3) == std::string_view("\0\0\0", 3);
}

/// A safetensors file whose header begins with the mark.
bool isCompensation(std::string_view content) {
    constexpr std::size_t metadata = 128;
    return isSafetensors(content) && holds(content.substr(0, metadata), compensationMark);
}

/// A safetensors file whose header names a tensor as PEFT does.
bool isAdapter(std::string_view content) {
    constexpr std::size_t header = 1 << 16;
    return isSafetensors(content) && holds(content.substr(0, header), "\"base_model.model.");
}

/// The configuration for PEFT, or the names of the classes beside it.
bool isAdapterConfig(std::string_view content) {
    return isJsonObject(content) && (holds(content, "\"peft_type\"") || holds(content, "\"adapter_classes\""));
}

bool isTraining(std::string_view content) {
    constexpr std::size_t metadata = 128;
    return isSafetensors(content) && holds(content.substr(0, metadata), trainingMark);
}

constexpr std::array rows{
    KindRow{FileKind::mask, "", "a mask", true, isMask},
    KindRow{FileKind::session, "", "a session", false, isSessionFile},
    KindRow{FileKind::png, "png", "a PNG picture", true, isPng},
    KindRow{FileKind::svg, "svg", "an SVG picture", true, isSvg},
    KindRow{FileKind::pdf, "pdf", "a PDF document", true, isPdf},
    KindRow{FileKind::csv, "csv", "a CSV table", true, isCsv},
    KindRow{FileKind::figureJson, "json", "a figure's numbers", true, isFigureJson},
    KindRow{FileKind::markdown, "md", "a table that Secateur wrote in Markdown", true, isMarkdownTable},
    KindRow{FileKind::latex, "tex", "a table that Secateur wrote in LaTeX", true, isLatexTable},
    KindRow{FileKind::html, "html", "a table that Secateur wrote in HTML", true, isHtmlTable},
    KindRow{FileKind::caption, "", "the caption of a figure", true, isCaption},
    KindRow{FileKind::gguf, "", "a GGUF file", false, isGguf},
    KindRow{FileKind::exportCard, "", "the card of an export", false, isExportCard},
    KindRow{FileKind::compensation, "", "the compensation of a mask", false, isCompensation},
    KindRow{FileKind::adapter, "", "an adapter", false, isAdapter},
    KindRow{FileKind::adapterConfig, "", "the configuration of an adapter", false, isAdapterConfig},
    KindRow{FileKind::training, "", "a training run", false, isTraining},
    KindRow{FileKind::report, "", "a report that Secateur wrote in HTML", true, isReport},
};

const KindRow& rowOf(FileKind kind) {
    return *std::ranges::find(rows, kind, &KindRow::kind);
}

std::string lowerCase(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
    return lower;
}

/// Files of checkpoints that have no weights in them: configuration and tokenizer.
constexpr std::array<std::string_view, 15> companionNames{"config.json",
                                                          "generation_config.json",
                                                          "tokenizer.json",
                                                          "tokenizer_config.json",
                                                          "tokenizer.model",
                                                          "spiece.model",
                                                          "special_tokens_map.json",
                                                          "added_tokens.json",
                                                          "preprocessor_config.json",
                                                          "chat_template.json",
                                                          "chat_template.jinja",
                                                          "vocab.json",
                                                          "vocab.txt",
                                                          "merges.txt",
                                                          "sentencepiece.bpe.model"};

constexpr std::array<std::string_view, 12> weightFileEndings{".safetensors", ".gguf", ".ggml",    ".bin",
                                                             ".pt",          ".pth",  ".ckpt",    ".onnx",
                                                             ".ot",          ".npz",  ".msgpack", ".index.json"};

/// PyTorch's archives, and pickles of protocol 2 to 5.
bool isPyTorch(std::string_view content) {
    const bool isPickle = content.size() > 1 && content[0] == '\x80' && content[1] >= 2 && content[1] <= 5;
    return isPickle || content.starts_with("PK\x03\x04");
}

bool isModelFile(std::string_view path, std::string_view content) {
    const std::string name = lowerCase(path.substr(path.find_last_of('/') + 1)); // npos + 1 = 0
    return std::ranges::find(companionNames, name) != companionNames.end() ||
           std::ranges::any_of(weightFileEndings, [&](std::string_view ending) { return name.ends_with(ending); }) ||
           isGguf(content) || isSafetensors(content) || isPyTorch(content);
}

} // namespace

FileKind reportFileKind(std::string_view extension) {
    if (extension != "html" && extension != "pdf")
        throw UsageError("reports are written as .html or .pdf", std::string(extension));
    return extension == "pdf" ? FileKind::pdf : FileKind::report;
}

FileKind figureFileKind(std::string_view extension) {
    const auto row = std::ranges::find(rows, extension, &KindRow::extension);
    if (extension.empty() || row == rows.end())
        throw Error("figures are written as .png, .svg, .pdf, .csv or .json, tables also as .md, .tex or .html",
                    std::string(extension));
    return row->kind;
}

void checkReplaceable(const std::string& name, std::string_view content, FileKind by, bool force) {
    const KindRow& wanted = rowOf(by);
    if (content.empty() || wanted.matches(content))
        return;
    if (isModelFile(name, content))
        throw Error("is a file of a model, which is never replaced", name, "Choose another name");
    if (!force)
        throw Error("exists and is not " + std::string(wanted.name), name,
                    wanted.canBeForced ? "Choose another name, or remove the file before (on the command line: --force)"
                                       : "Choose another name, or remove the file before");
    if (content.starts_with(hdf5Signature)) // Keras has weights in HDF5
        throw Error("is an HDF5 file, which is replaced only by a session", name, "Choose another name");
}

void refuseDanglingLink(const std::string& name) {
    throw Error("is a link to a file that does not exist", name, "Remove the link, or choose another name");
}

bool isExportCard(std::string_view content) {
    return holds(content, exportCardMark);
}

} // namespace secateur
