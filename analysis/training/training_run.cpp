#include "analysis/training/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

namespace secateur {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t timedSteps = 5; ///< steps from whose time the number of all steps is computed
constexpr std::int64_t usualScores = 10;

double secondsSince(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

HeldOutScore scoreOf(std::int64_t step, std::span<const ExampleLoss> losses) {
    return {step, meanNats(losses), accuracyOf(losses)};
}

TrainingState withoutMoments(TrainingState state) {
    for (TrainedTensor& tensor : state.tensors)
        tensor.firstMoment = tensor.secondMoment = {};
    return state;
}

class RunningTraining {
public:
    RunningTraining(TrainingRun& run, const Model& model, const PruningMask& mask, const TrainingSet& set,
                    std::span<const TrainingExample> heldOut, const TrainingCallbacks& callbacks, TeacherStore* teacher)
        : m_run(run)
        , m_model(model)
        , m_mask(mask)
        , m_heldOut(heldOut)
        , m_callbacks(callbacks)
        , m_trainer(model, mask, set, run.settings, teacher) {
        if (!run.records.empty())
            m_trainer.resume(run.state);
        m_trainer.setSteps(run.steps > 0 ? run.steps : m_trainer.steps());
        m_run.steps = m_trainer.steps();
    }

    void go(const Progress& progress) {
        begin(progress);
        try {
            while (!isDone())
                step(progress);
            finish();
        } catch (...) {
            save();
            throw;
        }
        save();
    }

private:
    /// Scores the dense and the pruned model if they are not known, and the last step if the run was stopped before its
    /// score.
    void begin(const Progress& progress) {
        if (m_heldOut.empty())
            return;
        if (!m_run.scores.empty()) {
            if (m_run.scores.back().step < m_trainer.step() && isScored())
                score(progress.part(0, 0));
            return;
        }
        if (m_run.dense.empty())
            m_run.dense = exampleLosses(m_model, PruningMask(m_model.spec()), m_heldOut, progress.part(0, 0));
        m_run.pruned = exampleLosses(m_model, m_mask, m_heldOut, progress.part(0, 0));
        m_run.scores.push_back(scoreOf(0, m_run.pruned));
        if (m_callbacks.scored)
            m_callbacks.scored(m_run);
    }

    bool isDone() const {
        const bool isPatient = m_run.patience == 0 || sinceBest() < m_run.patience;
        return !isPatient || (m_run.steps > 0 && m_trainer.step() >= m_run.steps);
    }

    /// Number of scores since the lowest loss.
    int sinceBest() const {
        const auto lowest = std::ranges::min_element(m_run.scores, {}, &HeldOutScore::lossNats);
        return m_run.scores.empty() ? 0 : static_cast<int>(m_run.scores.end() - lowest) - 1;
    }

    void step(const Progress& progress) {
        const auto begun = Clock::now();
        const double done =
            m_run.steps > 0 ? static_cast<double>(m_trainer.step()) / static_cast<double>(m_run.steps) : 0;
        const double next =
            m_run.steps > 0 ? static_cast<double>(m_trainer.step() + 1) / static_cast<double>(m_run.steps) : 0;
        progress.report(done, text());
        const StepResult result = m_trainer.train(progress.part(done, next).named(text()));
        m_run.records.push_back({result.lossNats, result.learningRate, result.tokens, secondsSince(begun)});
        if (m_run.steps == 0 && m_trainer.step() >= timedSteps)
            setSteps();
        if (m_callbacks.stepped)
            m_callbacks.stepped(m_run);
        if (isScored())
            score(progress.part(next, next));
        if (secondsSince(m_saved) >= m_run.saveSeconds)
            save();
    }

    std::string text() const {
        if (m_run.records.empty())
            return "first step";
        const auto recent = std::min<std::ptrdiff_t>(std::ssize(m_run.records), 20);
        const double sum = std::accumulate(m_run.records.end() - recent, m_run.records.end(), 0.0,
                                           [](double all, const StepRecord& record) { return all + record.lossNats; });
        return fmt::format("step {}, loss {:.3f}, {:.0f} tokens/s", m_trainer.step() + 1,
                           sum / static_cast<double>(recent),
                           static_cast<double>(m_run.tokens()) / std::max(1e-9, m_run.seconds()));
    }

    /// The number of steps that fit into the asked minutes, by the time of the steps so far without the first, which
    /// also converts weights.
    void setSteps() {
        const double seconds = m_run.seconds() - m_run.records.front().seconds;
        const double each = seconds / static_cast<double>(m_run.records.size() - 1);
        const double left = m_run.settings.minutes * 60 - m_run.seconds();
        m_run.steps = m_trainer.step() + std::max<std::int64_t>(1, std::llround(left / std::max(1e-6, each)));
        m_trainer.setSteps(m_run.steps);
    }

    bool isScored() const {
        if (m_heldOut.empty() || m_run.steps == 0)
            return false;
        const std::int64_t every =
            m_run.scoreEvery > 0 ? m_run.scoreEvery : std::max<std::int64_t>(1, m_run.steps / usualScores);
        return m_trainer.step() % every == 0 || m_trainer.step() == m_run.steps;
    }

    void score(const Progress& progress) {
        const std::vector<ExampleLoss> losses = m_trainer.losses(m_heldOut, progress);
        const HeldOutScore own = scoreOf(m_trainer.step(), losses);
        const bool isBest = std::ranges::all_of(
            m_run.scores, [&](const HeldOutScore& other) { return other.step == 0 || own.lossNats < other.lossNats; });
        m_run.scores.push_back(own);
        if (isBest) {
            m_run.best = withoutMoments(m_trainer.state());
            m_run.recovered = losses;
        }
        if (m_callbacks.scored)
            m_callbacks.scored(m_run);
    }

    void finish() {
        m_run.isDone = true;
        if (m_run.best.tensors.empty())
            m_run.best = withoutMoments(m_trainer.state());
    }

    void save() {
        m_run.state = m_trainer.state();
        m_saved = Clock::now();
        if (m_callbacks.save)
            m_callbacks.save(m_run);
    }

    TrainingRun& m_run;
    const Model& m_model;
    const PruningMask& m_mask;
    std::span<const TrainingExample> m_heldOut;
    const TrainingCallbacks& m_callbacks;
    Trainer m_trainer;
    Clock::time_point m_saved = Clock::now();
};

} // namespace

PairedNats pairedNats(std::span<const ExampleLoss> first, std::span<const ExampleLoss> second) {
    const double difference = meanNats(first) - meanNats(second);
    double targets = 0;
    double squares = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
        const auto own = static_cast<double>(first[i].targets);
        const double rest = first[i].nats - second[i].nats - difference * own;
        targets += own;
        squares += rest * rest;
    }
    const auto count = static_cast<double>(first.size());
    const double error =
        count > 1 ? std::sqrt(squares * count / (count - 1)) / targets : std::numeric_limits<double>::quiet_NaN();
    return {difference, error};
}

double TrainingRun::seconds() const {
    return std::accumulate(records.begin(), records.end(), 0.0,
                           [](double sum, const StepRecord& record) { return sum + record.seconds; });
}

std::int64_t TrainingRun::tokens() const {
    return std::accumulate(records.begin(), records.end(), std::int64_t{0},
                           [](std::int64_t sum, const StepRecord& record) { return sum + record.tokens; });
}

void runTraining(TrainingRun& run, const Model& model, const PruningMask& mask, const TrainingSet& set,
                 std::span<const TrainingExample> heldOut, const TrainingCallbacks& callbacks, const Progress& progress,
                 TeacherStore* teacher) {
    RunningTraining(run, model, mask, set, heldOut, callbacks, teacher).go(progress);
}

} // namespace secateur
