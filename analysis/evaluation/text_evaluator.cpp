#include "analysis/evaluation/text_evaluator.h"

#include "analysis/base/bytes.h"
#include "analysis/base/error.h"
#include "analysis/evaluation/perplexity.h"
#include "analysis/evaluation/text_evaluator_state.h"
#include "analysis/masks/price.h"
#include "analysis/model/far_model.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/run_speed.h"
#include "analysis/running/runner.h"
#include "analysis/running/stream_cache.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <list>

namespace secateur {

namespace {

using SteadyClock = std::chrono::steady_clock;

/// Number of masks whose losses are stored, so that undoing an edit needs no new run.
constexpr std::size_t mostRuns = 32;
/// Maximum time of a batch of the dense model, as a share of groupSeconds. In the first group a batch runs twice: with
/// the dense model and under the mask.
constexpr double batchShare = 0.25;
/// Maximum time of the first group under a mask, as a share of groupSeconds, so that an edit has a figure soon.
constexpr double firstGroupShare = 0.5;

double secondsSince(SteadyClock::time_point begin) {
    return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

/// The losses under one mask.
struct MaskRun {
    StreamCache::Mask mask;
    std::vector<double> shares;     ///< result of operationShares()
    std::vector<WindowLoss> losses; ///< one for each window of the text; with 0 tokens if it is not scored yet
    std::size_t done = 0;           ///< number of batches that are scored
};

} // namespace

class TextEvaluator::OwnState : public State {
public:
    OwnState(const Model& model, ScoredText scored, const EvaluatorOptions& options, const Progress& progress)
        : State(std::move(scored))
        , m_model(model)
        , m_runner(model.runner())
        , m_layers(model.spec().layerCount())
        , m_groupSeconds(options.groupSeconds)
        , m_isAlone(options.alone)
        , m_cluster(options.cluster)
        , m_dense(newRun(PruningMask(model.spec())))
        , m_densePlan(m_runner.plan(*m_dense.mask, options.type)) {
        if (!model.has(-1, WeightName::lmHead))
            throw Error("has no LM head: texts cannot be scored", model.card().path);
        const RunSpeed speed = runSpeed(model, *m_densePlan, progress);
        m_secondsPerToken = runSeconds(speed, model.spec(), *m_dense.mask, {1, text.rules.window, 1});
        if (m_cluster) // the size of batches depends on it
            m_secondsPerToken = unpacked<double>(m_cluster->broadcast(packed(m_secondsPerToken)));
        m_all = shuffledBatches(text, timelyTokens(fittingTokens(model, options.batchTokens)));
        std::int64_t tokens = 0;
        for (const Batch& batch : m_all.batches)
            tokens += batch.tokens();
        const std::int64_t streamBytes = tokens * model.spec().hidden * static_cast<std::int64_t>(sizeof(float));
        m_streams.emplace(m_dense.mask, m_all.batches.size(), streamBytes, options.streamBudget);
    }

    MaskEvaluation evaluate(const PruningMask& mask, const Sink& sink, const Progress& progress) override {
        mask.checkFits(m_model.spec());
        MaskRun& run = runOf(mask);
        const auto plan = isDense(run) ? m_densePlan : m_runner.plan(mask, m_densePlan->type());
        m_reused = m_layers;
        if (m_cluster)
            return evaluateTogether(run, *plan, progress);
        m_work = {progress, 0, secondsLeft(run) / m_secondsPerToken};
        while (run.done < m_all.batches.size()) {
            const std::size_t end = groupEnd(run, plan->isResident());
            if (!isDense(run) && !m_isAlone)
                runTo(end, m_dense, *m_densePlan);
            m_reused = std::min(m_reused, runTo(end, run, *plan));
            if (sink)
                sink(result(run));
        }
        progress.report(1, "done");
        return result(run);
    }

    MaskEvaluation evaluateTogether(MaskRun& run, const Plan& plan, const Progress& progress) {
        const bool needsBoth = !isDense(run) && !m_isAlone && m_dense.done < m_all.batches.size();
        if (needsBoth)
            scoreTogether(m_dense, *m_densePlan, progress.part(0, 0.5));
        m_reused = std::min(m_reused, scoreTogether(run, plan, progress.part(needsBoth ? 0.5 : 0, 1)));
        progress.report(1, "done");
        return result(run);
    }

