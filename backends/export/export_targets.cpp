#include "backends/export/export_targets.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "backends/export/export_masked.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace secateur {

namespace {

constexpr std::array targets{
    ExportTarget{.id = "masked",
                 .name = "masked",
                 .summary = "the source's files with cut weights set to 0",
                 .opensIn = "all programs that open the source",
                 .reasons = maskedReasons,
                 .writer = ExportWriter{writeMasked, maskedLayout}},
    ExportTarget{.id = "gguf",
                 .name = "compact GGUF",
                 .summary = "a GGUF with counts per layer",
                 .opensIn = "llama.cpp",
                 .reasons = compactGgufReasons},
    ExportTarget{.id = "native",
                 .name = "the model's own architecture",
                 .summary = "smaller tensors in the model's own architecture",
                 .opensIn = "transformers, vLLM, llama.cpp",
                 .reasons = nativeReasons},
    ExportTarget{.id = "decilm",
                 .name = "DeciLM",
                 .summary = "a DeciLM checkpoint",
                 .opensIn = "transformers with trust_remote_code, vLLM",
                 .reasons = deciLmReasons},
    ExportTarget{.id = "remote_code",
                 .name = "own code",
                 .summary = "a Hugging Face checkpoint with Python code of its own",
                 .opensIn = "transformers with trust_remote_code",
                 .reasons = remoteCodeReasons},
    ExportTarget{.id = "padded",
                 .name = "padded",
                 .summary = "layers padded with zeros to the widest one",
                 .opensIn = "all programs that open the source",
                 .reasons = paddedReasons},
};

} // namespace

std::span<const ExportTarget> exportTargets() {
    return targets;
}

const ExportTarget& exportTarget(std::string_view id, std::span<const ExportTarget> table) {
    const auto found = std::ranges::find(table, id, &ExportTarget::id);
    if (found != table.end())
        return *found;
    std::vector<std::string> known;
    for (const ExportTarget& target : table)
        known.emplace_back(target.id);
    throw UsageError(fmt::format("unknown target; the known ones are {}", join(known, ", ")), std::string(id));
}

ExportResult exportModel(const Model& source, const ExportTarget& target, const ExportRequest& request,
                         const Progress& progress, std::span<const ExportTarget> table) {
    checkExport(target, table, request.record.mask, source.spec(), source.card().format);
    try {
        return target.writer->write(target, source, request, progress);
    } catch (const std::filesystem::filesystem_error& error) {
        throw Error(error.code().message(), error.path1().empty() ? request.path : error.path1().string());
    }
}

} // namespace secateur
