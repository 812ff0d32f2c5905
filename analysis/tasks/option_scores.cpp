#include "analysis/tasks/option_scores.h"

#include "analysis/base/error.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

namespace secateur {

namespace {

using Ids = std::span<const int>;

/// Minimum number of tokens that adjacent questions must share at their beginning to get a common piece.
constexpr std::size_t leastExamples = 32;
/// Minimum number of tokens that need not run again if the options of a question get a common piece.
constexpr std::size_t leastShared = 8;
/// The maximum number of tokens in the KV cache of a batch is this times batchTokens, because short options may follow
/// long questions.
constexpr std::int64_t mostCached = 4;
/// Number of tokens in a batch at which matrix products have nearly full speed. In larger batches, only rows of similar
/// length are added, because padding costs as much as tokens.
constexpr std::int64_t enoughTokens = 256;

/// The tokens that run through the model: all except the last, which predicts nothing.
Ids inputOf(const OptionTokens& option) {
    return Ids(option.ids).first(option.ids.size() - 1);
}

std::size_t commonSize(Ids a, Ids b) {
    return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

/// The tokens at the beginning that all options of a question share.
Ids sharedBy(const std::vector<OptionTokens>& options) {
    Ids shared = inputOf(options.front());
    for (const OptionTokens& option : options)
        shared = shared.first(commonSize(shared, inputOf(option)));
    return shared;
}

class TreeBuilder {
public:
    TreeBuilder(std::span<const std::vector<OptionTokens>> questions, std::span<const std::size_t> chosen,
                std::int64_t batchTokens)
        : m_questions(questions)
        , m_chosen(chosen)
        , m_batchTokens(batchTokens) {}

    OptionTree build() {
        for (std::size_t begin = 0; begin < m_chosen.size();) {
            const auto [end, shared] = family(begin);
            std::optional<std::size_t> root;
            if (shared > 0)
                root = piece({}, sharedBy(question(begin)).first(shared));
            for (; begin < end; ++begin)
                addQuestion(m_chosen[begin], root);
        }
        makeBatches();
        return std::move(m_tree);
    }

private:
    const std::vector<OptionTokens>& question(std::size_t place) const { return m_questions[m_chosen[place]]; }

    /// The questions from `begin` on that share their examples. Returns the index after the last question and the
    /// number of shared tokens. A question that would make the shared beginning less than half as long is not included.
    std::pair<std::size_t, std::size_t> family(std::size_t begin) const {
        std::size_t end = begin + 1;
        std::size_t shared = 0;
        for (; end < m_chosen.size(); ++end) {
            const std::size_t common = commonSize(sharedBy(question(end - 1)), sharedBy(question(end)));
            const std::size_t left = shared == 0 ? common : std::min(shared, common);
            if (left < std::max(leastExamples, shared / 2))
                break;
            shared = left;
        }
        return {end, shared};
    }

    /// Adds a child piece of `parent` with the remaining tokens of `input`. @returns its index
    std::size_t piece(std::optional<std::size_t> parent, Ids input) {
        OptionPiece made;
        if (parent) {
            OptionPiece& before = m_tree.pieces[*parent];
            before.hasChildren = true;
            made.parent = parent;
            made.depth = before.depth + 1;
            made.begin = before.end();
        }
        const Ids own = input.subspan(static_cast<std::size_t>(made.begin));
        made.ids.assign(own.begin(), own.end());
        m_tree.pieces.push_back(std::move(made));
        return m_tree.pieces.size() - 1;
    }

    int endOf(std::optional<std::size_t> piece) const { return piece ? m_tree.pieces[*piece].end() : 0; }

    void addQuestion(std::size_t index, std::optional<std::size_t> root) {
        const std::vector<OptionTokens>& options = m_questions[index];
        const std::vector<std::size_t> firstEqual = equalInputs(options);
        std::size_t different = 0;
        for (std::size_t i = 0; i < options.size(); ++i)
            different += firstEqual[i] == i;
        std::optional<std::size_t> stem = root;
        const Ids shared = sharedBy(options);
        const std::size_t gain = (different - 1) * (shared.size() - static_cast<std::size_t>(endOf(root)));
        if (gain >= leastShared)
            stem = piece(root, shared);
        std::vector<std::optional<std::size_t>> leaves(options.size());
        for (std::size_t i = 0; i < options.size(); ++i) {
            const Ids input = inputOf(options[i]);
            leaves[i] = firstEqual[i] < i                                       ? leaves[firstEqual[i]]
                        : input.size() == static_cast<std::size_t>(endOf(stem)) ? stem
                                                                                : piece(stem, input);
            addTargets(options[i], {index, i}, *leaves[i]);
        }
    }

    /// For each option, the index of the first option with the same input.
    static std::vector<std::size_t> equalInputs(const std::vector<OptionTokens>& options) {
        std::vector<std::size_t> first;
        for (std::size_t i = 0; i < options.size(); ++i) {
            std::size_t equal = 0;
            while (!std::ranges::equal(inputOf(options[equal]), inputOf(options[i])))
                ++equal;
            first.push_back(equal);
        }
        return first;
    }

    /// Adds the targets of an option. Each target goes to the piece that contains its position, on the path from `leaf`
    /// to the root.
    void addTargets(const OptionTokens& option, OptionId id, std::size_t leaf) {
        for (std::size_t i = option.firstScored; i < option.ids.size(); ++i) {
            const int position = static_cast<int>(i) - 1;
            std::size_t holder = leaf;
            while (position < m_tree.pieces[holder].begin)
                holder = *m_tree.pieces[holder].parent;
            m_tree.pieces[holder].targets.push_back({position, option.ids[i], id});
        }
    }

    /// Puts pieces into batches: by depth, then longest first, so that the rows of a batch have similar lengths.
    void makeBatches() {
        std::vector<std::size_t> order(m_tree.pieces.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
            const OptionPiece& first = m_tree.pieces[a];
            const OptionPiece& second = m_tree.pieces[b];
            if (first.depth != second.depth)
                return first.depth < second.depth;
            if (first.ids.size() != second.ids.size())
                return first.ids.size() > second.ids.size();
            return first.begin > second.begin;
        });
        std::int64_t longest = 0;
        std::int64_t last = 0;
        int depth = -1;
        for (const std::size_t index : order) {
            const OptionPiece& next = m_tree.pieces[index];
            const std::int64_t rows = depth == next.depth ? std::ssize(m_tree.batches.back()) + 1 : 1;
            longest = std::max(rows == 1 ? 0 : longest, std::ssize(next.ids));
            last = std::max<std::int64_t>(rows == 1 ? 0 : last, next.end());
            const bool isPadded = (rows - 1) * longest >= enoughTokens && 8 * std::ssize(next.ids) < 7 * longest;
            if (rows == 1 || isPadded || rows * longest > m_batchTokens || rows * last > mostCached * m_batchTokens) {
                m_tree.batches.emplace_back();
                longest = std::ssize(next.ids);
                last = next.end();
            }
            depth = next.depth;
            m_tree.batches.back().push_back(index);
        }
    }

    std::span<const std::vector<OptionTokens>> m_questions;
    std::span<const std::size_t> m_chosen;
    std::int64_t m_batchTokens;
    OptionTree m_tree;
};

} // namespace

std::int64_t OptionTree::tokens() const {
    std::int64_t sum = 0;
    for (const OptionPiece& piece : pieces)
        sum += std::ssize(piece.ids);
    return sum;
}

Batch OptionTree::batch(std::size_t index) const {
    Batch batch;
    for (const std::size_t piece : batches[index])
        batch.positions = std::max(batch.positions, static_cast<int>(pieces[piece].ids.size()));
    for (const std::size_t piece : batches[index]) {
        const OptionPiece& row = pieces[piece];
        batch.ids.insert(batch.ids.end(), row.ids.begin(), row.ids.end());
        batch.lengths.push_back(static_cast<int>(row.ids.size()));
        batch.firstPosition.push_back(row.begin);
        ++batch.rows;
        batch.ids.resize(static_cast<std::size_t>(batch.tokens()), row.ids.back());
    }
    return batch;
}

std::int64_t inputTokens(std::span<const std::vector<OptionTokens>> questions) {
    std::int64_t sum = 0;
    for (const auto& options : questions)
        for (const OptionTokens& option : options)
            sum += std::ssize(inputOf(option));
    return sum;
}

std::vector<std::size_t> neighbourOrder(std::span<const std::vector<OptionTokens>> questions) {
    std::vector<std::size_t> order(questions.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return std::ranges::lexicographical_compare(questions[a].front().ids, questions[b].front().ids);
    });
    return order;
}

