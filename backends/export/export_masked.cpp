#include "backends/export/export_writers.h"

#include "analysis/export/bias_room.h"
#include "backends/export/compact_config.h"
#include "backends/export/compact_source.h"
#include "backends/export/companion_files.h"
#include "backends/export/export_files.h"
#include "backends/export/masked_files.h"

#include <algorithm>
#include <filesystem>

namespace secateur {

namespace fs = std::filesystem;

namespace {

/// A config.json that states the biases which the compensation adds; nothing if it adds none.
std::map<std::string, std::string> changedConfig(const ModelSpec& source, const ModelSpec& exported,
                                                 const std::string& folder) {
    const auto adds = [&](bool LayerSpec::* bias) {
        return std::ranges::any_of(exported.layers, bias) && !std::ranges::any_of(source.layers, bias);
    };
    const bool attention = adds(&LayerSpec::outputBias);
    const bool mlp = adds(&LayerSpec::downBias);
    if (!attention && !mlp)
        return {};
    return {{"config.json", configWithBiases(companionContent(folder, "config.json"), attention, mlp)}};
}

} // namespace

std::unique_ptr<const PreparedExport> prepareMasked(const ExportTarget& target, const Model& source,
                                                    const ExportRequest& request) {
    const ModelCard& card = source.card();
    const ExportLayout layout = target.writer->layoutOf(source.spec(), request.record.mask, card.format);
    const auto files = std::make_shared<MaskedFiles>(source, layout.spec, request.record.mask);
    const fs::path opened(card.path);
    const bool isFolder = fs::is_directory(opened);
    ExportPlan plan{.weights = files,
                    .isOneGguf = files->isOneGguf(),
                    .copiesCompanions = !files->isGguf(),
                    .verified = isFolder ? "" : opened.filename().string(),
                    .warnings = files->warnings(),
                    .tolerance = files->isRounded() ? roundedTolerance : exportTolerance};
    if (!files->isGguf())
        plan.written = changedConfig(source.spec(), layout.spec, modelFolder(card.path));
    return preparedExport(target, source, layout, request, std::move(plan));
}

ExportLayout maskedLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format) {
    return {"native", withCompensationBiases(source, mask, format)};
}

} // namespace secateur
