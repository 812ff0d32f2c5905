#pragma once

#include "tests/support/engine_case.h"

#include "analysis/metrics/measure.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/prune.h"

#include <QtTest>

#include <memory>
#include <optional>
#include <vector>

namespace secateur::test {

/// A small model of tests/data/forward and token sequences on which strategies measure.
struct StrategyCase {
    std::shared_ptr<const Model> model;
    std::vector<TokenSequence> sequences;

    /// @param name folder; "deci ragged" is the GGUF file of deci, whose layers have different shapes
    /// @param memory budget of the engine in bytes; 0 = none
    explicit StrategyCase(const QString& name, std::vector<std::vector<int>> tokens = {}, std::int64_t memory = 0)
        : model(openModel(data()
                              .filePath("forward/" + name.section(' ', 0, 0) +
                                        (name.endsWith("ragged") ? "/model.gguf" : "/model.safetensors"))
                              .toStdString(),
                          {}, onDevice({.memoryBudget = memory}))) {
        if (tokens.empty())
            tokens = drawnTokens();
        for (const std::vector<int>& ids : tokens) {
            TokenSequence& sequence = sequences.emplace_back();
            sequence.ids = ids;
            sequence.types.assign(ids.size(), 0);
        }
    }

    const ModelSpec& spec() const { return model->spec(); }
    PruningMask dense() const { return PruningMask(spec()); }

    PruneInputs inputs() const {
        PruneInputs all;
        all.measure = [this](const MetricRequest& metric, const Progress& progress) {
            return measured(metric, dense(), progress);
        };
        all.text = CalibrationText{.sequences = sequences, .batchTokens = 32, .type = ComputeType::float32};
        return all;
    }

    /// The values of a metric under a mask.
    MetricResult measured(const MetricRequest& metric, const PruningMask& mask, const Progress& progress = {}) const {
        const auto readInput = [&](const Progress&) {
            MeasureInput input;
            input.plan = model->runner().plan(mask, ComputeType::float32);
            input.text.set.sequences = sequences;
            return input;
        };
        return measure(*model, std::array{metric}, readInput, progress).front();
    }

    static PruneRequest request(const QString& strategy, const QString& budget, const char* protect = "none") {
        return {parseStrategyRequest(strategy.toStdString()), parseBudget(budget.toStdString()), protect, 3, {}};
    }
    PruneResult pruned(const PruneRequest& wanted) const { return prune(*model, wanted, inputs(), {}); }
    PruneResult pruned(const QString& strategy, const QString& budget) const {
        return pruned(request(strategy, budget));
    }

private:
    std::vector<std::vector<int>> drawnTokens() const {
        std::mt19937 random(11);
        std::vector<std::vector<int>> tokens;
        for (const std::size_t length : {14, 9, 11, 6}) {
            std::vector<int>& ids = tokens.emplace_back();
            for (std::size_t i = 0; i < length; ++i)
                ids.push_back(3 + static_cast<int>(random() % static_cast<unsigned>(spec().vocab - 3)));
        }
        return tokens;
    }
};

/// A path with everything that it refers to.
struct StrategyPath {
    PruneRequest request;
    PruneInputs inputs;
    PruneContext context;
    std::unique_ptr<PrunePath> path;

    StrategyPath(const StrategyCase& c, const QString& strategy)
        : request(StrategyCase::request(strategy, "0"))
        , inputs(c.inputs())
        , context(contextOf(*c.model, request, inputs)) {
        context.checksBudget = false;
        path = request.strategy.info->begin(context, {});
    }
};

} // namespace secateur::test