    std::optional<MaskEvaluation> known(const PruningMask& mask) const override {
        const MaskRun* run = find(mask);
        if (!run || run->done == 0)
            return std::nullopt;
        MaskEvaluation all = result(*run);
        all.reusedLayers = m_layers;
        return all.run.windows.empty() ? std::nullopt : std::optional(std::move(all));
    }

    void know(const PruningMask& mask, std::span<const WindowLoss> losses) override {
        mask.checkFits(m_model.spec());
        MaskRun& run = runOf(mask);
        std::vector<WindowLoss> known(run.losses.size());
        for (const WindowLoss& loss : losses) {
            if (loss.index >= known.size())
                throw Error(
                    fmt::format("The text has {} windows, but there is a loss of window {}", known.size(), loss.index));
            known[loss.index] = loss;
        }
        for (; run.done < m_all.batches.size(); ++run.done) {
            const std::vector<std::size_t>& windows = m_all.rows[run.done].windows;
            if (!std::ranges::all_of(windows, [&](std::size_t window) { return known[window].tokens > 0; }))
                break;
            for (const std::size_t window : windows)
                run.losses[window] = known[window];
        }
    }

    double expectedSeconds(const PruningMask& mask) const override {
        mask.checkFits(m_model.spec());
        const MaskRun* run = find(mask);
        return run ? secondsLeft(*run) : secondsLeft(newRun(mask));
    }

    ComputeType type() const override { return m_densePlan->type(); }
    int streamInterval() const override { return m_streams->interval(); }
    std::int64_t streamBytes() const override { return m_streams->bytes(); }

private:
    /// Divides progress among parts of the work by their numbers of operations, in tokens of a pass of the dense model:
    /// not by expected seconds, because the expected speed changes as work goes on.
    struct Work {
        Progress progress;
        double done = 0;
        double all = 0;

        Progress next(double tokens) {
            const double from = fraction();
            done += tokens;
            return progress.part(from, fraction());
        }
        double fraction() const { return all > 0 ? std::min(1.0, done / all) : 0; }
    };

    bool isDense(const MaskRun& run) const { return run.mask == m_dense.mask; }
    /// Whether the dense model has to run a batch before the mask does.
    bool needsDense(const MaskRun& run, std::size_t batch) const {
        return !m_isAlone && batch >= m_dense.done && !isDense(run);
    }
    MaskRun newRun(const PruningMask& mask) const {
        return {std::make_shared<const PruningMask>(mask), operationShares(m_model.spec(), mask, text.rules.window),
                std::vector<WindowLoss>(text.windows.sequences.size()), 0};
    }

    const MaskRun* find(const PruningMask& mask) const {
        if (mask == *m_dense.mask)
            return &m_dense;
        const auto found = std::ranges::find_if(m_runs, [&](const MaskRun& run) { return *run.mask == mask; });
        return found == m_runs.end() ? nullptr : &*found;
    }

    /// The run of a mask, a new one if there is none. It becomes the first of m_runs.
    MaskRun& runOf(const PruningMask& mask) {
        if (mask == *m_dense.mask)
            return m_dense;
        const auto found = std::ranges::find_if(m_runs, [&](const MaskRun& run) { return *run.mask == mask; });
        if (found != m_runs.end())
            m_runs.splice(m_runs.begin(), m_runs, found);
        else
            m_runs.push_front(newRun(mask));
        if (m_runs.size() > mostRuns)
            m_runs.pop_back();
        return m_runs.front();
    }

    std::int64_t timelyTokens(std::int64_t most) const {
        const double timely = batchShare * m_groupSeconds / m_secondsPerToken;
        return timely < static_cast<double>(most) ? static_cast<std::int64_t>(timely) : most;
    }

    /// Expected seconds of a batch under a mask, beginning at the layer at which its run can resume.
    double seconds(const MaskRun& run, std::size_t batch) const {
        const int first = m_streams->resumeLayer(batch, *run.mask, needsDense(run, batch));
        return run.shares[static_cast<std::size_t>(first)] * m_secondsPerToken *
               static_cast<double>(m_all.batches[batch].tokens());
    }

