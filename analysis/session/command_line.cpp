#include "analysis/session/command_line.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/compensation/fit_compensation.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/strategy.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <utility>

namespace secateur {

namespace {

constexpr const char* program = "secateur-cli";

std::string quoted(const std::string& word) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,";
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos)
        return word;
    std::string text = "'";
    for (const char c : word)
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

void addOption(CommandLine& command, const char* option, std::string value) {
    command.emplace_back(option);
    command.push_back(std::move(value));
}

/// The beginning of every command that repeats a run of an evaluation.
CommandLine evaluateCommand(const std::string& model, const std::string& maskFile) {
    CommandLine command{program, "evaluate", model};
    if (!maskFile.empty())
        addOption(command, "--mask", maskFile);
    return command;
}

void addHow(CommandLine& command, const Evaluation& evaluation) {
    if (!evaluation.dtype.empty())
        addOption(command, "--dtype", evaluation.dtype);
    if (!evaluation.device.empty() && evaluation.device != "cpu")
        addOption(command, "--device", evaluation.device);
    if (evaluation.adapter.isPresent())
        addOption(command, "--adapter", evaluation.adapter.name);
}

void addSource(CommandLine& command, const std::string& source) {
    if (source != "built-in")
        addOption(command, "--text", source);
}

void addRules(CommandLine& command, const PerplexityRules& rules) {
    addOption(command, "--protocol", std::string(name(rules.protocol)));
    if (rules.bos)
        addOption(command, "--bos", std::string(name(*rules.bos)));
    if (rules.window > 0)
        addOption(command, "--window", std::to_string(rules.window));
    if (rules.mostTokens != std::numeric_limits<std::int64_t>::max())
        addOption(command, "--max-tokens", std::to_string(rules.mostTokens));
}

void addTask(CommandLine& command, const TaskEvaluation& task) {
    const TaskRules& rules = task.rules;
    addOption(command, "--task", task.source);
    addOption(command, "--format", std::string(task.formatId));
    if (rules.shots.count > 0)
        addOption(command, "--shots", std::to_string(rules.shots.count));
    const bool draws = rules.shots.count > 0 && rules.shots.choice == ShotChoice::drawn;
    if (draws)
        command.emplace_back("--draw-shots");
    if (rules.limit > 0)
        addOption(command, "--limit", std::to_string(rules.limit));
    if (rules.limit > 0 || draws)
        addOption(command, "--seed", std::to_string(rules.seed));
}

void addTimes(CommandLine& command, const Evaluation& evaluation) {
    command.emplace_back("--latency");
    const LatencyRules rules = evaluation.latency ? evaluation.latency->rules : LatencyRules{};
    addOption(command, "--new-tokens", std::to_string(evaluation.latency ? rules.newTokens : 0));
    if (evaluation.latency) {
        addOption(command, "--prompt-tokens", std::to_string(rules.promptTokens));
        addOption(command, "--warmup", std::to_string(rules.warmup));
        addOption(command, "--runs", std::to_string(rules.runs));
    }
    std::vector<std::string> lengths;
    bool bySublayer = false;
    for (const Prefill& prefill : evaluation.prefills) {
        lengths.push_back(std::to_string(prefill.tokens));
        bySublayer = bySublayer || prefill.run.bySublayer;
    }
    if (!lengths.empty())
        addOption(command, "--lengths", join(lengths, ","));
    if (bySublayer)
        addOption(command, "--by", "sublayer");
}

/// Options of a provenance that are options of the command. All other options belong to the strategy.
constexpr std::array runOptions{"protect", "base", "threshold", "max_tokens", "seq_len", "dtype"};

std::string strategyText(const MaskProvenance& provenance) {
    std::string text = provenance.strategy;
    for (const auto& [option, value] : provenance.options)
        if (std::find(runOptions.begin(), runOptions.end(), option) == runOptions.end() && !isFitOption(option))
            text += fmt::format(":{}={}", option, value);
    return text;
}

bool isKnown(const std::string& strategy) {
    try {
        parseStrategyRequest(strategy);
        return true;
    } catch (const UsageError&) {
        return false; // the strategy belongs to another version or program, or read a part of a text
    }
}

} // namespace

std::string shellText(const CommandLine& command) {
    std::vector<std::string> words;
    for (const std::string& word : command)
        words.push_back(quoted(word));
    return join(words, " ");
}

std::string maskFileName(const std::string& maskName) {
    std::string name = maskName;
    for (char& c : name) {
        const bool isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!isLetter && !(c >= '0' && c <= '9') && c != '.' && c != '-')
            c = '_';
    }
    return name + ".mask.json";
}

CommandLine measureCommand(const std::string& model, const std::vector<std::string>& resultIds) {
    return {program, "measure", model, "--metric", join(resultIds, ",")};
}

