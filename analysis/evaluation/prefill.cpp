#include "analysis/evaluation/prefill.h"

#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "analysis/running/layer_observer.h"
#include "analysis/running/runner.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>

namespace secateur {

namespace {

/// Waits until the device has finished. The device runs asynchronously, but reading a number waits for all earlier
/// operations.
void waitFor(const at::Tensor& values) {
    if (!values.device().is_cpu())
        values.flatten().narrow(0, 0, 1).to(at::kCPU);
}

/// Reads the clock at the beginning of each layer, after its attention sublayer and at its end.
class SublayerWatch : public LayerObserver {
public:
    SublayerWatch(const Plan& plan, const Clock& clock)
        : m_clock(clock)
        , m_seconds{zeros(plan), zeros(plan), 0, {}, {}} {}

    bool wants(int, Tap tap) const override {
        return tap == Tap::input || tap == Tap::attentionUpdate || tap == Tap::output;
    }

    void see(int layer, Tap tap, const at::Tensor& values) override {
        waitFor(values);
        const double now = m_clock();
        if (tap == Tap::attentionUpdate)
            m_seconds.attention[static_cast<std::size_t>(layer)] += now - m_last;
        else if (tap == Tap::output)
            m_seconds.mlp[static_cast<std::size_t>(layer)] += now - m_last;
        m_last = now;
    }

    const SublayerSeconds& seconds() const { return m_seconds; }

private:
    static std::vector<double> zeros(const Plan& plan) {
        return std::vector<double>(static_cast<std::size_t>(plan.mask().layerCount()));
    }

    const Clock& m_clock;
    SublayerSeconds m_seconds;
    double m_last = 0;
};

void runPass(const Model& model, const Plan& plan, const Batch& batch, const Progress& quiet, LayerObserver* observer) {
    LayerWalk walk;
    walk.observer = observer;
    walk.finished = [&](std::size_t, const at::Tensor& x) { waitFor(model.runner().lmHead(plan, x, batch, true)); };
    forEachLayer(model.runner(), plan, std::span(&batch, 1), walk, quiet);
}

/// Timed passes of one plan over one batch.
class Passes {
public:
    Passes(const Model& model, const Plan& plan, const Batch& batch, const Clock& clock)
        : m_model(model)
        , m_plan(plan)
        , m_batch(batch)
        , m_clock(clock) {}

    void run(const Progress& quiet) const { runPass(m_model, m_plan, m_batch, quiet, nullptr); }

    void runWatched(const Progress& quiet) {
        SublayerWatch watch(m_plan, m_clock);
        runPass(m_model, m_plan, m_batch, quiet, &watch);
        m_watched.push_back(watch.seconds());
    }

    /// Mean over the passes that were timed by sublayer. @param timing timing of these passes, without warm-up
    SublayerSeconds meanSeconds(const Timing& timing, int warmup) const {
        SublayerSeconds mean = SublayerWatch(m_plan, m_clock).seconds();
        const auto timed = std::span(m_watched).subspan(static_cast<std::size_t>(warmup));
        const auto count = static_cast<double>(timed.size());
        for (SublayerSeconds one : timed) {
            moveEmptySublayers(one);
            mean.attentionRuns.push_back(one.attentionTotal());
            mean.mlpRuns.push_back(one.mlpTotal());
            for (std::size_t layer = 0; layer < mean.attention.size(); ++layer) {
                mean.attention[layer] += one.attention[layer] / count;
                mean.mlp[layer] += one.mlp[layer] / count;
            }
        }
        mean.rest = timing.mean() - mean.total();
        return mean;
    }

private:
    /// If a layer has no MLP, the time after its attention is spent on adding the attention update to the stream. It is
    /// counted as attention. The time of a layer without attention and MLP is counted in SublayerSeconds::rest.
    void moveEmptySublayers(SublayerSeconds& seconds) const {
        for (std::size_t layer = 0; layer < seconds.mlp.size(); ++layer) {
            const LayerMask& mask = m_plan.mask().layer(static_cast<int>(layer));
            if (mask.block && mask.mlp && m_model.spec().layers[layer].ffn > 0)
                continue;
            if (seconds.attention[layer] > 0)
                seconds.attention[layer] += seconds.mlp[layer];
            seconds.mlp[layer] = 0;
        }
    }

