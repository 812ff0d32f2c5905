#pragma once

#include "analysis/base/wire.h"
#include "analysis/metrics/metric_wire.h"
#include "analysis/strategies/strategy.h"

#include <string>

namespace secateur {

/// A strategy with its options, as its result id.
template <>
struct Wire<StrategyRequest> {
    static void write(WireWriter& writer, const StrategyRequest& request) { writer.put(request.resultId()); }
    static StrategyRequest read(WireReader& reader) { return parseStrategyRequest(reader.get<std::string>()); }
};

} // namespace secateur
