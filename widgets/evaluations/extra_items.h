#pragma once

#include "analysis/evaluation/asked_task.h"
#include "analysis/evaluation/evaluation.h"
#include "analysis/evaluation/latency.h"

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace secateur {

/// How the tokens of a second are counted: as `evaluate --latency` does, with fewer runs, for each mask waits for it.
struct SpeedRequest {
    int promptTokens = 12;
    int newTokens = 128;
    int warmup = 1;
    int runs = 5;

    bool operator==(const SpeedRequest&) const = default;
};

/// One thing that is measured of a mask besides its loss on a text.
using ExtraItem = std::variant<PromptRequest, TaskRequest, SpeedRequest>;

/// All of them, in the order they run: what is there soonest comes first.
struct ExtraChoice {
    std::optional<PromptRequest> prompt = {};
    std::vector<TaskRequest> tasks = {};
    std::optional<SpeedRequest> speed = {};

    std::vector<ExtraItem> items() const {
        std::vector<ExtraItem> items;
        if (prompt)
            items.emplace_back(*prompt);
        items.insert(items.end(), tasks.begin(), tasks.end());
        if (speed)
            items.emplace_back(*speed);
        return items;
    }
    bool operator==(const ExtraChoice&) const = default;
};

/// What came of an item under one mask: what goes with its kind is filled.
struct ExtraResult {
    std::optional<PromptContinuation> written = {};
    std::optional<TaskEvaluation> task = {}; ///< of masks beside the dense model's
    std::optional<Latency> latency = {};     ///< of masks in turns with the dense model
    std::string dtype = {};
    std::string device = {};
    double seconds = 0; ///< that it took
};

/// What an item will take, known before it runs.
struct ExtraForecast {
    double seconds = 0;        ///< under one mask
    std::string name = {};     ///< of a task
    std::string formatId = {}; ///< of a task
    std::size_t asked = 0;     ///< questions of a task
    std::size_t questions = 0; ///< in its file
};

} // namespace secateur
