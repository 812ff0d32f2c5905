#pragma once

#include "analysis/campaigns/campaign.h"
#include "analysis/gallery/paper.h"
#include "analysis/session/session.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

// The commands of which recipes consist. Each function makes a step: its arguments, its expected cost, and whether the
// session holds its results already. Texts and tasks are named by their usual names (recipeFiles()).

/// A calibration text, and how much of it is read.
struct StepText {
    /// Usual name of a text or of a task, whose prompts are then read; empty = the built-in text. The built-in text
    /// also stands in for a text that is missing.
    std::string_view name = {};
    std::int64_t tokens = 8192; ///< --max-tokens
    std::int64_t length = 512;  ///< --seq-len
};

/// A text on which masks are scored.
struct StepScore {
    std::string_view name = {}; ///< usual name of a text; empty or missing = the last third of the calibration text
    std::int64_t tokens = 0;    ///< --score-tokens; 0 = the whole text
    int window = 0;             ///< --window; 0 = the default of the protocol
    bool isPerWord = false;     ///< --protocol word_ppl
};

/// A task of a step.
struct StepTask {
    std::string_view name; ///< usual name of the file, "arc_easy.jsonl"
    int shots = 0;
};

/// A metric step: `measure`.
struct MeasureStepChoice {
    std::string_view id;      ///< RecipeStep::id
    std::string_view summary; ///< what is measured; the text and the number of tokens are added
    std::string metrics;      ///< "gate_norm,attention_ratio"
    StepText text = {};
    double passes = 1; ///< forward passes over the text; a backward pass counts as two
};
/// A command that lists only the metrics that the session lacks; all, if it has all. A metric whose text is missing is
/// measured on the built-in text, except for tasks: the step then has a reason.
RecipeStep measureStep(const RecipeChoice& choice, const Session& session, const MeasureStepChoice& step);

/// An ablation step: `ablate`.
struct AblateChoice {
    std::string_view id;
    std::string_view summary;
    std::string_view units = "heads";  ///< --units
    StepText text = {};                ///< not read if there is a task
    std::optional<StepTask> task = {}; ///< accuracies are measured instead of losses; missing file = losses
    int limit = 0;                     ///< questions; 0 = all
};
RecipeStep ablateStep(const RecipeChoice& choice, const Session& session, const AblateChoice& step);

/// A sweep step: `sweep`, with a preset, or with strategies and budgets.
struct SweepChoice {
    std::string_view id;
    std::string_view summary;
    std::string preset = {};     ///< id of a preset, in the size of the recipe
    std::string strategies = {}; ///< otherwise "ID[:key=value]...,..."
    std::string budgets = {};
    int repetitions = 1;
    StepText calibration = {};
    StepScore score = {};
    std::vector<StepTask> tasks = {};  ///< those whose files are missing are left out and named
    int limit = 0;                     ///< questions of each task; 0 = all
    bool wantsTimes = false;           ///< --latency
    int newTokens = 0;                 ///< --new-tokens; 0 = the default
    int warmup = -1;                   ///< --warmup; -1 = the default
    int runs = 0;                      ///< --runs; 0 = the default
    std::string_view protect = {};     ///< --protect; empty = that of the preset
    std::string recover = {};          ///< --recover: recipe of a recovery training; empty = none
    std::string_view recoverData = {}; ///< usual name of its data; missing = the built-in text
    int recoverEpochs = 0;             ///< --recover-epochs; 0 = those of the recipe
    double recoverTokens = 0;          ///< tokens of the training of one point, for the cost
};
RecipeStep sweepStep(const RecipeChoice& choice, const Session& session, const SweepChoice& step);

/// A step that times the dense model, or a mask: `evaluate --latency`.
struct LatencyChoice {
    std::string_view id;
    std::string_view summary;
    std::vector<int> lengths = {}; ///< --lengths of the prefill; those beyond the model's context are left out
    bool bySublayer = false;       ///< --by sublayer
    int newTokens = 0;             ///< --new-tokens; 0 = prefill only
};
RecipeStep latencyStep(const RecipeChoice& choice, const Session& session, const LatencyChoice& step);

/// The lengths that fit the model's context. The whole context if none does; all if the context is not known.
std::vector<int> lengthsWithin(std::span<const int> lengths, const ModelSpec& spec);

// --- for steps that differ from these --------------------------------------------------------------------------------

/// The path of a file by its usual name; empty if there is none.
std::string fileOf(const RecipeChoice& choice, std::string_view name);
/// Adds an option with its value in front of --out.
void addBeforeOut(RecipeStep& step, std::string_view option, std::string value);
/// "gate_norm,flap": result ids of strategies as --strategy takes them.
std::string strategyList(std::initializer_list<std::string_view> strategies);

/// The strategies and budgets of a sweep step.
std::vector<SweepSeries> seriesOfStep(const RecipeChoice& choice, const Session& session, const SweepChoice& step);

/// What points of curves must have for a step to be done.
struct NeededPoints {
    std::vector<SweepSeries> series;
    std::vector<std::string> compensations{"own"};
    std::string recovered = {};          ///< recipe of the recovery training of further points; empty = none
    bool needsText = false;              ///< losses, or pooled distances
    std::vector<std::string> tasks = {}; ///< paths of task files (CurveTask::source)
    int limit = 0;                       ///< questions of each task; 0 = all
    bool needsTimes = false;
    std::string scored = {};       ///< ScoredSource::source; empty = any
    std::int64_t scoredTokens = 0; ///< maximum; 0 = all
    int window = 0;                ///< PerplexityRules::window; 0 = any
    bool isPerWord = false;
};
/// Whether the session's curves hold all of these points. A point that failed counts as held.
bool holdsPoints(const Session& session, const NeededPoints& needed);

/// Number of points of series, counting repetitions for strategies that depend on the seed.
std::size_t pointsOf(std::span<const SweepSeries> series);

/// Budgets of a paper for a model of another depth: resources/manual/papers.md, Rules.
/// @param budgets in units, for a model of paperLayers layers @returns ascending, without repetitions
std::vector<int> adaptedBudgets(std::span<const int> budgets, int paperLayers, int layers);

/// A budget of a paper, and the one that a model of another depth gets in its place.
struct AdaptedBudget {
    int paper = 0;
    int ours = 0;
};
/// adaptedBudgets() with the budgets of the paper. Of several that become equal, the first stays.
std::vector<AdaptedBudget> pairedBudgets(std::span<const int> budgets, int paperLayers, int layers);
/// "1,4,7": budgets as an option takes them.
std::string budgetList(std::span<const int> budgets);

} // namespace secateur
