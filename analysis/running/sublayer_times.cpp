#include "analysis/running/sublayer_times.h"

#include "analysis/masks/price.h"
#include "analysis/running/synthetic_batch.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>

namespace secateur {

namespace {

constexpr int repeats = 5;

/// The least time of some runs. The first run converts weights.
double leastSeconds(const std::function<at::Tensor()>& run) {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i <= repeats; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const at::Tensor output = run();
        if (output.numel() > 0 && !output.is_cpu())
            output.flatten()[0].item<float>(); // waits for the device
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (i > 0)
            least = std::min(least, seconds);
    }
    return least;
}

int positionsOf(const ModelSpec& spec, int positions) {
    return spec.context > 0 ? std::min(positions, spec.context) : positions;
}

double lmHeadSeconds(const Model& model, const Plan& plan, const at::Tensor& x, const Batch& batch) {
    if (!model.has(-1, WeightName::lmHead))
        return 0;
    return leastSeconds([&] {
        model.runner().losses(plan, x, batch, batch.ids);
        return at::Tensor();
    });
}

/// The share of a sublayer's operations that a mask keeps.
double keptShare(const ModelSpec& spec, int layer, LayerParts parts, bool isAttention, int positions) {
    const LayerParts dense = partsLeft(spec.layers[static_cast<std::size_t>(layer)], PruningMask(spec).layer(layer));
    const auto alone = [&](LayerParts of) {
        if (!of.block)
            return 0.0;
        if (isAttention)
            of.mlp = false;
        else
            of.attention = AttentionKind::none;
        return layerOperations(spec, layer, of, positions);
    };
    const double all = alone(dense);
    return all > 0 ? alone(parts) / all : 0;
}

} // namespace

SublayerTimes::SublayerTimes(const Model& model, int positions, ComputeType type)
    : m_model(model)
    , m_positions(positionsOf(model.spec(), positions)) {
    const ModelSpec& spec = model.spec();
    const PruningMask dense(spec);
    const auto plan = model.runner().plan(dense, type);
    const Batch batch = syntheticBatch(spec, m_positions);
    const at::Tensor x = model.runner().embed(*plan, batch);
    const auto timed = [&](int layer, AttentionCut attention, bool keepsMlp) {
        PruningMask mask = dense;
        LayerMask cut = mask.layer(layer);
        cut.attention = attention;
        cut.mlp = keepsMlp;
        mask.setLayer(layer, cut);
        const auto own = model.runner().plan(mask, type);
        return leastSeconds([&] { return model.runner().runLayer(*own, layer, x, batch); });
    };
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        const auto place = spec.layers.begin() + layer;
        const auto same = std::find(spec.layers.begin(), place, *place);
        if (same != place) {
            m_layers.push_back(m_layers[static_cast<std::size_t>(same - spec.layers.begin())]);
            continue;
        }
        const double whole = timed(layer, AttentionCut::keep, true);
        m_layers.push_back({std::max(0.0, whole - timed(layer, AttentionCut::drop, true)),
                            std::max(0.0, whole - timed(layer, AttentionCut::keep, false))});
    }
    m_lmHead = lmHeadSeconds(model, *plan, x, batch);
}

double SublayerTimes::seconds(const PruningMask& mask) const {
    const ModelSpec& spec = m_model.spec();
    double sum = m_lmHead;
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        const LayerParts parts = partsLeft(spec.layers[static_cast<std::size_t>(layer)], mask.layer(layer));
        const LayerTimes& times = m_layers[static_cast<std::size_t>(layer)];
        sum += times.attention * keptShare(spec, layer, parts, true, m_positions) +
               times.mlp * keptShare(spec, layer, parts, false, m_positions);
    }
    return sum;
}

double measuredSeconds(const Model& model, const PruningMask& mask, int positions, ComputeType type) {
    const ModelSpec& spec = model.spec();
    const auto plan = model.runner().plan(mask, type);
    const Batch batch = syntheticBatch(spec, positionsOf(spec, positions));
    at::Tensor x;
    const double layers = leastSeconds([&] {
        x = model.runner().embed(*plan, batch);
        for (int layer = 0; layer < spec.layerCount(); ++layer)
            x = model.runner().runLayer(*plan, layer, x, batch);
        return x;
    });
    return layers + lmHeadSeconds(model, *plan, x, batch);
}

} // namespace secateur
