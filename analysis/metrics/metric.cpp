#include "analysis/metrics/metric.h"

#include "analysis/metrics/ablation_metrics.h"
#include "analysis/metrics/forward_metrics.h"
#include "analysis/metrics/gradient_metrics.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/metrics/weight_metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

namespace secateur {

namespace {

constexpr std::array groups{Needs::weights, Needs::forward, Needs::gradient, Needs::ablation};

std::vector<const MetricInfo*> gatherMetrics() {
    std::vector<const MetricInfo*> metrics;
    for (const WeightMetric& metric : weightMetrics())
        metrics.push_back(&metric.info);
    for (const ForwardMetric& metric : forwardMetrics())
        metrics.push_back(&metric.info);
    for (const GradientMetric& metric : gradientMetrics())
        metrics.push_back(&metric.info);
    for (const AblationMetric& metric : ablationMetrics())
        metrics.push_back(&metric.info);
    return metrics;
}

/// The metrics a group's name stands for; nothing when it is no group's name.
std::optional<std::vector<MetricRequest>> group(std::string_view text) {
    const auto named = std::find_if(groups.begin(), groups.end(), [&](Needs needs) { return name(needs) == text; });
    if (text != "all" && named == groups.end())
        return {};
    std::vector<MetricRequest> requests;
    for (const MetricInfo* info : allMetrics())
        if (text == "all" ? !info->isSlow : info->needs == *named && (!info->isSlow || *named == Needs::ablation))
            requests.push_back({info, {}});
    return requests;
}

MetricRequest single(std::string_view text) {
    ParsedRequest parsed = parseRequest(text);
    const MetricInfo* info = findMetric(parsed.id);
    if (!info) {
        std::vector<std::string> known;
        for (const MetricInfo* metric : allMetrics())
            known.emplace_back(metric->id);
        throw UsageError(fmt::format("unknown metric; the known ones are {}, or a group: weights, forward, gradient, "
                                     "ablation, all",
                                     join(known, ", ")),
                         parsed.id);
    }
    validateOptions(parsed, info->options);
    MetricRequest request{describedBy(info, parsed.options), std::move(parsed.options)};
    if (info->needs == Needs::forward)
        checkForwardOptions(request);
    if (info->needs == Needs::gradient)
        checkGradientOptions(request);
    if (info->needs == Needs::ablation)
        checkAblationOptions(request);
    return request;
}

} // namespace

std::string_view name(Scope scope) {
    switch (scope) {
    case Scope::layer:
        return "layer";
    case Scope::head:
        return "head";
    case Scope::kvGroup:
        return "kv_group";
    case Scope::neuron:
        return "neuron";
    }
    return "";
}

std::string_view name(Needs needs) {
    switch (needs) {
    case Needs::weights:
        return "weights";
    case Needs::forward:
        return "forward";
    case Needs::gradient:
        return "gradient";
    case Needs::ablation:
        return "ablation";
    }
    return "";
}

std::string_view name(PruneFirst end) {
    switch (end) {
    case PruneFirst::low:
        return "low";
    case PruneFirst::high:
        return "high";
    case PruneFirst::neither:
        return "neither";
    }
    return "";
}

std::span<const MetricInfo* const> allMetrics() {
    static const std::vector<const MetricInfo*> metrics = gatherMetrics();
    return metrics;
}

const MetricInfo* findMetric(std::string_view id) {
    const auto metrics = allMetrics();
    const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const MetricInfo* m) { return m->id == id; });
    return found == metrics.end() ? nullptr : *found;
}

std::string MetricRequest::resultId() const {
    std::string id(info->id);
    for (const auto& [option, value] : options)
        id += fmt::format(":{}={}", option, value);
    return id;
}

std::string MetricRequest::option(std::string_view name) const {
    return optionValue(options, info->options, name);
}

bool MetricRequest::flag(std::string_view name) const {
    return option(name) == "true";
}

std::string fileForm(std::string_view resultId) {
    std::string text(resultId);
    for (char& c : text)
        c = c == ':' ? '.' : c == '=' ? '-' : c == '/' ? '_' : c;
    return text;
}

std::vector<MetricRequest> parseMetricRequests(std::string_view text) {
    std::vector<MetricRequest> requests;
    const auto addOnce = [&](MetricRequest request) {
        const std::string id = request.resultId();
        if (std::none_of(requests.begin(), requests.end(), [&](const MetricRequest& r) { return r.resultId() == id; }))
            requests.push_back(std::move(request));
    };
    for (const std::string& part : split(text, ',')) {
        auto members = group(part);
        if (!members)
            members.emplace({single(part)});
        std::for_each(members->begin(), members->end(), addOnce);
    }
    return requests;
}

bool MetricResult::isLessThan(const MetricResult& other) const {
    const auto seen = [](const MetricResult& result) {
        const auto isValue = [](double value) { return !std::isnan(value); };
        return std::tuple(result.isWhole, result.data ? result.data->tokens : 0,
                          std::ranges::count_if(result.values.values(), isValue));
    };
    return seen(*this) < seen(other);
}

double MetricResult::errorAt(std::size_t row, std::size_t column) const {
    const double error = standardError ? (*standardError)(row, column) : 0;
    return error > 0 ? error : 0;
}

std::size_t columnsFor(Scope scope, const ModelSpec& spec) {
    std::size_t columns = 0;
    for (const LayerSpec& layer : spec.layers)
        columns = std::max(columns, cellsInLayer(scope, layer));
    return columns;
}

std::size_t cellsInLayer(Scope scope, const LayerSpec& layer) {
    switch (scope) {
    case Scope::layer:
        return 1;
    case Scope::head:
        return static_cast<std::size_t>(layer.heads);
    case Scope::kvGroup:
        return static_cast<std::size_t>(layer.kvHeads);
    case Scope::neuron:
        return static_cast<std::size_t>(layer.ffn);
    }
    return 0;
}

} // namespace secateur
