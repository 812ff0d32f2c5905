#pragma once

#include "analysis/evaluation/latency.h"
#include "analysis/evaluation/prefill.h"
#include "analysis/running/run_speed.h"
#include "analysis/text/scored_text.h"
#include "analysis/tasks/task_work.h"
#include "app/cli/cli_common.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace secateur {
struct AblationPasses;
}

namespace secateur::cli {

/// What a verb says before it runs a model: how long that will take, and for what. Where nobody is told of progress
/// nothing is timed.
class RunForecast {
public:
    /// Times a layer and the read-out. @param plans that will run, one after the other
    RunForecast(const Model& model, std::vector<std::shared_ptr<const Plan>> plans, const Console& console,
                const Progress& progress);

    bool isWanted() const { return m_isWanted; }
    /// @param factor by which the run takes longer than a plain one
    void add(const RunSize& size, double factor = 1);
    /// @param name of the task; may be empty
    void add(const TaskWork& work, const std::string& name);
    /// The same text without each part that is taken away. @param size with what is read of it in one pass
    void add(RunSize size, const AblationPasses& passes);
    /// A task, asked so many times. @param parts without each of which it is asked
    void add(const TaskWork& work, const std::string& name, std::int64_t parts);
    /// Continued prompts, warm-up included.
    void add(const LatencyRules& rules);
    /// Passes by length: at least, for more are run where they differ much.
    void add(const PrefillRules& rules);
    /// On standard error: "about 42 s for 302,956 tokens, dense and under the mask".
    void say() const;

private:
    const Model& m_model;
    std::vector<std::shared_ptr<const Plan>> m_plans;
    const Console& m_console;
    bool m_isWanted;
    RunSpeed m_speed;
    double m_seconds = 0;
    bool m_isMost = false;  ///< answers may end sooner
    bool m_isLeast = false; ///< more may be run
    std::vector<std::string> m_parts;
};

/// By how much all forward metrics together make a pass longer, at most.
inline constexpr double measuringFactor = 1.5;
/// How many plain passes the way up for gradients and each way down again are worth.
inline constexpr double upFactor = 1;
inline constexpr double backwardFactor = 3;

/// What a run of a text, or of sequences that nothing is predicted in, has to do.
RunSize sizeOf(const ScoredText& text);
RunSize sizeOf(const SequenceSet& set);
/// With every position that another token follows.
RunSize predictedSizeOf(const SequenceSet& set, const ModelSpec& spec);

/// "about 42 s for 302,956 tokens"
std::string forecastText(double seconds, const std::string& work);

} // namespace secateur::cli
