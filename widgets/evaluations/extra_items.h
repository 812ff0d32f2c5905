#pragma once

#include "analysis/evaluation/asked_task.h"
#include "analysis/evaluation/evaluation.h"
#include "analysis/evaluation/latency.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace secateur {

/// A measurement of generation latency like `evaluate --latency`, but with fewer runs.
struct SpeedRequest {
    int promptTokens = 12;
    int newTokens = 128;
    int warmup = 1;
    int runs = 5;

    bool operator==(const SpeedRequest&) const = default;
};

/// The distance of an encoder's pooled outputs under a mask from the dense model's.
struct PooledRequest {
    std::string path;               ///< of the text; empty = the built-in text
    std::int64_t mostTokens = 8192; ///< maximum number of tokens of the text

    bool operator==(const PooledRequest&) const = default;
};

/// A measurement under a mask, in addition to its loss on a text.
using ExtraItem = std::variant<PromptRequest, TaskRequest, SpeedRequest, PooledRequest>;

/// The extra measurements that the user chose. Members are in the order in which they run, the quickest first.
struct ExtraChoice {
    std::optional<PromptRequest> prompt = {};
    std::vector<TaskRequest> tasks = {};
    std::optional<SpeedRequest> speed = {};
    std::optional<PooledRequest> pooled = {}; ///< not a choice: LiveEvaluation sets it for encoders without a head

    std::vector<ExtraItem> items() const {
        std::vector<ExtraItem> items;
        if (pooled)
            items.emplace_back(*pooled);
        if (prompt)
            items.emplace_back(*prompt);
        items.insert(items.end(), tasks.begin(), tasks.end());
        if (speed)
            items.emplace_back(*speed);
        return items;
    }
    bool operator==(const ExtraChoice&) const = default;
};

/// The result of an item under one mask. Only the member for the item's type is set.
struct ExtraResult {
    std::optional<PromptContinuation> written = {};
    std::optional<TaskEvaluation> task = {}; ///< under a mask: with the dense model as the reference
    std::optional<Latency> latency = {};     ///< under a mask: timed in turns with the dense model
    std::optional<PooledEvaluation> pooled = {};
    std::string dtype = {};
    std::string device = {};
    double seconds = 0; ///< duration of the measurement
    std::vector<std::string> warnings = {}; ///< about the model's files
};

/// Expected duration and size of an item.
struct ExtraForecast {
    double seconds = 0;        ///< duration under one mask
    std::string name = {};     ///< name of a task
    std::string formatId = {}; ///< format id of a task
    std::size_t asked = 0;     ///< number of questions that are asked
    std::size_t questions = 0; ///< number of questions in the task's file
};

} // namespace secateur
