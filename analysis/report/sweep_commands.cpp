#include "analysis/report/sweep_commands.h"

#include "analysis/base/text.h"
#include "analysis/strategies/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace secateur {

namespace {

/// What the strategies of one command have in common.
struct SweepPoints {
    std::vector<std::string> budgets;
    std::vector<std::string> compensations;
    int repetitions = 1;
    std::optional<std::uint64_t> seed = {}; ///< of the first repetition
    bool operator==(const SweepPoints&) const = default;
};

void addOnce(std::vector<std::string>& all, const std::string& text) {
    if (std::ranges::find(all, text) == all.end())
        all.push_back(text);
}

SweepPoints sweepPointsOf(const Curve& curve) {
    SweepPoints points;
    for (const CurvePoint& point : curve.points) {
        const PointKey& key = point.key;
        if (!key.recovered.empty())
            continue;
        addOnce(points.budgets, budgetText(key.budget));
        addOnce(points.compensations, key.compensation);
        points.repetitions = std::max(points.repetitions, key.repetition + 1);
        if (key.seed && key.repetition == 0)
            points.seed = key.seed;
    }
    return points;
}

void addFlag(CommandLine& command, const char* flag, const std::string& value) {
    command.emplace_back(flag);
    command.push_back(value);
}

void addPoints(CommandLine& command, const SweepPoints& points) {
    addFlag(command, "--budgets", join(points.budgets, ","));
    if (points.repetitions > 1)
        addFlag(command, "--repeat", std::to_string(points.repetitions));
    if (points.seed && *points.seed != 0)
        addFlag(command, "--seed", std::to_string(*points.seed));
    if (points.compensations != std::vector<std::string>{"own"})
        addFlag(command, "--compensate", join(points.compensations, ","));
}

void addTexts(CommandLine& command, const CurveConditions& own) {
    const MeasuredData& text = own.calibration;
    if (!own.calibrationDigest.empty()) {
        if (text.source != "built-in")
            addFlag(command, "--text", text.source);
        addFlag(command, "--max-tokens", std::to_string(text.allTokens > 0 ? text.allTokens : text.tokens));
        if (text.sequenceLength > 0)
            addFlag(command, "--seq-len", std::to_string(text.sequenceLength));
        if (!text.bos.empty() && text.bos != "tokenizer_default")
            addFlag(command, "--bos", text.bos);
        if (!text.split.empty() && text.split != "document")
            addFlag(command, "--split", text.split);
    }
    const ScoredSource& scored = own.scored;
    if (scored.digest.empty())
        return;
    if (scored.source != "built-in" && (scored.source != text.source || own.scoresCalibrationText))
        addFlag(command, "--score", scored.source);
    if (scored.rules.mostTokens != std::numeric_limits<std::int64_t>::max())
        addFlag(command, "--score-tokens", std::to_string(scored.rules.mostTokens));
    addFlag(command, "--protocol", std::string(name(scored.rules.protocol)));
    if (scored.rules.window > 0)
        addFlag(command, "--window", std::to_string(scored.rules.window));
}

void addTasks(CommandLine& command, const Curves& curves) {
    std::int64_t most = 0;
    for (const CurveTask& task : curves.tasks) {
        addFlag(command, "--task", fmt::format("{}:format={}", task.source, task.format));
        most = std::max(most, task.questions);
    }
    if (most > 0)
        addFlag(command, "--limit", std::to_string(most));
    if (const auto& latency = curves.latency) {
        command.emplace_back("--latency");
        addFlag(command, "--prompt-tokens", std::to_string(latency->promptTokens));
        addFlag(command, "--new-tokens", std::to_string(latency->newTokens));
    }
}

} // namespace

std::vector<CommandLine> sweepCommands(const std::string& model, const Curves& curves, const std::string& maskFile,
                                       const std::string& out) {
    std::vector<std::pair<SweepPoints, std::vector<std::string>>> groups;
    for (const Curve& curve : curves.curves) {
        SweepPoints points = sweepPointsOf(curve);
        if (points.budgets.empty())
            continue;
        const auto same = std::ranges::find(groups, points, &decltype(groups)::value_type::first);
        if (same == groups.end())
            groups.push_back({std::move(points), {curve.strategy}});
        else
            same->second.push_back(curve.strategy);
    }
    std::vector<CommandLine> commands;
    for (const auto& [points, strategies] : groups) {
        CommandLine& command = commands.emplace_back(CommandLine{"secateur-cli", "sweep", model});
        addFlag(command, "--strategy", join(strategies, ","));
        addPoints(command, points);
        addTexts(command, curves.conditions);
        addTasks(command, curves);
        if (curves.conditions.protect != "none")
            addFlag(command, "--protect", curves.conditions.protect);
        if (!maskFile.empty())
            addFlag(command, "--mask", maskFile);
        addFlag(command, "--dtype", curves.conditions.dtype);
        if (curves.conditions.device != "cpu" && !curves.conditions.device.empty())
            addFlag(command, "--device", curves.conditions.device);
        addFlag(command, "--out", out);
    }
    return commands;
}

} // namespace secateur
