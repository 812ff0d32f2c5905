#pragma once

#include "analysis/masks/price.h"
#include "analysis/session/session.h"
#include "backends/session/mask_json.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace secateur::test {

/// A decoder of four layers with four heads in two KV groups and eight neurons each.
inline ModelCard curveModel() {
    ModelCard card;
    card.path = "demo.gguf";
    card.name = "demo";
    card.fingerprint = "sha256:feed";
    card.spec.architecture = "llama";
    card.spec.hidden = 16;
    card.spec.vocab = 32;
    card.spec.context = 64;
    LayerSpec layer;
    layer.heads = 4;
    layer.kvHeads = 2;
    layer.headDim = 4;
    layer.ffn = 8;
    card.parameters = 5264; // with an embedding that is also the LM head
    card.bytes = 4 * card.parameters;
    card.spec.layers.assign(4, layer);
    return card;
}

/// Adds a mask that cuts the first heads of a list. @returns a point with its counts, without losses
inline CurvePoint cutPoint(Session& session, std::span<const HeadId> order, std::size_t count,
                           const CurveConditions& conditions) {
    SessionMask mask{"", "", {PruningMask(session.model.spec), "demo", "sha256:feed", "", MaskProvenance{}}};
    setHeads(mask.record.mask, order.first(count), false);
    for (std::size_t i = 0; i < count; ++i)
        mask.record.provenance->order.push_back({CutUnit::head, order[i].layer, order[i].head, 0.5});
    mask.digest = maskDigest(mask.record.mask);
    mask.name = mask.digest.substr(7, 6) + " on " + conditions.calibration.source;
    mask.record.provenance->textDigest = conditions.calibrationDigest;
    const Price price = PriceList(session.model, {.positions = conditions.positions}).price(mask.record.mask);
    CurvePoint point;
    point.mask = mask.digest;
    point.removed = removedUnits(price);
    point.parameters = price.parameters.left;
    point.kvBytesPerToken = price.kvBytesPerToken.left;
    point.operationsPerToken = price.operationsPerToken.left;
    add(session, std::move(mask));
    return point;
}

/// Sets what scoring a text and the task "choices" would give. @param delta rise of the loss over the dense model
inline void score(CurvePoint& point, double delta) {
    point.lossNats = 2 + delta;
    point.deltaNats = delta;
    point.deltaStandardError = 0.02;
    point.perplexity = std::exp(point.lossNats);
    point.tasks = {{"choices", "acc", 0.75 - delta / 4, 0.1, -delta / 4, 0.05}};
    point.choosingSeconds = 1;
    point.scoringSeconds = 2;
}

inline PointKey headBudget(int heads, int repetition = 0) {
    PointKey key;
    key.budget = {static_cast<double>(heads), false, BudgetOf::own};
    key.repetition = repetition;
    return key;
}

inline Curves emptyCurves(const ModelCard& model) {
    Curves curves;
    curves.conditions.calibration.source = "calibration.txt";
    curves.conditions.calibration.tokens = 8192;
    curves.conditions.calibrationDigest = "sha256:calibration";
    curves.conditions.scored = {"scored.txt", "sha256:scored", 16384, 16, {TextProtocol::tokenPpl}};
    curves.conditions.dtype = "float32";
    curves.conditions.device = "cpu";
    curves.tasks = {{"choices", "choices.jsonl", "arc", "sha256:choices", 8}};
    const Price price = PriceList(model, {.positions = curves.conditions.positions}).price(PruningMask(model.spec));
    curves.dense.mask = "dense";
    curves.dense.parameters = price.parameters.left;
    curves.dense.kvBytesPerToken = price.kvBytesPerToken.left;
    curves.dense.operationsPerToken = price.operationsPerToken.left;
    score(curves.dense, 0);
    curves.dense.choosingSeconds = notMeasured;
    return curves;
}

// Heads in the order in which three strategies cut them.
inline const std::vector<HeadId> sinkOrder{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {3, 3}};
inline const std::vector<HeadId> greedyOrder{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {0, 1}, {3, 3}};
inline const std::vector<std::vector<HeadId>> randomOrders{
    {{2, 1}, {1, 3}, {0, 0}, {3, 2}, {2, 2}, {1, 1}}, {{3, 0}, {0, 3}, {2, 1}, {1, 2}, {0, 1}, {2, 0}}};

/// A line with budgets of 2, 4 and 6 heads.
inline Curve headCurve(Session& session, const Curves& set, const std::string& strategy,
                       const std::vector<HeadId>& order, const std::array<double, 3>& deltas) {
    Curve curve{strategy, {}};
    for (std::size_t i = 0; i < deltas.size(); ++i) {
        CurvePoint point = cutPoint(session, order, 2 * (i + 1), set.conditions);
        point.key = headBudget(static_cast<int>(2 * (i + 1)));
        score(point, deltas[i]);
        curve.points.push_back(std::move(point));
    }
    return curve;
}

/// Three strategies with budgets of 2, 4 and 6 heads. gnorm_greedy cannot reach 6. random_head has two repetitions; its
/// second mask of 4 heads could not be scored.
inline Session curveSession() {
    Session session;
    session.model = curveModel();
    session.created = "2026-11-20T09:00:00Z";
    Curves set = emptyCurves(session.model);
    set.curves.push_back(headCurve(session, set, "gnorm_greedy", greedyOrder, {0.1, 0.2, 0.6}));
    set.curves.back().points[2].reached = Budget{5, false, BudgetOf::own};
    set.curves.push_back(headCurve(session, set, "random_head", randomOrders[0], {0.5, 0.9, 1.4}));
    Curve again = headCurve(session, set, "random_head", randomOrders[1], {0.7, 1.1, 2.0});
    again.points[1].lossNats = again.points[1].deltaNats = again.points[1].perplexity = notMeasured;
    again.points[1].error = "there is not enough memory";
    for (std::size_t i = 0; i < again.points.size(); ++i) {
        set.curves.back().points[2 * i].key.seed = 0;
        again.points[i].key.repetition = 1;
        again.points[i].key.seed = 1;
        set.curves.back().points.insert(set.curves.back().points.begin() + static_cast<long>(2 * i + 1),
                                        again.points[i]);
    }
    set.curves.push_back(headCurve(session, set, "sink_head", sinkOrder, {0.05, 0.3, 0.5}));
    session.curves.push_back(std::move(set));
    return session;
}

/// The curves of sink_head chosen on another text: its second and third cut are exchanged.
inline void addOtherText(Session& session) {
    Curves set = emptyCurves(session.model);
    set.conditions.calibrationDigest = "sha256:other";
    set.conditions.calibration.source = "other.txt";
    std::vector<HeadId> order = sinkOrder;
    std::swap(order[1], order[2]);
    set.curves.push_back(headCurve(session, set, "sink_head", order, {0.06, 0.31, 0.52}));
    session.curves.push_back(std::move(set));
}

} // namespace secateur::test
