#pragma once

#include "tests/support/counting_model.h"

#include "analysis/evaluation/latency.h"

namespace secateur::test {

/// The simulated duration in seconds of each part of a forward pass.
struct PartSeconds {
    double embedding = 0.5;
    double lmHead = 0.25;
    double attention = 2; ///< of layer 0; each further layer takes one second more
    double mlp = 8;       ///< of layer 0; each further layer takes one second more
};

/// Runs a model and advances a simulated clock by the durations in `parts`. Records the plan of each pass.
class TimedRunner : public CountingRunner {
public:
    explicit TimedRunner(const Runner& runner)
        : CountingRunner(runner) {}

    PartSeconds parts;
    mutable double now = 1000;
    mutable std::vector<const Plan*> passes; ///< the plan of each call of embed()
    mutable int watched = 0;                 ///< calls of runLayer() with an observer

    at::Tensor embed(const Plan& plan, const Batch& batch) const override {
        now += parts.embedding;
        passes.push_back(&plan);
        return CountingRunner::embed(plan, batch);
    }
    at::Tensor runLayer(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch, KvCache* cache,
                        LayerObserver* observer) const override {
        watched += observer ? 1 : 0;
        Mover mover(*this, observer);
        return CountingRunner::runLayer(plan, layer, x, batch, cache, &mover);
    }
    at::Tensor lmHead(const Plan& plan, const at::Tensor& x, const Batch& batch, bool lastOnly) const override {
        now += parts.lmHead;
        return CountingRunner::lmHead(plan, x, batch, lastOnly);
    }

private:
    /// Advances the clock when the attention of a layer is done, and again when its MLP is done. It then passes the
    /// activation on to the wrapped observer, which reads the new time.
    class Mover : public LayerObserver {
    public:
        Mover(const TimedRunner& runner, LayerObserver* inner)
            : m_runner(runner)
            , m_inner(inner) {}

        bool wants(int layer, Tap tap) const override {
            return tap == Tap::attentionUpdate || tap == Tap::output || (m_inner && m_inner->wants(layer, tap));
        }
        void see(int layer, Tap tap, const at::Tensor& values) override {
            if (tap == Tap::attentionUpdate)
                m_runner.now += m_runner.parts.attention + layer;
            if (tap == Tap::output)
                m_runner.now += m_runner.parts.mlp + layer;
            if (m_inner && m_inner->wants(layer, tap))
                m_inner->see(layer, tap, values);
        }

    private:
        const TimedRunner& m_runner;
        LayerObserver* m_inner;
    };
};

class TimedModel : public Model {
public:
    explicit TimedModel(std::shared_ptr<const Model> model)
        : m_model(std::move(model))
        , timed(m_model->runner()) {}

    const ModelCard& card() const override { return m_model->card(); }
    bool has(int layer, WeightName which) const override { return m_model->has(layer, which); }
    at::Tensor tensor(int layer, WeightName which) const override { return m_model->tensor(layer, which); }
    std::string place(int layer, WeightName which) const override { return m_model->place(layer, which); }
    std::string fingerprint() const override { return m_model->fingerprint(); }
    const Runner& runner() const override { return timed; }
    Clock clock() const {
        return [this] { return timed.now; };
    }

private:
    std::shared_ptr<const Model> m_model;

public:
    TimedRunner timed;
};

} // namespace secateur::test
