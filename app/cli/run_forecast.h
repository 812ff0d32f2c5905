#pragma once

#include "analysis/evaluation/latency.h"
#include "analysis/evaluation/prefill.h"
#include "analysis/running/run_speed.h"
#include "analysis/tasks/task_run.h"
#include "analysis/text/scored_text.h"
#include "app/cli/cli_common.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace secateur {
struct AblationPasses;
}

namespace secateur::cli {

/// The expected duration that a verb prints before it runs a model. Times nothing if no progress is shown.
class RunForecast {
public:
    /// Times a layer and the LM head. @param plans those that will run one after the other
    RunForecast(const Model& model, std::vector<std::shared_ptr<const Plan>> plans, const Console& console,
                const Progress& progress);

    bool isWanted() const { return m_isWanted; }
    // Each of these adds the expected duration of a piece of work.
    /// @param factor duration relative to a plain forward pass
    void add(const RunSize& size, double factor = 1);
    /// @param name of the task; may be empty
    void add(const TaskWork& work, const std::string& name);
    /// Ablation over a text. @param size of one pass through the whole model @param passes cost in such passes
    void add(RunSize size, const AblationPasses& passes);
    /// Ablation on a task: for each part one run without it, and one run of the whole model.
    /// @param parts number of ablated parts
    void add(const TaskWork& work, const std::string& name, std::int64_t parts);
    /// Generation latency, warm-up included.
    void add(const LatencyRules& rules);
    /// Forward passes by length. A lower bound, because more passes are run if their durations differ much.
    void add(const PrefillRules& rules);
    /// Prints "about 42 s for 302,956 tokens, dense and under the mask" on standard error.
    void say() const;

private:
    const Model& m_model;
    std::vector<std::shared_ptr<const Plan>> m_plans;
    const Console& m_console;
    bool m_isWanted;
    RunSpeed m_speed;
    double m_seconds = 0;
    bool m_isMost = false;  ///< whether the sum is an upper bound, because answers may end earlier
    bool m_isLeast = false; ///< whether the sum is a lower bound, because more passes may run
    std::vector<std::string> m_parts;
};

/// Upper bound of the duration of a pass with all forward metrics, relative to a plain pass.
inline constexpr double measuringFactor = 1.5;
/// Durations of the forward pass for gradients and of each backward pass, relative to a plain pass.
inline constexpr double upFactor = 1;
inline constexpr double backwardFactor = 3;

/// The work of one pass over a scored text. Counts logits at the scored positions.
RunSize sizeOf(const ScoredText& text);
/// The work of one pass over sequences, without logits.
RunSize sizeOf(const SequenceSet& set);
/// The work of one pass over sequences. For decoders, with logits at every position but the last of each sequence.
RunSize predictedSizeOf(const SequenceSet& set, const ModelSpec& spec);

/// "about 42 s for 302,956 tokens"
std::string forecastText(double seconds, const std::string& work);

} // namespace secateur::cli
