#include "analysis/gallery/recipe_commands.h"

#include "analysis/base/text.h"
#include "analysis/gallery/recipe_parts.h"
#include "analysis/metrics/metric.h"
#include "analysis/strategies/cut_order.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace secateur {

namespace {

/// More bytes than a token of a text has, for deciding whether a text was read to its end.
constexpr double mostBytesOfToken = 8;

/// Whether the session holds a complete result of a metric that was measured on this text, and on as much of it as the
/// step reads. A shorter text counts if it was read to its end, as far as RecipeChoice::bytes tells.
bool holdsResult(const Session& session, const RecipeChoice& choice, const MetricRequest& request,
                 const StepText& text) {
    const std::string id = request.resultId();
    return std::ranges::any_of(session.results, [&](const MetricResult& result) {
        if (result.request.resultId() != id || !result.isWhole || result.measurement.maskDigest != "dense")
            return false;
        if (!result.data)
            return request.info->needs == Needs::weights;
        if (result.data->source != sourceOf(choice, text.name) || result.data->isPart())
            return false;
        const auto bytes = bytesOf(choice, text.name);
        const double whole = bytes ? static_cast<double>(*bytes) / mostBytesOfToken : tokensOfText;
        const double needed = std::min(static_cast<double>(text.tokens - text.length), whole);
        return static_cast<double>(result.data->allTokens) >= needed;
    });
}

/// The units of `ablate`, and the metric that measures them.
struct AblatedUnits {
    std::string_view name;   ///< of --units
    std::string_view metric; ///< result id of the losses
    CutUnit unit;
};
constexpr std::array ablatedUnits{AblatedUnits{"heads", "ablation_head", CutUnit::head},
                                  AblatedUnits{"attention", "ablation_attention", CutUnit::attention},
                                  AblatedUnits{"mlps", "ablation_mlp", CutUnit::mlp},
                                  AblatedUnits{"blocks", "ablation_block", CutUnit::block}};

/// Whether the session holds a complete ablation of the dense model. @param source of the text; empty = any
bool holdsAblation(const Session& session, const std::string& id, const std::string& source) {
    return std::ranges::any_of(session.results, [&](const MetricResult& result) {
        return result.request.resultId() == id && result.isWhole && result.measurement.maskDigest == "dense" &&
               (source.empty() || (result.data && result.data->source == source));
    });
}

/// Whether the session holds the times of a pass of the dense model over so many tokens.
bool holdsPass(const Session& session, int tokens, bool bySublayer) {
    return std::ranges::any_of(session.evaluations, [&](const Evaluation& evaluation) {
        return evaluation.isOf("dense") && std::ranges::any_of(evaluation.prefills, [&](const Prefill& prefill) {
                   return prefill.tokens == tokens && (!bySublayer || prefill.run.bySublayer);
               });
    });
}

/// Whether the session holds the times of generation by the dense model.
bool holdsGeneration(const Session& session, int newTokens) {
    return std::ranges::any_of(session.evaluations, [&](const Evaluation& evaluation) {
        return evaluation.isOf("dense") && evaluation.latency && evaluation.latency->rules.newTokens == newTokens;
    });
}

} // namespace

RecipeStep measureStep(const RecipeChoice& choice, const Session& session, const MeasureStepChoice& choices) {
    const StepText text = fitting(choices.text, session);
    const std::vector<MetricRequest> all = parseMetricRequests(choices.metrics);
    std::vector<std::string> lacking;
    std::vector<std::string> every;
    bool runs = false;
    for (const MetricRequest& request : all) {
        every.push_back(request.resultId());
        runs |= request.info->needs != Needs::weights;
        if (!holdsResult(session, choice, request, text))
            lacking.push_back(every.back());
    }
    RecipeStep step = newStep(choice, choices.id, choices.summary, "measure", runs ? text.tokens : 0);
    step.isDone = lacking.empty();
    addOption(step.arguments, "--metric", join(lacking.empty() ? every : lacking, ","));
    if (runs && !addText(step, choice, text))
        step.reason = fmt::format("there is no file {}", text.name);
    addSession(step, choice);
    step.tokens = runs ? choices.passes * expectedTokens(choice, text.name, text.tokens) : 0;
    return step;
}

