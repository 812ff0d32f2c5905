#pragma once

#include "tests/support/judged_run.h"

#include "analysis/tasks/option_scores.h"

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

namespace secateur::test {

using Questions = std::vector<std::vector<OptionTokens>>;
using Scores = std::vector<std::vector<OptionScore>>;

/// A model with a plan. It scores the options of questions, either all together or one by one.
struct OptionRuns {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const Plan> plan;

    explicit OptionRuns(const QString& path, const OpenOptions& options = {})
        : OptionRuns(openModel(path.toStdString(), {}, options)) {}
    explicit OptionRuns(std::shared_ptr<const Model> opened, ComputeType type = ComputeType::float32)
        : model(std::move(opened))
        , plan(model->runner().plan(PruningMask(model->spec()), type)) {}

    Scores scored(const Questions& questions, std::int64_t batchTokens = 4096) const {
        return scoreOptions(*model, *plan, questions, batchTokens);
    }
    /// Scores an option with a single pass over all its tokens, without batching, shared prefixes or a KV cache.
    OptionScore alone(const OptionTokens& option) const {
        const std::vector<int> inputs(option.ids.begin(), option.ids.end() - 1);
        const Batch batch{1, static_cast<int>(inputs.size()), inputs, {}, {}, {}};
        std::vector<int> targets(option.ids.begin() + 1, option.ids.end());
        std::fill_n(targets.begin(), option.firstScored - 1, -1);
        at::Tensor x = model->runner().embed(*plan, batch);
        for (int layer = 0; layer < plan->mask().layerCount(); ++layer)
            x = model->runner().runLayer(*plan, layer, x, batch);
        const TokenLosses losses = model->runner().losses(*plan, x, batch, targets);
        OptionScore score;
        for (std::size_t i = option.firstScored - 1; i < targets.size(); ++i) {
            score.logProbability -= losses.nats[i];
            score.isGreedy = score.isGreedy && losses.greedy[i] != 0;
        }
        return score;
    }
    Scores oneByOne(const Questions& questions) const {
        Scores scores;
        for (const auto& options : questions) {
            scores.emplace_back();
            for (const OptionTokens& option : options)
                scores.back().push_back(alone(option));
        }
        return scores;
    }
};

/// The largest difference of two log probabilities; infinite if an option is greedy in only one of the two lists.
inline double apart(const Scores& found, const Scores& expected) {
    double worst = found.size() == expected.size() ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
        for (std::size_t j = 0; j < expected[i].size(); ++j) {
            worst = std::max(worst, std::abs(found[i].at(j).logProbability - expected[i][j].logProbability));
            if (found[i][j].isGreedy != expected[i][j].isGreedy)
                worst = std::numeric_limits<double>::infinity();
        }
    return worst;
}

} // namespace secateur::test
