#include "widgets/metric_names.h"

#include "widgets/document.h"

#include <algorithm>

namespace secateur {

QString toQString(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QString metricTitle(const MetricRequest& request) {
    QString title = toQString(request.info->title);
    for (const auto& [name, value] : request.options)
        title += ", " + toQString(name) + (value == "true" ? QString() : '=' + toQString(value));
    return title;
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
    return toQString(request.info->summary) + '\n' + toQString(request.info->formula) + '\n' +
           toQString(request.resultId());
}

std::vector<MetricRequest> knownRequests(const Document& document) {
    const std::vector<std::string> measured = document.resultIds();
    std::vector<MetricRequest> requests;
    for (const MetricInfo* info : allMetrics()) {
        requests.push_back({info, {}});
        for (const std::string& id : measured)
            for (MetricRequest& request : parseMetricRequests(id))
                if (request.info == info && !request.options.empty())
                    requests.push_back(std::move(request));
    }
    return requests;
}

} // namespace secateur
