#include "analysis/tasks/option_scores.h"

#include "analysis/base/error.h"
#include "analysis/tasks/option_tree.h"
#include "analysis/running/runner.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace secateur {

namespace {

/// Bytes of streams that are there at once: many where a layer's weights are read anew for each run of batches.
constexpr std::int64_t streamBytes = std::int64_t{256} << 20U;
constexpr std::int64_t streamBytesOfLargeModels = std::int64_t{2} << 30U;

/// All batches of a tree go through a layer before the next: keys and values of that layer alone are kept, and only
/// until its last batch.
class TreeRun {
public:
    TreeRun(const Runner& runner, const Plan& plan, const OptionTree& tree)
        : m_runner(runner)
        , m_plan(plan)
        , m_tree(tree)
        , m_place(tree.pieces.size()) {
        for (std::size_t batch = 0; batch < tree.batches.size(); ++batch) {
            m_batches.push_back(tree.batch(batch));
            for (std::size_t row = 0; row < tree.batches[batch].size(); ++row)
                m_place[tree.batches[batch][row]] = {batch, static_cast<int>(row)};
        }
    }

    void run(std::vector<std::vector<OptionScore>>& scores, const Progress& progress) {
        for (const Batch& batch : m_batches)
            m_streams.push_back(m_runner.embed(m_plan, batch));
        const int layers = m_plan.mask().layerCount();
        const double steps = static_cast<double>(layers) * static_cast<double>(m_batches.size());
        double done = 0;
        for (int layer = 0; layer < layers; ++layer) {
            std::vector<std::unique_ptr<KvCache>> caches(m_batches.size());
            for (std::size_t batch = 0; batch < m_batches.size(); ++batch) {
                progress.report(done++ / steps, fmt::format("layer {}", layer));
                step(layer, batch, caches);
            }
        }
        for (std::size_t batch = 0; batch < m_batches.size(); ++batch) {
            progress.check();
            score(batch, scores);
        }
    }

private:
    /// Where a piece runs.
    struct Place {
        std::size_t batch = 0;
        int row = 0;
    };

    const OptionPiece& piece(std::size_t batch, std::size_t row) const {
        return m_tree.pieces[m_tree.batches[batch][row]];
    }

    void step(int layer, std::size_t batch, std::vector<std::unique_ptr<KvCache>>& caches) {
        const auto& pieces = m_tree.batches[batch];
        const bool isRead = std::ranges::any_of(pieces, [&](std::size_t i) { return m_tree.pieces[i].hasChildren; });
        if (isRead || piece(batch, 0).parent)
            caches[batch] = beginnings(layer, batch, caches);
        m_streams[batch] = m_runner.runLayer(m_plan, layer, m_streams[batch], m_batches[batch], caches[batch].get());
        if (!isRead)
            caches[batch].reset();
    }

    /// A cache whose rows hold what stands in front of the pieces of a batch.
    std::unique_ptr<KvCache> beginnings(int layer, std::size_t batch,
                                        const std::vector<std::unique_ptr<KvCache>>& caches) const {
        int capacity = 0;
        for (const std::size_t index : m_tree.batches[batch])
            capacity = std::max(capacity, m_tree.pieces[index].end());
        auto cache = m_runner.cache(m_plan, m_batches[batch].rows, capacity, layer);
        for (int row = 0; row < m_batches[batch].rows; ++row) {
            const OptionPiece& own = piece(batch, static_cast<std::size_t>(row));
            if (!own.parent)
                continue;
            const Place before = m_place[*own.parent];
            cache->begin(row, *caches[before.batch], before.row, own.begin);
        }
        return cache;
    }

    /// Only positions that predict something are read out.
    void score(std::size_t batch, std::vector<std::vector<OptionScore>>& scores) {
        std::vector<std::int64_t> positions;
        std::vector<int> tokens;
        std::vector<OptionId> ids;
        for (std::size_t row = 0; row < m_tree.batches[batch].size(); ++row)
            for (const OptionTarget& target : piece(batch, row).targets) {
                const int inRow = target.position - piece(batch, row).begin;
                positions.push_back(static_cast<std::int64_t>(row) * m_batches[batch].positions + inRow);
                tokens.push_back(target.token);
                ids.push_back(target.of);
            }
        const at::Tensor stream = std::exchange(m_streams[batch], {});
        if (positions.empty())
            return;
        const at::Tensor wanted = at::tensor(positions).to(stream.device());
        const at::Tensor rows = stream.reshape({-1, stream.size(2)}).index_select(0, wanted).unsqueeze(0);
        const Batch gathered{1, static_cast<int>(tokens.size()), tokens, {}, {}, {}};
        const TokenLosses losses = m_runner.losses(m_plan, rows, gathered, tokens);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            OptionScore& score = scores[ids[i].question][ids[i].option];
            score.logProbability -= losses.nats[i];
            score.isGreedy = score.isGreedy && losses.greedy[i] != 0;
        }
    }

    const Runner& m_runner;
    const Plan& m_plan;
    const OptionTree& m_tree;
    std::vector<Place> m_place; ///< of each piece
    std::vector<Batch> m_batches;
    std::vector<at::Tensor> m_streams;
};

/// How many of the questions from `begin` on run together.
std::size_t together(std::span<const std::vector<OptionTokens>> questions, std::span<const std::size_t> order,
                     std::int64_t mostTokens) {
    std::int64_t tokens = 0;
    std::size_t count = 0;
    for (; count < order.size(); ++count) {
        tokens += inputTokens(questions.subspan(order[count], 1));
        if (count > 0 && tokens > mostTokens)
            break;
    }
    return count;
}

void checkFinite(const std::vector<std::vector<OptionScore>>& scores) {
    for (const auto& options : scores)
        for (const OptionScore& score : options)
            if (!std::isfinite(score.logProbability))
                throw Error("The model gives a continuation no finite probability: options cannot be compared", {},
                            "Its weights, or the mask, leave nothing to go by");
}

} // namespace

std::vector<std::vector<OptionScore>> scoreOptions(const Model& model, const Plan& plan,
                                                   std::span<const std::vector<OptionTokens>> questions,
                                                   std::int64_t batchTokens, const Progress& progress) {
    if (model.spec().family == Family::encoder)
        throw Error("is an encoder: it does not score continuations", model.card().path);
    std::vector<std::vector<OptionScore>> scores;
    for (const auto& options : questions)
        scores.emplace_back(options.size());
    const std::vector<std::size_t> order = neighbourOrder(questions);
    const std::int64_t bytes = plan.isResident() ? streamBytes : streamBytesOfLargeModels;
    const std::int64_t mostTokens = std::max(batchTokens, bytes / (std::int64_t{model.spec().hidden} * 4));
    const auto count = static_cast<double>(order.size());
    for (std::size_t begin = 0; begin < order.size();) {
        const std::span rest = std::span(order).subspan(begin);
        const std::size_t some = together(questions, rest, mostTokens);
        const OptionTree tree = optionTree(questions, rest.first(some), batchTokens);
        const auto done = static_cast<double>(begin);
        TreeRun(model.runner(), plan, tree)
            .run(scores, progress.part(done / count, (done + static_cast<double>(some)) / count));
        begin += some;
    }
    checkFinite(scores);
    progress.report(1, "done");
    return scores;
}

} // namespace secateur
