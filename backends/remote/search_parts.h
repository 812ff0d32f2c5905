#pragma once

#include "analysis/base/wire.h"
#include "analysis/export/export_target.h"
#include "analysis/metrics/metric_wire.h"
#include "analysis/strategies/prune.h"
#include "analysis/strategies/strategy_wire.h"

#include <memory>
#include <string>
#include <vector>

namespace secateur {

/// Adapters stay where they are.
template <>
struct Wire<std::shared_ptr<const Adapter>> {
    static void write(WireWriter& /*writer*/, const std::shared_ptr<const Adapter>& /*adapter*/) {}
    static std::shared_ptr<const Adapter> read(WireReader& /*reader*/) { return nullptr; }
};

/// LayerCells as a value.
struct CellsPart {
    std::size_t request = 0;
    int layer = 0;
    std::vector<double> values;
    std::vector<double> standardErrors;
};

/// News of a strategy that reports its steps.
struct PrunePart {
    std::optional<PruneStep> step;
    std::vector<StepPrice> prices;
};

/// An export on the server.
struct FarExport {
    std::string target; ///< ExportTarget::id
    ExportRequest request;
};

} // namespace secateur
