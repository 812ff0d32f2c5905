#pragma once

#include "analysis/campaigns/curves.h"
#include "analysis/session/session.h"
#include "analysis/strategies/budget.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace secateur::test {

/// The structure of a model of the papers: equal layers, as many KV heads as heads.
inline ModelCard paperModel(const std::string& name, int layers, int heads) {
    ModelCard card;
    card.path = "/models/" + name;
    card.name = name;
    card.fingerprint = "sha256:feed";
    card.spec.architecture = "llama";
    card.spec.hidden = 8 * heads;
    card.spec.vocab = 64;
    card.spec.context = 4096;
    LayerSpec layer;
    layer.heads = layer.kvHeads = heads;
    layer.headDim = 8;
    layer.ffn = 32 * heads;
    card.spec.layers.assign(static_cast<std::size_t>(layers), layer);
    card.parameters = 1'000'000;
    return card;
}

/// A made-up number that differs for each strategy, budget, repetition and quantity.
inline double madeUp(const std::string& strategy, double budget, int repetition, const std::string& quantity) {
    double sum = 0;
    for (const char c : strategy + "/" + quantity)
        sum = std::fmod(31 * sum + c, 997);
    return 0.1 + sum / 2000 + 0.007 * budget + 0.0013 * repetition;
}

/// Conditions of a set of curves: calibrated on one text, scored on another.
inline Curves paperCurves(const ModelCard& model, std::vector<CurveTask> tasks = {}) {
    Curves set;
    set.conditions.calibration.source = "calibration.txt";
    set.conditions.calibration.tokens = 8192;
    set.conditions.calibration.allTokens = 8192;
    set.conditions.calibrationDigest = "sha256:calibration";
    set.conditions.scored = {"wiki.test.raw", "sha256:scored", 16384, 8, {TextProtocol::tokenPpl}};
    set.conditions.scored.rules.window = 2048;
    set.conditions.dtype = "float32";
    set.conditions.device = "cpu";
    set.tasks = std::move(tasks);
    set.dense.mask = "dense";
    set.dense.parameters = model.parameters;
    return set;
}

/// Gives a point a perplexity and the scores of tasks by madeUp(). @param name of the strategy, or "dense"
inline void scoreMadeUp(CurvePoint& point, const std::string& name, const std::vector<CurveTask>& tasks,
                        const std::vector<std::string>& metrics) {
    const double budget = point.key.budget.amount;
    point.perplexity = 5 + 3 * madeUp(name, budget, point.key.repetition, "perplexity");
    point.lossNats = std::log(point.perplexity);
    for (const CurveTask& task : tasks)
        for (const std::string& metric : metrics)
            point.tasks.push_back({task.name, metric,
                                   madeUp(name, budget, point.key.repetition, task.name + metric), 0.01});
}

/// paperCurves() with the scores and the speed of the dense model. @param tokensPerSecond of generation
inline Curves scoredCurves(const ModelCard& model, const std::vector<CurveTask>& tasks,
                           const std::vector<std::string>& metrics, const CurveLatency& latency,
                           double tokensPerSecond) {
    Curves set = paperCurves(model, tasks);
    scoreMadeUp(set.dense, "dense", tasks, metrics);
    set.latency = latency;
    set.dense.tokensPerSecond = tokensPerSecond;
    return set;
}

/// A point of a strategy whose budget counts units.
inline CurvePoint unitPoint(const std::string& strategy, int budget, int repetition, bool isRandom,
                            std::int64_t parameters) {
    CurvePoint point;
    point.key.budget = {static_cast<double>(budget), false, BudgetOf::own};
    point.key.repetition = repetition;
    if (isRandom)
        point.key.seed = static_cast<std::uint64_t>(repetition);
    point.mask = "sha256:" + strategy + std::to_string(budget) + "-" + std::to_string(repetition);
    point.parameters = parameters;
    return point;
}

} // namespace secateur::test
