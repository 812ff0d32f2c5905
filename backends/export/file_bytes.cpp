#include "backends/export/file_bytes.h"

#include <algorithm>
#include <string>

namespace secateur {

namespace {

/// The layout of a request, and the value of `export --as` that has it.
const ExportTarget& layoutFor(const Model& model, const StrategyRequest& strategy) {
    const bool isGguf = model.card().format == "gguf";
    std::string layout = strategy.option("for");
    if (layout.empty() || layout == "none")
        layout = isGguf ? "deci" : "per_layer";
    const bool isOfGguf = layout == "deci" || layout == "openelm" || (layout == "native" && isGguf);
    return chosenTarget(exportTargets(), isOfGguf ? "gguf" : "structural", layout, PruningMask(model.spec()),
                        model.spec(), model.card().format);
}

} // namespace

std::function<double(const PruningMask&)> fileBytesOf(const Model& model, const StrategyRequest& strategy) {
    return [&model, strategy](const PruningMask& mask) {
        ExportRequest request;
        request.record.mask = mask;
        return static_cast<double>(exportSize(model, layoutFor(model, strategy), request).fileBytes);
    };
}

} // namespace secateur
