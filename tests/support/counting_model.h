#pragma once

#include "tests/support/judged_run.h"

#include "analysis/running/runner_results.h"

#include <limits>
#include <set>

namespace secateur::test {

/// Forwards every call to another runner. Records the layers that run and counts some of the calls.
class CountingRunner : public Runner {
public:
    explicit CountingRunner(const Runner& runner)
        : m_runner(runner) {}

    mutable std::vector<int> layers; ///< the layer of each call of runLayer() and recordLayer(), in order
    mutable int scored = 0;          ///< calls of losses()
    mutable int recorded = 0;        ///< calls of recordLayer()
    mutable int pulled = 0;          ///< number of gradients propagated backward through a layer
    std::int64_t memoryLeft = std::numeric_limits<std::int64_t>::max(); ///< result of freeBytes()
    void forget() { layers.clear(), scored = 0, recorded = 0, pulled = 0; }
    std::set<int> distinct() const { return {layers.begin(), layers.end()}; }

    std::shared_ptr<const Plan> plan(const PruningMask& mask, ComputeType type) const override {
        return m_runner.plan(mask, type);
    }
    std::shared_ptr<const Plan> planWith(std::shared_ptr<const PlanAdapters> adapters,
                                         const PruningMask& mask) const override {
        return m_runner.planWith(std::move(adapters), mask);
    }
    at::Tensor embed(const Plan& plan, const Batch& batch) const override { return m_runner.embed(plan, batch); }
    at::Tensor runLayer(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch, KvCache* cache,
                        LayerObserver* observer) const override {
        layers.push_back(layer);
        return m_runner.runLayer(plan, layer, x, batch, cache, observer);
    }
    void runVariants(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                     std::span<const LayerMask> variants, const VariantSink& sink) const override {
        m_runner.runVariants(plan, layer, x, batch, variants, sink);
    }
    void backwardEach(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                      std::span<const OutputGradient> pulls, const BackwardSink& sink,
                      std::span<const float> attentionScales) const override {
        pulled += static_cast<int>(pulls.size());
        m_runner.backwardEach(plan, layer, x, batch, pulls, sink, attentionScales);
    }
    std::unique_ptr<RecordedLayer> recordLayer(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                                               std::span<const Tap> wanted) const override {
        layers.push_back(layer);
        ++recorded;
        return std::make_unique<Recorded>(m_runner.recordLayer(plan, layer, x, batch, wanted), pulled);
    }
    std::int64_t recordedBytes(int layer, const Batch& batch, std::span<const Tap> wanted) const override {
        return m_runner.recordedBytes(layer, batch, wanted);
    }
    std::int64_t freeBytes() const override { return memoryLeft; }
    at::Tensor lmHead(const Plan& plan, const at::Tensor& x, const Batch& batch, bool lastOnly) const override {
        return m_runner.lmHead(plan, x, batch, lastOnly);
    }
    TokenLosses losses(const Plan& plan, const at::Tensor& x, const Batch& batch,
                       std::span<const int> targets) const override {
        ++scored;
        return m_runner.losses(plan, x, batch, targets);
    }
    TopTokens topTokens(const Plan& plan, const at::Tensor& x, const Batch& batch, std::span<const int> targets,
                        int count) const override {
        return m_runner.topTokens(plan, x, batch, targets, count);
    }
    DenseComparison comparison(const Plan& plan, const at::Tensor& x, const Batch& batch, std::span<const int> targets,
                               const TopTokens& dense) const override {
        ++scored;
        return m_runner.comparison(plan, x, batch, targets, dense);
    }
    LossGradient lossGradient(const Plan& plan, const at::Tensor& x, const Batch& batch, Scalarisation of,
                              std::span<const int> targets, std::span<const float> weights,
                              const TeacherTargets* teacher) const override {
        return m_runner.lossGradient(plan, x, batch, of, targets, weights, teacher);
    }
    std::unique_ptr<KvCache> cache(const Plan& plan, int rows, int capacity, std::optional<int> layer) const override {
        return m_runner.cache(plan, rows, capacity, layer);
    }

private:
    class Recorded : public RecordedLayer {
    public:
        Recorded(std::unique_ptr<RecordedLayer> layer, int& pulled)
            : m_layer(std::move(layer))
            , m_pulled(pulled) {}
        at::Tensor output() const override { return m_layer->output(); }
        void backwardEach(std::span<const OutputGradient> pulls, const BackwardSink& sink) override {
            m_pulled += static_cast<int>(pulls.size());
            m_layer->backwardEach(pulls, sink);
        }

    private:
        std::unique_ptr<RecordedLayer> m_layer;
        int& m_pulled;
    };

    const Runner& m_runner;
};

/// A model whose runner records and counts its calls.
class CountingModel : public Model {
public:
    explicit CountingModel(std::shared_ptr<const Model> model)
        : m_model(std::move(model))
        , counted(m_model->runner()) {}

    const ModelCard& card() const override { return m_model->card(); }
    bool has(int layer, WeightName which) const override { return m_model->has(layer, which); }
    at::Tensor tensor(int layer, WeightName which) const override { return m_model->tensor(layer, which); }
    std::string place(int layer, WeightName which) const override { return m_model->place(layer, which); }
    std::string fingerprint() const override { return m_model->fingerprint(); }
    const Runner& runner() const override { return counted; }
    const Kernels& kernels() const override { return m_model->kernels(); }

private:
    std::shared_ptr<const Model> m_model;

public:
    CountingRunner counted;
};

} // namespace secateur::test
