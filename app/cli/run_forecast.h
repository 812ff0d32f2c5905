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

/// The expected duration that a verb prints before it runs a model. If no progress is shown, nothing is timed.
class RunForecast {
public:
    /// Times a layer and the LM head. @param plans the plans that will run, one after the other
    RunForecast(const Model& model, std::vector<std::shared_ptr<const Plan>> plans, const Console& console,
                const Progress& progress);

    bool isWanted() const { return m_isWanted; }
    // Each function adds the expected duration of a piece of work.
    /// @param factor duration divided by that of a plain forward pass
    void add(const RunSize& size, double factor = 1);
    /// @param name name of the task; may be empty
    void add(const TaskWork& work, const std::string& name);
    /// Adds an ablation over a text. @param size one pass through the whole model @param passes cost in such passes
    void add(RunSize size, const AblationPasses& passes);
    /// Adds an ablation on a task: one run of the whole model, and one run without each unit.
    /// @param parts number of ablated units
    void add(const TaskWork& work, const std::string& name, std::int64_t parts);
    /// Adds a measurement of generation latency, including its warm-up.
    void add(const LatencyRules& rules);
    /// Adds forward passes by length. It is a lower bound, because more passes run if their durations differ much.
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
    bool m_isMost = false;  ///< whether the sum is an upper bound, because answers may end early
    bool m_isLeast = false; ///< whether the sum is a lower bound, because more passes may run
    std::vector<std::string> m_parts;
};

/// The work of one pass over sequences. For decoders, with logits at every position except the last of each sequence.
RunSize predictedSizeOf(const SequenceSet& set, const ModelSpec& spec);

/// A forecast as text: "about 42 s for 302,956 tokens".
std::string forecastText(double seconds, const std::string& work);

} // namespace secateur::cli
