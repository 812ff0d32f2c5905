#pragma once

#include "analysis/metric.h"

#include <QString>

#include <string_view>
#include <vector>

namespace secateur {

class Document;

QString toQString(std::string_view text);
/// "gate-norm per head, fold_norm": the title and the options that are not as usual.
QString metricTitle(const MetricRequest& request);
/// For a tooltip: what it is, its formula, its id.
QString metricHelp(const MetricRequest& request);
/// The metric table with default options, and what else the document has or computes; in the table's order.
std::vector<MetricRequest> knownRequests(const Document& document);

} // namespace secateur