std::vector<CommandLine> measureCommands(const std::string& model, const std::vector<const MetricResult*>& results,
                                         const std::string& maskFile) {
    using Way = std::pair<std::string, std::optional<MeasuredData>>; // mask, data
    std::vector<std::pair<Way, std::vector<std::string>>> groups;
    for (const MetricResult* result : results) {
        if (result->data && result->data->isPart())
            continue;
        const Way way{result->measurement.maskDigest, result->data};
        auto group = std::ranges::find(groups, way, &decltype(groups)::value_type::first);
        if (group == groups.end())
            group = groups.insert(group, {way, {}});
        group->second.push_back(result->request.resultId());
    }
    std::vector<CommandLine> commands;
    for (const auto& [way, ids] : groups) {
        CommandLine& command = commands.emplace_back(measureCommand(model, ids));
        if (!way.second)
            continue;
        addSource(command, way.second->source);
        addOption(command, "--max-tokens", std::to_string(way.second->allTokens));
        addOption(command, "--seq-len", std::to_string(way.second->sequenceLength));
        if (way.second->split != "document")
            addOption(command, "--split", way.second->split);
        if (way.second->bos != "tokenizer_default")
            addOption(command, "--bos", way.second->bos);
        if (way.first != Measurement().maskDigest)
            addOption(command, "--mask", maskFile);
    }
    return commands;
}

CommandLine plotCommand(const std::string& source, const std::string& figure, const std::string& out) {
    return {program, "plot", source, "--figure", figure, "--out", out};
}

CommandLine plotPromptCommand(const std::string& model, const std::string& figure, const std::string& prompt,
                              const std::string& maskFile, const std::string& out) {
    CommandLine command = plotCommand(model, figure, out);
    addOption(command, "--prompt", prompt);
    if (!maskFile.empty())
        addOption(command, "--mask", maskFile);
    return command;
}

std::vector<CommandLine> evaluateCommands(const std::string& model, const Evaluation& evaluation,
                                          const std::string& maskFile) {
    std::vector<CommandLine> commands;
    const auto begin = [&]() -> CommandLine& { return commands.emplace_back(evaluateCommand(model, maskFile)); };
    if (evaluation.text) {
        CommandLine& command = begin();
        addSource(command, evaluation.text->source);
        addRules(command, evaluation.text->perplexity.rules);
        addHow(command, evaluation);
    }
    if (evaluation.pooled) {
        CommandLine& command = begin();
        addSource(command, evaluation.pooled->source);
        addOption(command, "--seq-len", std::to_string(evaluation.pooled->sequenceLength));
        addHow(command, evaluation);
    }
    for (const TaskEvaluation& task : evaluation.tasks) {
        CommandLine& command = begin();
        addTask(command, task);
        addHow(command, evaluation);
    }
    if (evaluation.latency || !evaluation.prefills.empty()) {
        CommandLine& command = begin();
        addTimes(command, evaluation);
        addHow(command, evaluation);
    }
    return commands;
}

std::optional<CommandLine> pruneCommand(const std::string& model, const MaskProvenance& provenance,
                                        const std::string& out) {
    const std::string strategy = strategyText(provenance);
    if (!provenance.budget || !isKnown(strategy))
        return std::nullopt;
    CommandLine command{program, "prune", model, "--strategy", strategy, "--budget", budgetText(*provenance.budget)};
    if (const auto base = provenance.options.find("base"); base != provenance.options.end()) {
        if (!std::filesystem::path(base->second).is_absolute())
            return std::nullopt;
        addOption(command, "--mask", base->second);
    }
    if (const auto spared = provenance.options.find("protect"); spared != provenance.options.end())
        addOption(command, "--protect", spared->second);
    if (provenance.seed)
        addOption(command, "--seed", std::to_string(*provenance.seed));
    if (!provenance.text.empty())
        addSource(command, provenance.text);
    for (const auto& [option, flag] :
         {std::pair{"max_tokens", "--max-tokens"}, std::pair{"seq_len", "--seq-len"}, std::pair{"dtype", "--dtype"}})
        if (const auto found = provenance.options.find(option); found != provenance.options.end())
            addOption(command, flag, found->second);
    addOption(command, "--out", out);
    return command;
}

std::optional<CommandLine> compensateCommand(const std::string& model, const MaskProvenance& provenance,
                                             const std::string& maskFile, const std::string& out) {
    const std::optional<NotedFit> fit = notedFit(provenance);
    const bool isRemoved = fit && fit->mode == CompensationMode::none;
    if (!fit || (!isRemoved && (fit->text.empty() || fit->tokens == 0)))
        return std::nullopt;
    CommandLine command{program, "compensate", model, "--mask", maskFile, "--compensate", std::string(name(fit->mode))};
    if (!isRemoved) {
        addSource(command, fit->text);
        addOption(command, "--max-tokens", std::to_string(fit->tokens));
        if (fit->sequenceLength > 0)
            addOption(command, "--seq-len", std::to_string(fit->sequenceLength));
    }
    addOption(command, "--out", out);
    return command;
}

CommandLine showMaskCommand(const std::string& model, const std::string& maskFile) {
    return {program, "mask", "show", maskFile, "--model", model};
}

CommandLine exportCommand(const std::string& model, const std::string& maskFile, const ExportTarget& target,
                          const std::string& out, const std::string& type) {
    CommandLine command{program, "export", model, "--mask", maskFile, "--as", std::string(target.as)};
    constexpr std::string_view usualLayout = "native"; // the first of its rows in the table, which "auto" tries first
    if (target.layout != usualLayout)
        command.insert(command.end(), {"--layout", std::string(target.layout)});
    if (!type.empty())
        command.insert(command.end(), {"--type", type});
    command.insert(command.end(), {"--out", out});
    return command;
}

} // namespace secateur
