#include "backends/json/curves_json.h"

#include "analysis/strategies/budget.h"
#include "backends/json/json_fields.h"

#include <utility>

namespace secateur {

namespace {

OrderedJson removedFields(const RemovedUnits& removed) {
    return {{"heads", removed.heads},         {"kv_heads", removed.kvHeads}, {"neurons", removed.neurons},
            {"attention", removed.attention}, {"mlp", removed.mlps},         {"blocks", removed.blocks},
            {"bypassed", removed.bypassed}};
}

OrderedJson pointTaskFields(const CurvePoint& point) {
    OrderedJson tasks = OrderedJson::object();
    for (const PointMetric& metric : point.tasks) {
        OrderedJson& own = tasks[metric.task]["metrics"][metric.id];
        own = {{"value", finiteOrNull(metric.value)}, {"standard_error", finiteOrNull(metric.standardError)}};
        tasks[metric.task]["delta"][metric.id] = {{"value", finiteOrNull(metric.delta)},
                                                  {"standard_error", finiteOrNull(metric.deltaStandardError)}};
    }
    return tasks;
}

OrderedJson curveMaskFields(const Session& session, const std::string& digest) {
    if (digest.empty() || digest == "dense")
        return {};
    const SessionMask* mask = session.mask(digest);
    return {{"name", mask ? OrderedJson(mask->name) : OrderedJson()}, {"digest", digest}};
}

/// What was measured under a mask, and the size of the model under it.
OrderedJson measuredFields(const CurvePoint& point) {
    const auto ofMask = [&](auto value) { return point.isChosen() ? OrderedJson(value) : OrderedJson(); };
    return {{"loss_nats", finiteOrNull(point.lossNats)},
            {"delta_nats", finiteOrNull(point.deltaNats)},
            {"delta_standard_error", finiteOrNull(point.deltaStandardError)},
            {"perplexity", finiteOrNull(point.perplexity)},
            {"pooled_distance", finiteOrNull(point.pooledDistance)},
            {"pooled_standard_error", finiteOrNull(point.pooledStandardError)},
            {"tasks", pointTaskFields(point)},
            {"tokens_per_second", finiteOrNull(point.tokensPerSecond)},
            {"parameters", ofMask(point.parameters)},
            {"kv_bytes_per_token", ofMask(point.kvBytesPerToken)},
            {"operations_per_token", ofMask(point.operationsPerToken)}};
}

OrderedJson curvePointFields(const Session& session, const CurvePoint& point) {
    const PointKey& key = point.key;
    OrderedJson fields{{"budget", budgetText(key.budget)},
                       {"reached", point.reached ? OrderedJson(budgetText(*point.reached)) : OrderedJson()},
                       {"repetition", key.repetition},
                       {"seed", key.seed ? OrderedJson(*key.seed) : OrderedJson()},
                       {"compensation", key.compensation},
                       {"recovered", key.recovered.empty() ? OrderedJson() : OrderedJson(key.recovered)},
                       {"removed", point.isChosen() ? removedFields(point.removed) : OrderedJson()},
                       {"mask", curveMaskFields(session, point.mask)}};
    fields.update(measuredFields(point));
    fields["choosing_seconds"] = finiteOrNull(point.choosingSeconds);
    fields["scoring_seconds"] = finiteOrNull(point.scoringSeconds);
    fields["training_seconds"] = finiteOrNull(point.trainingSeconds);
    fields["error"] = point.error.empty() ? OrderedJson() : OrderedJson(point.error);
    return fields;
}

OrderedJson scoredFields(const ScoredSource& scored) {
    if (scored.digest.empty())
        return {};
    return {{"source", scored.source},
            {"digest", scored.digest},
            {"tokens", scored.tokens},
            {"windows", scored.windows},
            {"protocol", name(scored.rules.protocol)},
            {"window", scored.rules.window},
            {"bos", scored.rules.bos ? OrderedJson(name(*scored.rules.bos)) : OrderedJson()}};
}

} // namespace

OrderedJson curvesFields(const Session& session, const Curves& curves) {
    const CurveConditions& own = curves.conditions;
    OrderedJson tasks = OrderedJson::array();
    for (const CurveTask& task : curves.tasks)
        tasks.push_back({{"name", task.name},
                         {"source", task.source},
                         {"format", task.format},
                         {"digest", task.digest},
                         {"questions", task.questions}});
    OrderedJson all = OrderedJson::object();
    for (const Curve& curve : curves.curves) {
        OrderedJson points = OrderedJson::array();
        for (const CurvePoint& point : curve.points)
            points.push_back(curvePointFields(session, point));
        all[curve.strategy] = std::move(points);
    }
    OrderedJson latency;
    if (curves.latency)
        latency = {{"prompt_tokens", curves.latency->promptTokens}, {"new_tokens", curves.latency->newTokens}};
    return {{"calibration", dataFields(own.calibration, own.calibrationDigest)},
            {"scored", scoredFields(own.scored)},
            {"scores_calibration_text", own.scoresCalibrationText},
            {"dtype", own.dtype},
            {"device", own.device},
            {"protect", own.protect},
            {"base", own.baseDigest},
            {"positions", own.positions},
            {"task_files", std::move(tasks)},
            {"latency", std::move(latency)},
            {"dense", measuredFields(curves.dense)},
            {"curves", std::move(all)},
            {"warnings", curves.warnings}};
}

std::string sweepJson(const Session& session, const Curves& curves, double seconds) {
    OrderedJson document{{"model",
                          {{"path", session.model.path},
                           {"architecture", session.model.spec.architecture},
                           {"fingerprint", session.model.fingerprint}}}};
    document.update(curvesFields(session, curves));
    document["seconds"] = seconds;
    return jsonText(document);
}

} // namespace secateur