    /// Expected seconds of a batch, including the dense model's run if it is needed.
    double secondsWithDense(const MaskRun& run, std::size_t batch) const {
        return seconds(run, batch) + (needsDense(run, batch) ? seconds(m_dense, batch) : 0);
    }

    double secondsLeft(const MaskRun& run) const {
        double sum = 0;
        for (std::size_t batch = run.done; batch < m_all.batches.size(); ++batch)
            sum += secondsWithDense(run, batch);
        return sum;
    }

    /// Index of the batch after the next group. A group has as many blocks as fit groupSeconds (the first: a share of
    /// it), but at least one. If every group has to read the weights again, each group is twice as long as the previous
    /// one.
    std::size_t groupEnd(const MaskRun& run, bool isResident) const {
        const double most = (run.done == 0 ? firstGroupShare : 1) * m_groupSeconds;
        double sum = 0;
        std::size_t end = run.done;
        for (const std::size_t blockEnd : m_all.blockEnds) {
            if (blockEnd <= run.done)
                continue;
            for (std::size_t batch = end; batch < blockEnd; ++batch)
                sum += secondsWithDense(run, batch);
            const bool isTimely = sum <= most || (!isResident && blockEnd <= 2 * run.done);
            if (end > run.done && !isTimely)
                break;
            end = blockEnd;
        }
        return end;
    }

    /// Runs batches up to the index `end`. @returns the lowest layer that ran
    int runTo(std::size_t end, MaskRun& run, const Plan& plan) {
        int lowest = m_layers;
        while (run.done < end) {
            const std::size_t first = run.done;
            const std::size_t count = plan.isResident() ? 1 : end - first;
            double expected = 0;
            double tokens = 0;
            for (std::size_t batch = first; batch < first + count; ++batch) {
                expected += seconds(run, batch);
                tokens += static_cast<double>(m_all.batches[batch].tokens());
            }
            const auto begin = SteadyClock::now();
            const int firstLayer = score(run, plan, first, count, m_work.next(expected / m_secondsPerToken));
            if (isDense(run) && firstLayer == 0)
                addTime(secondsSince(begin), tokens, first == 0);
            lowest = std::min(lowest, firstLayer);
        }
        return lowest;
    }

    /// Updates the speed, a mean over the batches of the dense model. The first batch is left out, because it converts
    /// the weights.
    void addTime(double seconds, double tokens, bool isFirst) {
        if (isFirst)
            return;
        m_denseSeconds += seconds;
        m_denseTokens += tokens;
        m_secondsPerToken = m_denseSeconds / m_denseTokens;
    }

    /// Runs batches together and stores their losses. @returns the first layer that ran
    int score(MaskRun& run, const Plan& plan, std::size_t first, std::size_t count, const Progress& progress) {
        LayerWalk walk;
        walk.firstLayer = m_layers;
        for (std::size_t batch = first; batch < first + count; ++batch)
            walk.firstLayer = std::min(walk.firstLayer, m_streams->resumeLayer(batch, *run.mask));
        const auto of = isDense(run) ? StreamCache::Of::dense : StreamCache::Of::mask;
        for (std::size_t batch = first; batch < first + count; ++batch)
            m_streams->begin(batch, of, run.mask, walk.firstLayer);
        if (walk.firstLayer > 0)
            walk.start = [&](std::size_t i) { return m_streams->stream(first + i, *run.mask, walk.firstLayer); };
        walk.passed = [&](int layer, std::size_t i, const at::Tensor& output) {
            m_streams->keep(first + i, of, layer + 1, output);
        };
        walk.finished = [&](std::size_t i, const at::Tensor& x) {
            const std::size_t batch = first + i;
            const auto losses = rowLosses(m_model, plan, x, m_all.batches[batch], m_all.rows[batch], progress);
            m_model.checkFiles(); // checked before any loss is stored
            for (const WindowLoss& loss : losses)
                run.losses[loss.index] = loss;
            ++run.done;
        };
        forEachLayer(m_runner, plan, std::span(m_all.batches).subspan(first, count), walk, progress);
        return walk.firstLayer;
    }

