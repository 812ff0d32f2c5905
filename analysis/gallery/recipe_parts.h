#pragma once

#include "analysis/gallery/recipe_commands.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

// What steps of several kinds share (recipe_commands.cpp, recipe_sweeps.cpp): options, and expected costs in tokens.

/// Expected cost of a generated token in tokens of a prompt: all weights are read for it.
inline constexpr double stepCost = 5;
/// Expected tokens of a text whose size is not known.
inline constexpr double tokensOfText = 300'000;

/// Whether a usual name is that of a task, whose prompts --task reads; other names are those of texts.
bool isTaskName(std::string_view name);
/// The size of a text in bytes: that of the built-in text if the file is missing, empty if it is not known.
std::optional<std::int64_t> bytesOf(const RecipeChoice& choice, std::string_view name);
/// The source of a text in results: its path, or "built-in".
std::string sourceOf(const RecipeChoice& choice, std::string_view name);

/// Expected tokens of a text. @param limit maximum number that is read; 0 = all
double expectedTokens(const RecipeChoice& choice, std::string_view name, std::int64_t limit);
/// Expected tokens of the questions of tasks. @param limit questions of each task; 0 = all
double tokensOfTasks(std::span<const StepTask> tasks, int limit);

/// A text or a score whose sequences and windows fit the model's context.
StepText fitting(StepText text, const Session& session);
StepScore fitting(StepScore score, const Session& session);

/// The beginning of a step: the verb and the model. @param tokens number for the summary; 0 = not named
RecipeStep newStep(const RecipeChoice& choice, std::string_view id, std::string_view summary, std::string_view verb,
                   std::int64_t tokens = 0);
/// Appends an option and its value.
void addOption(CommandLine& command, std::string_view option, std::string value);
/// Adds a name to RecipeStep::missingFiles, without repetitions.
void addMissing(RecipeStep& step, std::string_view name);
/// Adds --text or --task, --max-tokens and --seq-len. @returns false if the file of a task is missing
bool addText(RecipeStep& step, const RecipeChoice& choice, const StepText& text);
/// Adds --task for each task that has a file, and --limit. @returns the tasks with a file
std::vector<StepTask> addTasks(RecipeStep& step, const RecipeChoice& choice, std::span<const StepTask> tasks,
                               int limit);
/// Adds --out with the session.
void addSession(RecipeStep& step, const RecipeChoice& choice);

} // namespace secateur
