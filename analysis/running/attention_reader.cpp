#include "analysis/running/attention_reader.h"

#include "analysis/base/error.h"
#include "analysis/masks/mask_wire.h"
#include "analysis/model/far_model.h"
#include "analysis/running/layer_observer.h"
#include "analysis/running/pooled_map.h"
#include "analysis/running/runner.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
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

/// The place of a head among the kept ones; none if it is not kept.
std::optional<std::int64_t> placeOf(const std::vector<int>& kept, int head) {
    const auto found = std::ranges::find(kept, head);
    return found == kept.end() ? std::nullopt : std::optional<std::int64_t>(found - kept.begin());
}

/// Collects maps of kept heads of one layer. They arrive in blocks of heads and queries.
class MapCollector : public LayerObserver {
public:
    explicit MapCollector(int layer)
        : m_layer(layer) {}

    /// Requests a map. It must outlive the run. @param place of the head among the kept ones
    void request(std::int64_t place, PooledMap& map) {
        m_wanted.emplace(place, &map);
        const std::int64_t first = m_wanted.begin()->first;
        m_heads = {first, m_wanted.rbegin()->first + 1 - first};
    }

    bool wants(int, Tap) const override { return false; }
    void see(int, Tap, const at::Tensor&) override {}
    bool wantsAttention(int layer) const override { return layer == m_layer && !m_wanted.empty(); }
    HeadRange attentionHeads(int) const override { return m_heads; }

    void seeAttention(int, std::int64_t firstHead, std::int64_t firstQuery, const at::Tensor& block) override {
        const std::int64_t end = firstHead + block.size(1);
        for (auto own = m_wanted.lower_bound(firstHead); own != m_wanted.end() && own->first < end; ++own)
            own->second->add(block[0][own->first - firstHead], m_before + firstQuery);
    }

    /// The number of tokens before those that run.
    void setBefore(int tokens) { m_before = tokens; }

private:
    int m_layer;
    std::multimap<std::int64_t, PooledMap*> m_wanted;
    HeadRange m_heads{0, 0};
    std::int64_t m_before = 0;
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
          const AttentionRules& rules)
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
    }

    int tokens() const { return m_batch.positions; }
    LayerAttention layer(int layer, std::optional<int> head, const Progress& progress);
    std::optional<AttentionPart> part(HeadId head, const MapWindow& window, const Progress& progress);

private:
    LayerAttention farLayer(const FarModel& far, int layer, std::optional<int> head, const Progress& progress) const;
    const Runner& runner() const { return m_model->runner(); }
    bool isLong() const { return tokens() > m_rules.mapSide; }
    std::vector<int> heads(int layer) const { return keptHeads(m_plan->mask().layer(layer)); }
    MapWindow whole(int cells) const { return {0, tokens(), 0, tokens(), cells}; }
    int mapCells() const;
    const at::Tensor& input(int layer, const Progress& progress);
    void run(int layer, MapCollector& collector, const Progress& progress);
    void runQueries(int layer, const MapWindow& window, MapCollector& collector, const Progress& progress);

    std::shared_ptr<const Model> m_model;
    std::shared_ptr<const Plan> m_plan;
    AttentionRules m_rules;
    Batch m_batch;
    int m_interval = 1;                  ///< the inputs of layers 0, m_interval, 2 m_interval and so on are stored
    std::map<int, at::Tensor> m_streams; ///< these, and that of m_layer
    int m_layer = -1;                    ///< the last layer that input() reached
    std::unique_ptr<KvCache> m_cache;    ///< keys of m_cacheLayer
    int m_cacheLayer = -1;
};

/// Tokens that a cell of a map covers along an edge, a power of 2.
int AttentionReader::State::mapCells() const {
    int cells = 1;
    while (whole(cells).rows() > m_rules.mapSide)
        cells *= 2;
    return cells;
}

/// The input of a layer.
const at::Tensor& AttentionReader::State::input(int layer, const Progress& progress) {
    if (m_streams.empty())
        m_streams[0] = runner().embed(*m_plan, m_batch);
    auto nearest = std::prev(m_streams.upper_bound(layer));
    const int start = nearest->first;
    at::Tensor x = nearest->second;
    for (int below = start; below < layer; ++below) {
        progress.report(static_cast<double>(below - start) / (layer - start), fmt::format("layer {}", below));
        x = runner().runLayer(*m_plan, below, x, m_batch);
        if ((below + 1) % m_interval == 0)
            m_streams[below + 1] = x;
    }
    if (m_layer != layer && m_layer % m_interval != 0)
        m_streams.erase(m_layer);
    m_layer = layer;
    return m_streams[layer] = x;
}

/// Runs a layer. The keys of a long text are kept for runQueries().
void AttentionReader::State::run(int layer, MapCollector& collector, const Progress& progress) {
    constexpr double below = 0.5;
    const at::Tensor& x = input(layer, progress.part(0, below));
    progress.report(below, fmt::format("layer {}", layer));
    if (!isLong() || m_model->spec().family != Family::decoder) {
        runner().runLayer(*m_plan, layer, x, m_batch, nullptr, &collector);
        return;
    }
    m_cacheLayer = -1;
    m_cache.reset();
    auto cache = runner().cache(*m_plan, 1, tokens(), layer);
    runner().runLayer(*m_plan, layer, x, m_batch, cache.get(), &collector);
    m_cache = std::move(cache);
    m_cacheLayer = layer;
}

