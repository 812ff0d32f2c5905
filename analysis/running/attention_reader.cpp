#include "analysis/running/attention_reader.h"

#include "analysis/masks/pruning_mask.h"
#include "analysis/base/error.h"
#include "analysis/running/layer_observer.h"
#include "analysis/running/runner.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace secateur {

namespace {

/// Indices of the heads that have attention maps under a mask.
std::vector<int> keptHeads(const LayerMask& mask) {
    std::vector<int> kept;
    if (dropsAttention(mask) || mask.attention == AttentionCut::bypassQk)
        return kept; // without attention or with bypassed Q/K, there are no maps
    for (std::size_t head = 0; head < mask.heads.size(); ++head)
        if (mask.heads[head])
            kept.push_back(static_cast<int>(head));
    return kept;
}

/// Collects the maps of one layer. They arrive in blocks of heads and queries.
class MapCollector : public LayerObserver {
public:
    MapCollector(int layer, int tokens, int mostSide, std::vector<int> heads, std::optional<int> wanted)
        : m_layer(layer)
        , m_tokens(tokens)
        , m_step((tokens + mostSide - 1) / mostSide)
        , m_side((tokens + m_step - 1) / m_step)
        , m_heads(std::move(heads)) {
        const auto cells = static_cast<std::size_t>(m_side) * static_cast<std::size_t>(m_side);
        for (int head : m_heads)
            m_found.thumbnails.push_back({{layer, head}, m_side, std::vector<float>(cells)});
        if (wanted && std::ranges::find(m_heads, *wanted) != m_heads.end())
            m_found.map =
                AttentionMap{{layer, *wanted},
                             tokens,
                             std::vector<float>(static_cast<std::size_t>(tokens) * static_cast<std::size_t>(tokens))};
    }

    bool wants(int, Tap) const override { return false; }
    void see(int, Tap, const at::Tensor&) override {}
    bool wantsAttention(int layer) const override { return layer == m_layer && !m_heads.empty(); }

    void seeAttention(int, std::int64_t firstHead, std::int64_t firstQuery, const at::Tensor& block) override {
        const at::Tensor maps = block[0];
        const std::int64_t padding = std::int64_t{m_side} * m_step - m_tokens;
        const at::Tensor pooled = at::constant_pad_nd(maps, {0, padding}, 0)
                                      .reshape({maps.size(0), maps.size(1), m_side, m_step})
                                      .amax(-1)
                                      .to(at::kCPU)
                                      .contiguous();
        for (std::int64_t i = 0; i < maps.size(0); ++i) {
            const auto index = static_cast<std::size_t>(firstHead + i);
            shrink(pooled[i], firstQuery, m_found.thumbnails[index].values);
            if (m_found.map && m_heads[index] == m_found.map->head.head)
                keep(maps[i].to(at::kCPU).contiguous(), firstQuery);
        }
    }

    LayerAttention take() { return std::move(m_found); }

private:
    /// Reduces rows of queries to rows of a thumbnail by their maxima. @param rows [queries, side], already reduced
    /// along the keys
    void shrink(const at::Tensor& rows, std::int64_t firstQuery, std::vector<float>& into) const {
        const auto values = std::span(rows.data_ptr<float>(), static_cast<std::size_t>(rows.numel()));
        const auto side = static_cast<std::size_t>(m_side);
        for (std::size_t query = 0; query * side < values.size(); ++query) {
            const std::size_t row = (static_cast<std::size_t>(firstQuery) + query) / static_cast<std::size_t>(m_step);
            for (std::size_t key = 0; key < side; ++key) {
                float& cell = into[row * side + key];
                cell = std::max(cell, values[query * side + key]);
            }
        }
    }

    void keep(const at::Tensor& rows, std::int64_t firstQuery) {
        std::copy_n(rows.data_ptr<float>(), rows.numel(), m_found.map->values.data() + firstQuery * m_tokens);
    }

    int m_layer;
    int m_tokens;
    int m_step; ///< tokens per cell of a thumbnail
    int m_side;
    std::vector<int> m_heads;
    LayerAttention m_found;
};

void checkTokens(const Model& model, const std::vector<int>& ids) {
    if (ids.empty())
        throw Error("The prompt is empty", {}, "Type some text");
    const int context = model.spec().context;
    if (context > 0 && ids.size() > static_cast<std::size_t>(context))
        throw Error(fmt::format("The prompt has {} tokens, but the model's context is {}", ids.size(), context), {},
                    "Shorten the text");
}

} // namespace

class AttentionReader::State {
public:
    State(std::shared_ptr<const Model> model, const PruningMask& mask, const std::vector<int>& ids,
          const AttentionRules& rules, const Progress& progress)
        : m_model(std::move(model))
        , m_plan(m_model->runner().plan(mask, rules.type))
        , m_rules(rules) {
        m_batch.rows = 1;
        m_batch.positions = static_cast<int>(ids.size());
        m_batch.ids = ids;
        const int layers = mask.layerCount();
        const std::int64_t bytes = m_batch.tokens() * m_model->spec().hidden * std::int64_t{sizeof(float)};
        const std::int64_t most = std::max<std::int64_t>(rules.streamBudget / bytes, 1);
        m_interval = static_cast<int>((layers + most - 1) / most);
        LayerWalk walk;
        walk.start = [&](std::size_t) { return m_streams[0] = m_model->runner().embed(*m_plan, m_batch); };
        walk.passed = [&](int layer, std::size_t, const at::Tensor& output) {
            if (layer + 1 < layers && (layer + 1) % m_interval == 0)
                m_streams[layer + 1] = output;
        };
        forEachLayer(m_model->runner(), *m_plan, std::span(&m_batch, 1), walk, progress);
    }

    int tokens() const { return m_batch.positions; }

    LayerAttention layer(int layer, std::optional<int> head, const Progress& progress) const {
        MapCollector collector(layer, tokens(), m_rules.thumbnailSide, keptHeads(m_plan->mask().layer(layer)), head);
        const int kept = layer - layer % m_interval;
        at::Tensor x = m_streams.at(kept);
        for (int below = kept; below <= layer; ++below) {
            progress.report(static_cast<double>(below - kept) / (layer - kept + 1), fmt::format("layer {}", below));
            x = m_model->runner().runLayer(*m_plan, below, x, m_batch, nullptr, below == layer ? &collector : nullptr);
        }
        return collector.take();
    }

private:
    std::shared_ptr<const Model> m_model;
    std::shared_ptr<const Plan> m_plan;
    AttentionRules m_rules;
    Batch m_batch;
    int m_interval = 1; ///< the inputs of layers 0, m_interval, 2 m_interval and so on are stored
    std::map<int, at::Tensor> m_streams;
};

AttentionReader::AttentionReader(std::shared_ptr<const Model> model, const PruningMask& mask,
                                 const std::vector<int>& ids, const AttentionRules& rules, const Progress& progress) {
    checkTokens(*model, ids);
    m_state = std::make_unique<State>(std::move(model), mask, ids, rules, progress);
}

AttentionReader::~AttentionReader() = default;

int AttentionReader::tokens() const {
    return m_state->tokens();
}

LayerAttention AttentionReader::layer(int layer, std::optional<int> head, const Progress& progress) const {
    return m_state->layer(layer, head, progress);
}

} // namespace secateur
