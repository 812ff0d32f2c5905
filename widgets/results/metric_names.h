#pragma once

#include "analysis/metrics/metric.h"

#include <QString>
#include <QStringList>

#include <string>
#include <string_view>
#include <vector>

namespace secateur {

class Document;

QString toQString(std::string_view text);
/// The title of a metric with its non-default options: "gate-norm per head, fold_norm".
QString metricTitle(const MetricRequest& request);
/// Names of the classes if a metric's values stand for classes; otherwise empty.
QStringList classNames(const MetricInfo& metric);
/// Texts of the features of a cell's class: "agreement 0.93" first, then "sink 0.71" and so on.
QStringList featuresOf(const MetricResult& result, std::size_t row, std::size_t column,
                       std::string (*format)(double value));
/// Text for a tooltip: the metric's summary, formula and id.
QString metricHelp(const MetricRequest& request);

/// A result that a document has, or that it could measure.
struct KnownResult {
    MetricRequest request;
    QString key;   ///< in the form that parseResultKey() reads
    QString title; ///< title with the label; says so if the result is not measured or stale
};

/// All metrics, and all measurements that the document has or computes; in the order of the metric table, of each
/// metric first the usual request (usual_request.h), then default options, then others, the latest measurements first.
/// Metrics of the session that this version does not know come last.
std::vector<KnownResult> knownResults(const Document& document);
QString resultTitle(const Document& document, const MetricRequest& request, const std::string& key);

} // namespace secateur
