#pragma once

#include "analysis/evaluation/prefill.h"
#include "analysis/running/run_speed.h"
#include "analysis/session/services.h"
#include "widgets/evaluations/extra_items.h"

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace secateur {

/// Runs items of one model. Thread-safe: calls wait for each other. All throw Error and Cancelled.
class ExtraRunner {
public:
    ExtraRunner(std::shared_ptr<const Model> model, Services services, ComputeType type);

    /// Reads the item's files and times the model. @param chosen all chosen tasks, which get different names
    ExtraForecast prepare(const ExtraItem& item, const std::vector<TaskRequest>& chosen, const Progress& progress);

    /// @param dense result of the dense model for the same item; null = no comparison
    ExtraResult run(const ExtraItem& item, const PruningMask& mask, const ExtraResult* dense, const Progress& progress);

private:
    struct ReadTask {
        TaskRequest request;
        AskedTask asked;
        TaskWork work;
    };

    const Plan& densePlan();
    const Tokenizer& tokenizer();
    const ReadTask& read(const TaskRequest& request, const std::vector<TaskRequest>& chosen, const Progress& progress);
    void findSpeed(const Progress& progress);

    ExtraForecast forecast(const PromptRequest& prompt);
    ExtraForecast forecast(const ReadTask& task);
    ExtraForecast forecast(const SpeedRequest& speed);
    ExtraForecast forecast(const PooledRequest& request, const Progress& progress);
    Latency time(const SpeedRequest& request, const PruningMask& mask, const Progress& progress);
    const SequenceText& sequences(const PooledRequest& request, const Progress& progress);
    PooledEvaluation distance(const PooledRequest& request, const PruningMask& mask, const Progress& progress);

    std::mutex m_mutex;
    std::shared_ptr<const Model> m_model;
    Services m_services;
    ComputeType m_type;
    std::shared_ptr<const Plan> m_dense;
    std::shared_ptr<const Tokenizer> m_tokenizer;
    std::optional<RunSpeed> m_speed;
    double m_stepSeconds = 0;
    std::vector<ReadTask> m_tasks;
    std::optional<std::pair<PooledRequest, SequenceText>> m_sequences;
};

} // namespace secateur