    /// Shares out the batches that are not scored yet. @returns the lowest layer that ran
    int scoreTogether(MaskRun& run, const Plan& plan, const Progress& progress) {
        const std::size_t begin = run.done;
        int lowest = m_layers;
        const auto runSome = [&](std::size_t first, std::size_t count, const Progress& own) {
            MaskRun part = run;
            part.done = begin + first;
            const int layer = score(part, plan, begin + first, count, own);
            std::vector<std::string> bytes;
            for (std::size_t batch = begin + first; batch < part.done; ++batch) {
                std::vector<WindowLoss> losses;
                for (const std::size_t window : m_all.rows[batch].windows)
                    losses.push_back(part.losses[window]);
                Packer packer;
                packer.put(layer);
                packer.put(losses);
                bytes.push_back(packer.take());
            }
            return bytes;
        };
        const auto take = [&](std::size_t, std::string_view bytes) {
            Unpacker unpacker(bytes);
            int layer = 0;
            std::vector<WindowLoss> losses;
            unpacker.get(layer);
            unpacker.get(losses);
            lowest = std::min(lowest, layer);
            for (const WindowLoss& loss : losses)
                run.losses[loss.index] = loss;
            ++run.done;
        };
        shareBatches(*m_cluster, m_all.batches.size() - begin, plan.isResident(), runSome, take, progress);
        run.losses = unpacked<std::vector<WindowLoss>>(m_cluster->broadcast(packed(run.losses)));
        run.done = m_all.batches.size();
        return lowest;
    }

    MaskEvaluation result(const MaskRun& run) const {
        MaskEvaluation all{perplexityOf(text, run.losses),
                           {},
                           {},
                           text.windows.sequences.size(),
                           m_reused,
                           m_streams->interval(),
                           secondsLeft(run)};
        if (m_isAlone)
            return all;
        std::vector<WindowLoss> same = m_dense.losses;
        for (std::size_t i = 0; i < same.size(); ++i)
            same[i].tokens = run.losses[i].tokens;
        all.dense = perplexityOf(text, same);
        if (!all.run.windows.empty())
            all.difference = pairedDifference(all.run, all.dense);
        return all;
    }

    const Model& m_model;
    const Runner& m_runner;
    int m_layers;
    double m_groupSeconds;
    bool m_isAlone;
    const Cluster* m_cluster; ///< null = none
    MaskRun m_dense;
    std::shared_ptr<const Plan> m_densePlan;
    std::list<MaskRun> m_runs; ///< the most recent run first
    ScoredBatches m_all;       ///< result of shuffledBatches()
    std::optional<StreamCache> m_streams;
    double m_secondsPerToken = 0; ///< speed of the dense model
    double m_denseSeconds = 0;
    double m_denseTokens = 0;
    int m_reused = 0;
    Work m_work;
};

TextEvaluator::TextEvaluator(const Model& model, ScoredText text, const EvaluatorOptions& options,
                             const Progress& progress)
    : m_state(farModel(model) ? std::unique_ptr<State>(
                                    std::make_unique<FarState>(*farModel(model), std::move(text), options, progress))
                              : std::make_unique<OwnState>(model, std::move(text), options, progress)) {}

TextEvaluator::~TextEvaluator() = default;

const ScoredText& TextEvaluator::text() const {
    return m_state->text;
}

ComputeType TextEvaluator::type() const {
    return m_state->type();
}

int TextEvaluator::streamInterval() const {
    return m_state->streamInterval();
}

std::int64_t TextEvaluator::streamBytes() const {
    return m_state->streamBytes();
}

double TextEvaluator::expectedSeconds(const PruningMask& mask) const {
    return m_state->expectedSeconds(mask);
}

MaskEvaluation TextEvaluator::evaluate(const PruningMask& mask, const Sink& sink, const Progress& progress) {
    return m_state->evaluate(mask, sink, progress);
}

std::optional<MaskEvaluation> TextEvaluator::known(const PruningMask& mask) const {
    return m_state->known(mask);
}

void TextEvaluator::know(const PruningMask& mask, std::span<const WindowLoss> losses) {
    m_state->know(mask, losses);
}

} // namespace secateur