/// Runs the queries of a window against the keys of the layer.
void AttentionReader::State::runQueries(int layer, const MapWindow& window, MapCollector& collector,
                                        const Progress& progress) {
    constexpr int atOnce = 512;
    const at::Tensor& x = input(layer, progress);
    const int end = std::min(window.firstQuery + window.queries, tokens());
    for (int first = window.firstQuery; first < end; first += atOnce) {
        progress.report(static_cast<double>(first - window.firstQuery) / window.queries,
                        fmt::format("layer {}", layer));
        Batch batch;
        batch.rows = 1;
        batch.positions = std::min(atOnce, end - first);
        batch.ids.assign(m_batch.ids.begin() + first, m_batch.ids.begin() + first + batch.positions);
        batch.firstPosition = {first};
        collector.setBefore(first);
        runner().runLayer(*m_plan, layer, x.narrow(1, first, batch.positions), batch, m_cache.get(), &collector);
    }
}

/// Whether a map that came from another process has the form that it states.
bool isWhole(const AttentionMap& map, int tokens) {
    return map.tokens == tokens && map.cells > 0 &&
           map.values.size() == static_cast<std::size_t>(map.side()) * static_cast<std::size_t>(map.side());
}

LayerAttention AttentionReader::State::farLayer(const FarModel& far, int layer, std::optional<int> head,
                                                const Progress& progress) const {
    auto found =
        far.result<LayerAttention>("attention_layer", progress, m_plan->mask(), m_batch.ids, m_rules, layer, head);
    const std::vector<int> kept = heads(layer);
    const auto isThumbnail = [&](const AttentionThumbnail& one) {
        return one.side > 0 && one.side <= tokens() && one.head.layer == layer && placeOf(kept, one.head.head) &&
               one.values.size() == static_cast<std::size_t>(one.side) * static_cast<std::size_t>(one.side);
    };
    if (!std::ranges::all_of(found.thumbnails, isThumbnail) || (found.map && !isWhole(*found.map, tokens())))
        throw Error("A message has an attention map of another text");
    return found;
}

LayerAttention AttentionReader::State::layer(int layer, std::optional<int> head, const Progress& progress) {
    if (const FarModel* far = farModel(*m_model))
        return farLayer(*far, layer, head, progress);
    const std::vector<int> kept = heads(layer);
    const auto wanted = head ? placeOf(kept, *head) : std::nullopt;
    std::deque<PooledMap> maps; // addresses stay valid
    MapCollector collector(layer);
    const auto request = [&](std::size_t place, int cells) {
        maps.emplace_back(whole(cells));
        collector.request(static_cast<std::int64_t>(place), maps.back());
    };
    const int small = (tokens() + m_rules.thumbnailSide - 1) / m_rules.thumbnailSide;
    LayerAttention found;
    for (std::size_t place = 0; place < kept.size(); ++place)
        if (!isLong() || !wanted || std::cmp_equal(place, *wanted)) {
            found.thumbnails.push_back({{layer, kept[place]}, whole(small).rows(), {}});
            request(place, small);
        }
    if (wanted)
        request(static_cast<std::size_t>(*wanted), mapCells());
    run(layer, collector, progress);
    for (std::size_t i = 0; i < found.thumbnails.size(); ++i)
        found.thumbnails[i].values = maps[i].take();
    if (wanted)
        found.map = AttentionMap{{layer, *head}, tokens(), mapCells(), maps.back().take()};
    return found;
}

std::optional<AttentionPart> AttentionReader::State::part(HeadId head, const MapWindow& window,
                                                          const Progress& progress) {
    if (const FarModel* far = farModel(*m_model)) {
        auto found = far->result<std::optional<AttentionPart>>("attention_part", progress, m_plan->mask(), m_batch.ids,
                                                               m_rules, head, window);
        const auto cells = static_cast<std::size_t>(window.rows()) * static_cast<std::size_t>(window.columns());
        if (found && (found->window != window || found->values.size() != cells))
            throw Error("A message has an attention map of another text");
        return found;
    }
    const auto place = placeOf(heads(head.layer), head.head);
    if (!place)
        return std::nullopt;
    PooledMap map(window);
    MapCollector collector(head.layer);
    collector.request(*place, map);
    if (m_cacheLayer == head.layer)
        runQueries(head.layer, window, collector, progress);
    else
        run(head.layer, collector, progress);
    return AttentionPart{head, window, map.take()};
}

AttentionReader::AttentionReader(std::shared_ptr<const Model> model, const PruningMask& mask,
                                 const std::vector<int>& ids, const AttentionRules& rules) {
    checkTokens(*model, ids);
    m_state = std::make_unique<State>(std::move(model), mask, ids, rules);
}

AttentionReader::~AttentionReader() = default;

int AttentionReader::tokens() const {
    return m_state->tokens();
}

LayerAttention AttentionReader::layer(int layer, std::optional<int> head, const Progress& progress) const {
    return m_state->layer(layer, head, progress);
}

std::optional<AttentionPart> AttentionReader::part(HeadId head, const MapWindow& window,
                                                   const Progress& progress) const {
    return m_state->part(head, window, progress);
}

} // namespace secateur