OptionTree optionTree(std::span<const std::vector<OptionTokens>> questions, std::span<const std::size_t> chosen,
                      std::int64_t batchTokens) {
    return TreeBuilder(questions, chosen, batchTokens).build();
}

namespace {

/// Maximum bytes of residual streams in memory. For large models it is increased, because their weights are read again
/// in each pass over the layers.
constexpr std::int64_t streamBytes = std::int64_t{256} << 20U;
constexpr std::int64_t streamBytesOfLargeModels = std::int64_t{2} << 30U;

/// Runs all batches of a tree through a layer before the next layer begins, so that only one layer has a KV cache.
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
    /// Batch and row of a piece.
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

    /// A KV cache for the pieces of a batch. It contains the tokens before each piece.
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

    /// Adds up the scores of a batch's targets. Logits are computed only at positions with targets.
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
    std::vector<Place> m_place; ///< batch and row of each piece
    std::vector<Batch> m_batches;
    std::vector<at::Tensor> m_streams;
};

/// Number of questions at the beginning of `order` that have at most `mostTokens` tokens together, but at least 1.
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
                            "Check its weights and the mask");
}

} // namespace

std::vector<std::vector<OptionScore>> scoreOptions(const Model& model, const Plan& plan,
                                                   std::span<const std::vector<OptionTokens>> questions,
                                                   std::int64_t batchTokens, const Progress& progress) {
    if (model.spec().family == Family::encoder)
        throw Error("is an encoder: it cannot score continuations", model.card().path);
    std::vector<std::vector<OptionScore>> scores;
    for (const auto& options : questions)
        scores.emplace_back(options.size());
    const std::vector<std::size_t> order = neighbourOrder(questions);
    const std::int64_t bytes =
        std::min(plan.isResident() ? streamBytes : streamBytesOfLargeModels, model.runner().freeBytes() / 2);
    batchTokens = fittingTokens(model, batchTokens);
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
