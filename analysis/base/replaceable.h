#pragma once

#include <string>
#include <string_view>

namespace secateur {

/// Kinds of files that Secateur writes.
enum class FileKind {
    mask,
    session,
    png,
    svg,
    pdf,
    csv,
    figureJson, ///< `plot --out FILE.json`
    markdown,   ///< a table of a figure; also the next two
    latex,
    html,
    caption,       ///< the caption beside a picture
    gguf,          ///< an export in one file
    exportCard,    ///< the card beside it
    compensation,  ///< the compensation beside a mask
    adapter,       ///< weights of an adapter (adapter_model.safetensors)
    adapterConfig, ///< their configuration (adapter_config.json)
    training,      ///< a training run that can go on (checkpoint.safetensors)
    report,        ///< a report in HTML
};

/// The kind of a figure's file by its lower-case extension without the dot: "png". @throws Error for another one
FileKind figureFileKind(std::string_view extension);

/// The kind of a report's file by its lower-case extension without the dot: "html", "pdf". @throws UsageError for another
/// one
FileKind reportFileKind(std::string_view extension);

/// Checks the rule for replacing files, which holds for every writer: a file is replaced only by one of the same kind,
/// and an empty file by any. With `force` other files are replaced too, except for files of models.
/// @param name of the existing file @param content all its bytes @param by kind of the new file
/// @throws Error if the file is to stay
void checkReplaceable(const std::string& name, std::string_view content, FileKind by, bool force = false);

/// Throws the error for a link whose target does not exist: writing would create a file in an unexpected place.
/// @throws Error always
[[noreturn]] void refuseDanglingLink(const std::string& name);

/// Whether a text is the card of an export (analysis/export/export_card.h).
bool isExportCard(std::string_view content);

/// The text in the header of a mask's compensation by which it is known as such.
inline constexpr std::string_view compensationMark = "secateur_compensation";
/// The words that begin the comment in the second line of a report.
inline constexpr std::string_view reportMark = "Report, written by Secateur";
/// The words that begin the comment in the first line of a table's file.
inline constexpr std::string_view tableMark = "Table, written by Secateur";
/// The words that begin the last line of a caption's file.
inline constexpr std::string_view captionMark = "Drawn by Secateur";
/// Key in the metadata of the file of a training run.
inline constexpr std::string_view trainingMark = "secateur_training";

/// The words in an export's card by which isExportCard() knows it.
inline constexpr std::string_view exportCardMark = "export, written by Secateur ";

} // namespace secateur
