#include "analysis/metrics/usual_request.h"

namespace secateur {

namespace {

/// Whether a metric's row warns about a request. Only metrics from weights do so before they are measured.
bool needsWarning(const MetricRequest& request, const ModelSpec& spec) {
    const auto* metric = std::get_if<WeightMetric>(&request.info->computation);
    return metric && metric->notes && !metric->notes(spec, request).empty();
}

} // namespace

MetricRequest usualRequest(const MetricInfo& info, const ModelSpec& spec) {
    const MetricRequest plain{&info, {}};
    if (!needsWarning(plain, spec))
        return plain;
    for (const OptionInfo& option : info.options)
        if (const MetricRequest other{&info, {{std::string(option.name), "true"}}};
            option.type == "bool" && !needsWarning(other, spec))
            return other;
    return plain;
}

std::vector<MetricRequest> openingRequests(const ModelSpec& spec) {
    std::vector<MetricRequest> requests;
    for (const MetricInfo* info : allMetrics())
        if (info->needs == Needs::weights && !info->isSlow)
            if (MetricRequest usual = usualRequest(*info, spec); !needsWarning(usual, spec))
                requests.push_back(std::move(usual));
    return requests;
}

} // namespace secateur
