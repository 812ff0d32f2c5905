#include "analysis/metrics/metric.h"

#include "analysis/base/known_ids.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/metrics/ablation_parts.h"
#include "analysis/metrics/forward_metrics.h"
#include "analysis/metrics/gradient_metrics.h"
#include "analysis/metrics/weight_metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <tuple>
#include <utility>

namespace secateur {

namespace {

constexpr std::array groups{Needs::weights, Needs::forward, Needs::gradient, Needs::ablation};

std::vector<const MetricInfo*> gatherMetrics() {
    std::vector<const MetricInfo*> metrics;
    for (const auto& table : {weightMetrics(), forwardMetrics(), gradientMetrics(), ablationMetrics()})
        for (const MetricInfo& metric : table)
            metrics.push_back(&metric);
    return metrics;
}

/// The metrics of a group; nothing if `text` is not the name of a group.
std::optional<std::vector<MetricRequest>> group(std::string_view text, MetricTable table) {
    const auto named = std::find_if(groups.begin(), groups.end(), [&](Needs needs) { return name(needs) == text; });
    if (text != "all" && named == groups.end())
        return {};
    std::vector<MetricRequest> requests;
    for (const MetricInfo* info : table)
        if (text == "all" ? !info->isSlow : info->needs == *named && (!info->isSlow || *named == Needs::ablation))
            requests.push_back({info, {}});
    return requests;
}

MetricRequest single(std::string_view text, MetricTable table) {
    ParsedRequest parsed = parseRequest(text);
    const MetricInfo* info = findMetric(parsed.id, table);
    if (!info) {
        std::vector<std::string_view> known = idsOf(table);
        known.insert(known.end(), {"weights", "forward", "gradient", "ablation", "all"});
        refuseUnknown("metric", parsed.id, known);
    }
    validateOptions(parsed, info->options);
    MetricRequest request{describedBy(info, parsed.options), std::move(parsed.options)};
    checkOptions(request);
    return request;
}

std::string optionCell(std::span<const OptionInfo> options) {
    std::vector<std::string> cells;
    for (const OptionInfo& option : options)
        cells.push_back(fmt::format("`{}={}`", option.name, option.defaultValue));
    return join(cells, ", ");
}

std::vector<std::size_t> indicesOf(const std::vector<bool>& flags, bool any) {
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; any && i < flags.size(); ++i)
        if (flags[i])
            indices.push_back(i);
    return indices;
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

MetricTable allMetrics() {
    static const std::vector<const MetricInfo*> metrics = gatherMetrics();
    return metrics;
}

const MetricInfo* findMetric(std::string_view id, MetricTable table) {
    const auto found = std::ranges::find(table, id, [](const MetricInfo* metric) { return metric->id; });
    return found == table.end() ? nullptr : *found;
}

std::optional<CutUnit> unitOfColumns(Scope scope) {
    switch (scope) {
    case Scope::head:
        return CutUnit::head;
    case Scope::kvGroup:
        return CutUnit::kvGroup;
    case Scope::neuron:
        return CutUnit::neuron;
    case Scope::layer:
        break;
    }
    return {};
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

int MetricRequest::whole(std::string_view name) const {
    const std::string text = option(name);
    int value = 0;
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || last != text.data() + text.size())
        throw UsageError(fmt::format("{}={} is out of range", name, text), std::string(info->id));
    return value;
}

const MetricInfo* describedBy(const MetricInfo* info, const std::map<std::string, std::string>& options) {
    const auto* ablation = info ? std::get_if<AblationMetric>(&info->computation) : nullptr;
    const auto of = options.find("of");
    return ablation && ablation->ofAccuracy && of != options.end() && of->second == "accuracy" ? ablation->ofAccuracy
                                                                                               : info;
}

void checkOptions(const MetricRequest& request) {
    if (request.info->check)
        request.info->check(request);
}

std::string fileForm(std::string_view resultId) {
    std::string text(resultId);
    for (char& c : text)
        c = c == ':' ? '.' : c == '=' ? '-' : c == '/' ? '_' : c;
    return text;
}

std::vector<MetricRequest> parseMetricRequests(std::string_view text, MetricTable table) {
    std::vector<MetricRequest> requests;
    const auto addOnce = [&](MetricRequest request) {
        const std::string id = request.resultId();
        if (std::none_of(requests.begin(), requests.end(), [&](const MetricRequest& r) { return r.resultId() == id; }))
            requests.push_back(std::move(request));
    };
    for (const std::string& part : split(text, ',')) {
        auto members = group(part, table);
        if (!members)
            members.emplace({single(part, table)});
        std::for_each(members->begin(), members->end(), addOnce);
    }
    return requests;
}

std::string markdownTable(MetricTable table) {
    std::string text = "| id | title | scope | direction | needs | options |\n| --- | --- | --- | --- | --- | --- |\n";
    for (const MetricInfo* row : table) {
        const std::string options = optionCell(row->options);
        text += fmt::format("| `{}` | {} | {} | {} | {} |{} |\n", row->id, row->title, name(row->scope),
                            name(row->pruneFirst), name(row->needs), options.empty() ? "" : " " + options);
    }
    return text;
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

KeptUnits::KeptUnits(const LayerSpec& spec, const LayerMask& mask)
    : heads(indicesOf(mask.heads,
                      mask.block && mask.attention == AttentionCut::keep && spec.attention == AttentionKind::full))
    , neurons(indicesOf(mask.neurons, mask.block && mask.mlp))
    , block(mask.block) {}

} // namespace secateur