    const Model& m_model;
    const Plan& m_plan;
    const Batch& m_batch;
    const Clock& m_clock;
    std::vector<SublayerSeconds> m_watched; ///< one for each pass, including warm-up
};

Prefill timeLength(const Model& model, const TimedPlans& plans, const PrefillRules& rules, const Batch& batch,
                   const Progress& progress) {
    std::vector<Passes> passes;
    for (const Plan* plan : {plans.reference, &plans.run})
        if (plan)
            passes.emplace_back(model, *plan, batch, rules.clock);
    std::vector<TimedWork> works;
    for (const Passes& own : passes)
        works.emplace_back([&own](const Progress& quiet) { own.run(quiet); });
    if (rules.bySublayer)
        for (Passes& own : passes)
            works.emplace_back([&own](const Progress& quiet) { own.runWatched(quiet); });
    const std::vector<Timing> timings =
        timeWorks(works,
                  {.warmup = rules.warmup,
                   .leastRuns = rules.leastRuns,
                   .mostRuns = rules.mostRuns,
                   .takesTurns = plans.takeTurns},
                  rules.clock, progress, fmt::format("a pass over {} tokens", batch.positions));
    const auto timingOf = [&](std::size_t index) {
        PrefillTiming own{timings[index], {}};
        if (rules.bySublayer)
            own.bySublayer = passes[index].meanSeconds(timings[passes.size() + index], rules.warmup);
        return own;
    };
    Prefill prefill{batch.positions, timingOf(passes.size() - 1), {}, {}};
    if (plans.reference) {
        prefill.reference = timingOf(0);
        prefill.speedup = speedup(timings.front(), prefill.run.timing);
    }
    return prefill;
}

void checkLength(const Model& model, int tokens, std::int64_t memory) {
    if (tokens < 1)
        throw UsageError(fmt::format("A pass over {} tokens cannot be timed", tokens));
    const int context = model.spec().context;
    if (context > 0 && tokens > context)
        throw Error(fmt::format("A pass over {} tokens does not fit the model's context of {}", tokens, context),
                    model.card().path);
    const std::int64_t bytes = passBytes(model.spec(), tokens);
    if (memory > 0 && bytes > memory)
        throw Error(fmt::format("A pass over {} tokens takes about {:.1f} GB of memory, of which {:.1f} GB are free",
                                tokens, static_cast<double>(bytes) * 1e-9, static_cast<double>(memory) * 1e-9),
                    model.card().path, "Choose shorter lengths");
}

std::vector<int> lengthsOf(const Model& model, const PrefillRules& rules) {
    return rules.lengths.empty() ? defaultLengths(model.spec()) : rules.lengths;
}

} // namespace

double SublayerSeconds::attentionTotal() const {
    return std::accumulate(attention.begin(), attention.end(), 0.0);
}

double SublayerSeconds::mlpTotal() const {
    return std::accumulate(mlp.begin(), mlp.end(), 0.0);
}

std::vector<int> defaultLengths(const ModelSpec& spec) {
    std::vector<int> lengths;
    for (const int tokens : {128, 512, 2048})
        if (spec.context == 0 || tokens <= spec.context)
            lengths.push_back(tokens);
    return lengths.empty() ? std::vector{spec.context} : lengths;
}

std::int64_t passBytes(const ModelSpec& spec, int tokens) {
    constexpr std::int64_t numberBytes = 4;
    constexpr std::int64_t streams = 4; // the input, the normalised input, the update and the sum
    const std::int64_t logits = spec.family == Family::decoder ? spec.vocab : 0;
    std::int64_t widest = 0;
    for (const LayerSpec& layer : spec.layers) {
        const std::int64_t heads = std::int64_t{layer.heads} * layer.headDim;
        const std::int64_t groups = std::int64_t{layer.kvHeads} * layer.headDim;
        // Queries, keys and values are stored twice: as projected, and arranged by head. The contexts of the heads are
        // added.
        widest = std::max(widest, 2 * (heads + 2 * groups) + heads);
        // The MLP needs memory for all tokens only if its output is normalised. Otherwise it runs on a few tokens at a
        // time.
        if (spec.normPlace == NormPlace::sandwich)
            widest = std::max(widest, std::int64_t{layer.ffn} * (spec.gatedMlp ? 3 : 2) + spec.hidden);
    }
    return numberBytes * (std::int64_t{tokens} * (streams * spec.hidden + widest) + logits);
}

void checkLengths(const Model& model, const PrefillRules& rules) {
    for (const int tokens : lengthsOf(model, rules))
        checkLength(model, tokens, rules.memory);
}

std::vector<Prefill> prefillTimes(const Model& model, const TimedPlans& plans, const PrefillRules& rules,
                                  const Progress& progress) {
    checkLengths(model, rules);
    const std::vector<int> lengths = lengthsOf(model, rules);
    const double total = std::accumulate(lengths.begin(), lengths.end(), 0.0);
    double done = 0;
    std::vector<Prefill> prefills;
    for (const int tokens : lengths) {
        const Batch batch{1, tokens, firstTokens(model.spec(), rules.text, tokens), {}, {}, {}};
        prefills.push_back(
            timeLength(model, plans, rules, batch, progress.part(done / total, (done + tokens) / total)));
        done += tokens;
    }
    model.checkFiles();
    progress.report(1, "done");
    return prefills;
}

double latencySeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask, const LatencyRules& rules,
                      double stepSeconds) {
    const RunSize prompt{rules.promptTokens, rules.promptTokens, 1};
    // Even for a short prompt, a pass takes at least as long as one generation step, because all weights are read.
    const double begun = std::max(stepSeconds, runSeconds(speed, spec, mask, prompt));
    return (rules.warmup + rules.runs) * (begun + rules.newTokens * stepSeconds);
}

double prefillSeconds(const RunSpeed& speed, const ModelSpec& spec, const PruningMask& mask,
                      const PrefillRules& rules) {
    double seconds = 0;
    for (const int tokens : rules.lengths.empty() ? defaultLengths(spec) : rules.lengths)
        seconds += runSeconds(speed, spec, mask, {tokens, tokens, 1});
    return (rules.warmup + rules.leastRuns) * (rules.bySublayer ? 2 : 1) * seconds;
}

} // namespace secateur
