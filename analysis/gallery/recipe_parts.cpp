#include "analysis/gallery/recipe_parts.h"

#include "analysis/base/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

/// Expected tokens of a question with its options, of which the shared beginning runs once, and of each example.
constexpr double tokensOfQuestion = 120;
/// Expected questions of a task without a limit.
constexpr double questionsOfTask = 2000;
/// Expected bytes of a token.
constexpr double usualBytesOfToken = 4;

/// About the size of resources/texts/calibration.txt.
constexpr std::int64_t builtInBytes = 34'000;

/// A length that fits the model's context. Encoders and some decoders cannot read longer texts.
std::int64_t fittingLength(std::int64_t length, const Session& session) {
    const int context = session.model.spec.context;
    return context > 0 ? std::min<std::int64_t>(length, context) : length;
}

} // namespace

bool isTaskName(std::string_view name) {
    return name.ends_with(".jsonl") || name == "mmlu";
}

std::string fileOf(const RecipeChoice& choice, std::string_view name) {
    const auto found = choice.files.find(std::string(name));
    return name.empty() || found == choice.files.end() ? std::string() : found->second;
}

std::optional<std::int64_t> bytesOf(const RecipeChoice& choice, std::string_view name) {
    if (fileOf(choice, name).empty())
        return builtInBytes;
    const auto found = choice.bytes.find(std::string(name));
    return found == choice.bytes.end() ? std::nullopt : std::optional(found->second);
}

std::string sourceOf(const RecipeChoice& choice, std::string_view name) {
    const std::string path = fileOf(choice, name);
    return path.empty() ? "built-in" : path;
}

double expectedTokens(const RecipeChoice& choice, std::string_view name, std::int64_t limit) {
    const auto bytes = bytesOf(choice, name);
    const double whole = bytes ? static_cast<double>(*bytes) / usualBytesOfToken : tokensOfText;
    return limit > 0 ? std::min(static_cast<double>(limit), whole) : whole;
}

double tokensOfTasks(std::span<const StepTask> tasks, int limit) {
    double tokens = 0;
    for (const StepTask& task : tasks)
        tokens += (limit > 0 ? limit : questionsOfTask) * tokensOfQuestion * (1 + task.shots);
    return tokens;
}

StepText fitting(StepText text, const Session& session) {
    text.length = fittingLength(text.length, session);
    return text;
}

StepScore fitting(StepScore score, const Session& session) {
    score.window = static_cast<int>(fittingLength(score.window, session));
    return score;
}

RecipeStep newStep(const RecipeChoice& choice, std::string_view id, std::string_view summary, std::string_view verb,
                   std::int64_t tokens) {
    RecipeStep step{.id = std::string(id), .summary = std::string(summary), .arguments = {std::string(verb)}};
    if (tokens > 0)
        step.summary += fmt::format(", on {} tokens", grouped(static_cast<std::uint64_t>(tokens)));
    step.arguments.push_back(choice.model);
    return step;
}

void addOption(CommandLine& command, std::string_view option, std::string value) {
    command.emplace_back(option);
    command.push_back(std::move(value));
}

void addMissing(RecipeStep& step, std::string_view name) {
    if (std::ranges::find(step.missingFiles, name) == step.missingFiles.end())
        step.missingFiles.emplace_back(name);
}

bool addText(RecipeStep& step, const RecipeChoice& choice, const StepText& text) {
    const std::string path = fileOf(choice, text.name);
    if (!text.name.empty() && path.empty())
        addMissing(step, text.name);
    if (!path.empty())
        addOption(step.arguments, isTaskName(text.name) ? "--task" : "--text", path);
    addOption(step.arguments, "--max-tokens", std::to_string(text.tokens));
    addOption(step.arguments, "--seq-len", std::to_string(text.length));
    return !isTaskName(text.name) || !path.empty();
}

std::vector<StepTask> addTasks(RecipeStep& step, const RecipeChoice& choice, std::span<const StepTask> tasks,
                               int limit) {
    std::vector<StepTask> found;
    for (const StepTask& task : tasks) {
        const std::string path = fileOf(choice, task.name);
        if (path.empty()) {
            addMissing(step, task.name);
            continue;
        }
        addOption(step.arguments, "--task", task.shots > 0 ? fmt::format("{}:shots={}", path, task.shots) : path);
        found.push_back(task);
    }
    if (!found.empty() && limit > 0)
        addOption(step.arguments, "--limit", std::to_string(limit));
    return found;
}

void addSession(RecipeStep& step, const RecipeChoice& choice) {
    addOption(step.arguments, "--out", choice.session);
}

} // namespace secateur
