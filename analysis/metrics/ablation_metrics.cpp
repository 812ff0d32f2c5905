#include "analysis/metrics/ablation_metrics.h"

#include "analysis/metrics/gradient_metrics.h"
#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace secateur {

namespace {

constexpr std::array options{
    OptionInfo{"of", "text", "loss",
               "what is compared: loss, or accuracy = right answers to a task, by the verb `ablate` alone"},
    OptionInfo{
        "screen", "integer", "0",
        "exact only where a prediction from gradients leaves in doubt whether a part is among so many lowest; 0 = "
        "exact everywhere"},
    OptionInfo{
        "exact", "integer", "10",
        "of a screened ranking: per cent of the cost of all exact values that may be spent on the most doubtful; "
        "100 = until none is in doubt"}};

constexpr std::string_view source = "exact; as Michel et al. and BOS-sink remove single heads";

// Slow: as many evaluations as there are parts.
MetricInfo row(std::string_view id, std::string_view title, std::string_view summary, std::string_view formula,
               Scope scope) {
    return {id,    title,           summary,         formula, "nats/token", source,
            scope, Needs::ablation, PruneFirst::low, options, {},           true};
}

constexpr std::string_view lossFormula = "L(M ∖ u) − L(M)";

const std::array ablationTable{
    AblationMetric{row("ablation_head", "loss without the head", "How much the loss rises when a head alone is removed",
                       lossFormula, Scope::head),
                   AblatedPart::head},
    AblationMetric{row("ablation_attention", "loss without the attention",
                       "How much the loss rises when a layer's attention alone is removed", lossFormula, Scope::layer),
                   AblatedPart::attention},
    AblationMetric{row("ablation_mlp", "loss without the MLP",
                       "How much the loss rises when a layer's MLP alone is removed", lossFormula, Scope::layer),
                   AblatedPart::mlp},
    AblationMetric{row("ablation_block", "loss without the block",
                       "How much the loss rises when a layer alone is removed", lossFormula, Scope::layer),
                   AblatedPart::block},
};

MetricInfo ofAccuracy(const MetricInfo& loss, std::string_view title, std::string_view summary) {
    MetricInfo info = loss;
    info.title = title;
    info.summary = summary;
    info.formula = "acc(M) − acc(M ∖ u)";
    info.unit = {};
    return info;
}

const std::array accuracyTable{
    ofAccuracy(ablationTable[0].info, "accuracy lost without the head",
               "Which share of a task's answers is no longer right when a head alone is removed"),
    ofAccuracy(ablationTable[1].info, "accuracy lost without the attention",
               "Which share of a task's answers is no longer right when a layer's attention alone is removed"),
    ofAccuracy(ablationTable[2].info, "accuracy lost without the MLP",
               "Which share of a task's answers is no longer right when a layer's MLP alone is removed"),
    ofAccuracy(ablationTable[3].info, "accuracy lost without the block",
               "Which share of a task's answers is no longer right when a layer alone is removed"),
};

std::ptrdiff_t placeOf(std::string_view id) {
    return std::ranges::find(ablationTable, id, [](const AblationMetric& metric) { return metric.info.id; }) - ablationTable.begin();
}

} // namespace

std::span<const AblationMetric> ablationMetrics() {
    return ablationTable;
}

AblatedPart ablatedPart(const MetricRequest& request) {
    return ablationTable.at(static_cast<std::size_t>(placeOf(request.info->id))).part;
}

bool isOfAccuracy(const MetricRequest& request) {
    return request.option("of") == "accuracy";
}

bool isScreened(const MetricRequest& request) {
    return request.option("screen") != "0";
}

double exactShare(const MetricRequest& request) {
    return isScreened(request) ? wholeOption(request, "exact") / 100.0 : 1;
}

const MetricInfo* describedBy(const MetricInfo* info, const std::map<std::string, std::string>& options) {
    const auto of = options.find("of");
    if (!info || info->needs != Needs::ablation || of == options.end() || of->second != "accuracy")
        return info;
    return &accuracyTable.at(static_cast<std::size_t>(placeOf(info->id)));
}

void checkAblationOptions(const MetricRequest& request) {
    const std::string of = request.option("of");
    if (of != "loss" && of != "accuracy")
        throw UsageError(fmt::format("of={} is none of loss, accuracy", of), std::string(request.info->id));
    const int lowest = wholeOption(request, "screen");
    if (lowest < 0)
        throw UsageError(fmt::format("screen={} should be 0 or more", lowest), std::string(request.info->id));
    if (const int exact = wholeOption(request, "exact"); exact < 1 || exact > 100)
        throw UsageError(fmt::format("exact={} should be from 1 to 100", exact), std::string(request.info->id));
    if (lowest > 0 && of == "accuracy")
        throw UsageError("the fall of an accuracy is not predicted: screen goes with the loss",
                         std::string(request.info->id));
}

} // namespace secateur