RecipeStep ablateStep(const RecipeChoice& choice, const Session& session, const AblateChoice& choices) {
    const StepText text = fitting(choices.text, session);
    const bool byTask = choices.task && !fileOf(choice, choices.task->name).empty();
    RecipeStep step = newStep(choice, choices.id, choices.summary, "ablate", byTask ? 0 : text.tokens);
    addOption(step.arguments, "--units", std::string(choices.units));
    double tokens = 0; // of one pass
    if (byTask) {
        const std::vector<StepTask> tasks = addTasks(step, choice, {{*choices.task}}, choices.limit);
        tokens = tokensOfTasks(tasks, choices.limit);
    } else {
        if (choices.task)
            addMissing(step, choices.task->name);
        addText(step, choice, text);
        tokens = expectedTokens(choice, text.name, text.tokens);
    }
    addSession(step, choice);
    step.isDone = true;
    std::size_t units = 0;
    const std::vector<std::string> wanted = split(choices.units, ',');
    for (const AblatedUnits& one : ablatedUnits) {
        if (std::ranges::find(wanted, one.name) == wanted.end())
            continue;
        units += unitCount(session.model.spec, one.unit);
        const std::string id = std::string(one.metric) + (byTask ? ":of=accuracy" : "");
        step.isDone = step.isDone && holdsAblation(session, id, byTask ? std::string() : sourceOf(choice, text.name));
    }
    constexpr double runLayers = 0.6; // mean share of the layers that run again: those below the unit are shared
    step.tokens = runLayers * static_cast<double>(units) * tokens;
    return step;
}

std::vector<int> lengthsWithin(std::span<const int> lengths, const ModelSpec& spec) {
    std::vector<int> fit;
    std::ranges::copy_if(lengths, std::back_inserter(fit),
                         [&](int length) { return spec.context == 0 || length <= spec.context; });
    return fit.empty() && !lengths.empty() ? std::vector{spec.context} : fit;
}

RecipeStep latencyStep(const RecipeChoice& choice, const Session& session, const LatencyChoice& choices) {
    RecipeStep step = newStep(choice, choices.id, choices.summary, "evaluate");
    step.arguments.emplace_back("--latency");
    addOption(step.arguments, "--new-tokens", std::to_string(choices.newTokens));
    step.isDone = true;
    std::vector<std::string> lengths;
    for (const int length : lengthsWithin(choices.lengths, session.model.spec)) {
        lengths.push_back(std::to_string(length));
        constexpr double passes = 5; // a warm-up and at least three runs
        step.tokens += passes * length * (choices.bySublayer ? 2 : 1);
        step.isDone = step.isDone && holdsPass(session, length, choices.bySublayer);
    }
    if (!lengths.empty())
        addOption(step.arguments, "--lengths", join(lengths, ","));
    if (choices.bySublayer)
        addOption(step.arguments, "--by", "sublayer");
    if (choices.newTokens > 0) {
        const LatencyRules rules;
        step.tokens += (rules.warmup + rules.runs) * (rules.promptTokens + stepCost * choices.newTokens);
        step.isDone = step.isDone && holdsGeneration(session, choices.newTokens);
    }
    addSession(step, choice);
    return step;
}

void addBeforeOut(RecipeStep& step, std::string_view option, std::string value) {
    const auto out = std::ranges::find(step.arguments, "--out");
    step.arguments.insert(out, {std::string(option), std::move(value)});
}

std::string strategyList(std::initializer_list<std::string_view> strategies) {
    return join({strategies.begin(), strategies.end()}, ",");
}

} // namespace secateur
