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
/// "gate-norm per head, fold_norm": the title and the options that are not as usual.
QString metricTitle(const MetricRequest& request);
/// Names of the classes that a metric's values are; none where they are numbers.
QStringList classNames(const MetricInfo& metric);
/// "agreement 0.93", "sink 0.71" and so on: what else is known of a cell. How sure it is comes first.
QStringList featuresOf(const MetricResult& result, std::size_t row, std::size_t column,
                       std::string (*format)(double value));
/// For a tooltip: what it is, its formula, its id.
QString metricHelp(const MetricRequest& request);

/// A result that a document has or could measure.
struct KnownResult {
    MetricRequest request;
    QString key;   ///< result_key.h
    QString title; ///< with what sets it apart, and that it is missing or of another mask
};

/// The metric table with default options, and what else the document has or computes, each measurement of it; in the
/// table's order, the latest measurements first.
std::vector<KnownResult> knownResults(const Document& document);
QString resultTitle(const Document& document, const MetricRequest& request, const std::string& key);

} // namespace secateur
