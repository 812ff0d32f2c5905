#include "widgets/results/metric_names.h"

#include "analysis/metrics/request_title.h"
#include "analysis/metrics/usual_request.h"
#include "widgets/document/document.h"
#include "widgets/document/measurements.h"
#include "widgets/language/shown_texts.h"

#include <QCoreApplication>

#include <algorithm>

namespace secateur {

QString toQString(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QString metricTitle(const MetricRequest& request) {
    const qsizetype titleSize = toQString(request.info->title).size();
    return rowText(request.info->title) + QString::fromStdString(titleOf(request)).mid(titleSize); // with its options
}

QStringList classNames(const MetricInfo& metric) {
    QStringList names;
    for (const std::string_view name : metric.classes)
        names << toQString(name);
    return names;
}

QStringList featuresOf(const MetricResult& result, std::size_t row, std::size_t column,
                       std::string (*format)(double value)) {
    QStringList texts;
    for (const MetricFeature& feature : result.features) {
        if (row >= feature.values.rows() || column >= feature.values.columns())
            continue;
        const QString text = QString::fromStdString(feature.name + ' ' + format(feature.values(row, column)));
        if (feature.name == "agreement")
            texts.prepend(text);
        else
            texts << text;
    }
    return texts;
}

QString metricHelp(const MetricRequest& request) {
    return rowText(request.info->summary) + '\n' + toQString(request.info->formula) + '\n' +
           toQString(request.resultId());
}

std::vector<KnownResult> knownResults(const Document& document) {
    const std::vector<MetricRequest> measured = document.measurements()->requests();
    std::vector<MetricRequest> requests;
    for (const MetricInfo* info : allMetrics()) {
        requests.push_back(usualRequest(*info, document.spec()));
        const std::map<std::string, std::string> usual = requests.back().options;
        if (!usual.empty())
            requests.push_back({info, {}});
        for (const MetricRequest& request : measured)
            if (request.info->id == info->id && !request.options.empty() && request.options != usual)
                requests.push_back(request);
    }
    for (const MetricRequest& request : measured)
        if (!findMetric(request.info->id))
            requests.push_back(request);
    std::vector<KnownResult> known;
    for (const MetricRequest& request : requests) {
        const std::string id = request.resultId();
        std::vector<std::string> keys = document.measurements()->otherKeys(id);
        keys.insert(keys.begin(), id);
        for (const std::string& key : keys)
            known.push_back({request, QString::fromStdString(key), resultTitle(document, request, key)});
    }
    return known;
}

QString resultTitle(const Document& document, const MetricRequest& request, const std::string& key) {
    QString title = metricTitle(request);
    const MetricState state = document.measurements()->state(key);
    if (state == MetricState::notComputed)
        return QCoreApplication::translate("MetricNames", "%1 (not measured)").arg(title);
    const MetricResult* result = document.measurements()->result(key);
    if (!result)
        return title;
    if (const std::string label = document.measurements()->label(key); !label.empty())
        title += QStringLiteral(" · ") + QString::fromStdString(label);
    return state == MetricState::stale ? QCoreApplication::translate("MetricNames", "%1 (other mask)").arg(title)
                                       : title;
}

} // namespace secateur
