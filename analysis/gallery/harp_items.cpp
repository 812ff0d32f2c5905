#include "analysis/gallery/harp_items.h"

#include "analysis/gallery/paper_rows.h"
#include "analysis/gallery/published.h"
#include "analysis/gallery/recipe_commands.h"
#include "analysis/session/command_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>

namespace secateur {

namespace {

constexpr std::array harpStateOptions{OptionInfo{"metrics", "text", "token_similarity/token_spread",
                                                 "result ids of metrics of layers, separated by '/'"}};
constexpr std::array harpAlphaOptions{
    OptionInfo{"mask", "text", "", "name of a mask with searched alphas; empty = the latest with the most layers"},
    publishedOption};
constexpr std::array harpSpeedOptions{
    OptionInfo{"mask", "text", "", "name of the mask under which passes were timed; empty = the latest of harp"},
    publishedOption};
constexpr std::array harpPublished{publishedOption};

constexpr std::array<std::string_view, 1> harpMeasure{"measure"};
constexpr std::array<std::string_view, 1> harpPositions{"positions"};
constexpr std::array<std::string_view, 4> harpComparison{"positions", "bypass_flap", "generation", "baselines"};
constexpr std::array<std::string_view, 1> harpLongTexts{"longbench"};
constexpr std::array<std::string_view, 1> harpLayers{"layers"};
constexpr std::array<std::string_view, 2> harpRescaling{"positions", "generation"};
constexpr std::array<std::string_view, 2> harpSpeed{"positions", "speed"};

constexpr PaperItem harpSimilarityItem{"harp", "Token similarity", harpMeasure};
constexpr PaperItem harpAlphasItem{"harp", "Alphas", harpPositions};
constexpr PaperItem harpResultsItem{"harp", "Results", harpComparison};
constexpr PaperItem harpLongbenchItem{"harp", "LongBench", harpLongTexts};
constexpr PaperItem harpPositionsItem{"harp", "Table 5", harpPositions};
constexpr PaperItem harpLayersItem{"harp", "Number of layers", harpLayers};
constexpr PaperItem harpRescalingItem{"harp", "Rescaling", harpRescaling};
constexpr PaperItem harpSpeedItem{"harp", "Speed", harpSpeed};

constexpr std::array harpRows{
    FigureInfo{"harp_similarity", "similarity and spread of the tokens' states by layer (HARP)", harpStateOptions,
               FromSession{harp::tokenStates, {"metrics"}}, nullptr, &harpSimilarityItem},
    FigureInfo{"harp_alphas", "perplexity over bypassed layer and alpha, with the chosen alphas (HARP)",
               harpAlphaOptions, FromSession{harp::alphaMap}, checkPublished, &harpAlphasItem},
    FigureInfo{"harp_results", "task scores of HARP and of one-shot baselines (HARP)", noOptions,
               FromSession{harp::resultsTable}, nullptr, &harpResultsItem},
    FigureInfo{"harp_longbench", "F1 on tasks with long texts (HARP, LongBench)", noOptions,
               FromSession{harp::longTextTable}, nullptr, &harpLongbenchItem},
    FigureInfo{"harp_positions", "task scores by the place of the bypassed layers (HARP, table 5; without Hessian-8)",
               harpPublished, FromSession{harp::positionsTable}, checkPublished, &harpPositionsItem},
    FigureInfo{"harp_layers",
               "task scores against the number of bypassed layers (HARP; without its errors by length of the output)",
               noOptions, FromSession{harp::layersCurve}, nullptr, &harpLayersItem},
    FigureInfo{"harp_rescaling", "generated answers with searched alphas and without rescaling (HARP)", harpPublished,
               FromSession{harp::rescalingTable}, checkPublished, &harpRescalingItem},
    FigureInfo{"harp_speed", "seconds of a pass over a prompt, dense and bypassed (HARP)", harpSpeedOptions,
               FromSession{harp::speedTable}, checkPublished, &harpSpeedItem},
};

// --- recipe ----------------------------------------------------------------------------------------------------------

/// The settings of the recipe in one size.
struct HarpSize {
    StepText calibration;
    StepScore score;
    int limit = 0;           ///< questions of each choice task; 0 = all
    int generationLimit = 0; ///< questions of each task with generated answers; 0 = all
    bool hasShots = false;
    std::vector<int> lengths; ///< of timed passes
};

HarpSize harpSizeOf(const RecipeChoice& choice) {
    if (choice.size == SweepSize::paper)
        return {{.tokens = 131'072, .length = 2048},
                {.name = "wiki.test.raw", .window = 2048},
                0,
                0,
                true,
                {1024, 2048, 4096, 8192, 16'384, 32'768, 65'536}};
    return {{.tokens = 3072, .length = 512}, {.name = "wiki.test.raw", .tokens = 4096, .window = 512}, 50, 8, false,
            {512, 1024, 2048, 4096}};
}

std::vector<StepTask> harpTasks(const std::vector<harp::Task>& tasks, bool hasShots) {
    std::vector<StepTask> steps;
    for (const harp::Task& task : tasks)
        steps.push_back({task.file, hasShots ? task.shots : 0});
    return steps;
}

/// The folder beside the session for the masks that are timed.
std::string maskFolder(const RecipeChoice& choice) {
    return std::filesystem::path(choice.session).replace_extension().string() + "-masks";
}

/// The numbers of bypassed layers of figure `harp_layers`: 2 to 16 of 32 in the paper.
std::vector<int> layerCounts(SweepSize size, int layers) {
    constexpr std::array all{2, 4, 6, 8, 10, 12, 14, 16};
    constexpr std::array few{2, 4, 8, 16};
    constexpr int paperDepth = 32;
    return size == SweepSize::paper ? adaptedBudgets(all, paperDepth, layers) : adaptedBudgets(few, paperDepth, layers);
}

/// The mask of HARP at the top with a number of layers, from the curves; null if it is not there yet.
const SessionMask* topMask(const Session& session, int layers) {
    for (auto set = session.curves.rbegin(); set != session.curves.rend(); ++set)
        for (const CurvePoint* point :
             PointSource::find(*set, {.strategy = std::string(harp::top), .budget = {static_cast<double>(layers)}}))
            if (const SessionMask* mask = session.mask(point->mask))
                return mask;
    return nullptr;
}

/// Times passes under the mask of HARP, in alternation with the dense model.
RecipeStep speedStep(const RecipeChoice& choice, const Session& session, const HarpSize& size, int layers) {
    const std::vector<int> lengths = lengthsWithin(size.lengths, session.model.spec);
    RecipeStep step = latencyStep(choice, session,
                                  {.id = "speed",
                                   .summary = "Seconds of passes over prompts, dense and with bypassed layers",
                                   .lengths = lengths});
    const SessionMask* mask = topMask(session, layers);
    const std::string name = mask ? mask->name : fmt::format("{} {}", harp::top, layers);
    addBeforeOut(step, "--mask", (std::filesystem::path(maskFolder(choice)) / maskFileName(name)).string());
    step.tokens *= 2;
    step.isDone =
        mask && std::ranges::all_of(lengths, [&](int length) {
            return std::ranges::any_of(session.evaluations, [&](const Evaluation& evaluation) {
                return evaluation.isOf(mask->digest) &&
                       std::ranges::find(evaluation.prefills, length, &Prefill::tokens) != evaluation.prefills.end();
            });
        });
    return step;
}

/// The sweeps over strategies that bypass a number of layers.
std::vector<RecipeStep> bypassSteps(const RecipeChoice& choice, const Session& session, const HarpSize& size,
                                    int layers) {
    const bool isPaper = choice.size == SweepSize::paper;
    SweepChoice sweep{.id = "positions",
                      .summary = "Bypassed layers at the top, in the middle, at the bottom and by similarity",
                      .strategies =
                          strategyList({harp::top, harp::middle, harp::bottom, harp::similar, harp::topUnscaled}),
                      .budgets = std::to_string(layers),
                      .calibration = size.calibration,
                      .score = size.score,
                      .tasks = harpTasks(harp::choiceTasks(), size.hasShots),
                      .limit = size.limit};
    if (isPaper)
        sweep.strategies += "," + strategyList({harp::middleUnscaled, harp::bottomUnscaled, harp::similarUnscaled});
    std::vector<RecipeStep> steps{sweepStep(choice, session, sweep)};
    addBeforeOut(steps.front(), "--masks", maskFolder(choice));

    sweep.id = "bypass_flap";
    sweep.summary = "Bypassed layers at the top, with FLAP on the MLPs";
    sweep.strategies = std::string(harp::topWithFlap);
    steps.push_back(sweepStep(choice, session, sweep));

    sweep.id = "generation";
    sweep.summary = "Generated answers with searched alphas and with an alpha of 1";
    sweep.strategies =
        isPaper
            ? strategyList({harp::top, harp::topUnscaled, harp::topWithFlap, harp::middle, harp::bottom, harp::similar})
            : strategyList({harp::top, harp::topUnscaled});
    sweep.tasks = harpTasks(harp::generationTasks(), false);
    sweep.limit = size.generationLimit;
    steps.push_back(sweepStep(choice, session, sweep));
    return steps;
}

/// The one-shot baselines, which cut heads and neurons.
RecipeStep baselineStep(const RecipeChoice& choice, const Session& session, const HarpSize& size) {
    const bool isPaper = choice.size == SweepSize::paper;
    std::vector<StepTask> tasks = harpTasks(harp::choiceTasks(), size.hasShots);
    if (isPaper)
        std::ranges::move(harpTasks(harp::generationTasks(), false), std::back_inserter(tasks));
    return sweepStep(choice, session,
                     {.id = "baselines",
                      .summary = "One-shot baselines: Mag-SP, Wanda-SP and FLAP",
                      .strategies = "mag_sp,wanda_sp,flap",
                      .budgets = "12.5%",
                      .calibration = size.calibration,
                      .score = size.score,
                      .tasks = std::move(tasks),
                      .limit = size.limit});
}

RecipeStep longTextStep(const RecipeChoice& choice, const Session& session, const HarpSize& size, int layers) {
    return sweepStep(choice, session,
                     {.id = "longbench",
                      .summary = "F1 on tasks with long texts",
                      .strategies = strategyList({harp::top, harp::topWithFlap}),
                      .budgets = std::to_string(layers),
                      .calibration = size.calibration,
                      .score = size.score,
                      .tasks = harpTasks(harp::longTextTasks(), false),
                      .limit = size.generationLimit});
}

} // namespace

namespace harp {

int paperLayers(const ModelSpec& spec) {
    constexpr double quarter = 0.25;
    const int layers = spec.layerCount();
    if (spec.architecture == "qwen2" && layers == 28)
        return 4;
    if (spec.architecture == "gemma2" && layers == 42)
        return 6;
    return std::max(1, static_cast<int>(std::lround(quarter * layers)));
}

int quickLayers(const ModelSpec& spec) {
    constexpr double eighth = 0.125;
    return std::max(1, static_cast<int>(std::lround(eighth * spec.layerCount())));
}

int heldLayers(const Session& session) {
    std::map<int, int> lines; // number of HARP's lines that have a point, by the number of layers
    for (const Curves& curves : session.curves)
        for (const Curve& curve : curves.curves) {
            if (curve.strategy != top && !curve.strategy.starts_with(std::string(top) + ":"))
                continue;
            for (const CurvePoint& point : curve.points)
                if (point.isChosen() && point.key.budget.of == BudgetOf::own && !point.key.budget.isPercentage)
                    ++lines[static_cast<int>(point.key.budget.amount)];
        }
    const ModelSpec& spec = session.model.spec;
    std::vector<int> candidates{paperLayers(spec), quickLayers(spec)}; // of equal ones, the first
    for (auto line = lines.rbegin(); line != lines.rend(); ++line)
        candidates.push_back(line->first);
    return *std::ranges::max_element(candidates, {}, [&](int layers) { return lines[layers]; });
}

Budget baselineBudget(const Session& session, std::string_view strategy) {
    const Budget usual{12.5, true, BudgetOf::own};
    std::optional<Budget> first;
    for (const Curves& curves : session.curves)
        if (const Curve* curve = curves.curve(strategy))
            for (const CurvePoint& point : curve->points) {
                if (point.key.budget == usual)
                    return usual;
                if (!first && point.isChosen() && point.key.budget.of == BudgetOf::own && point.key.budget.isPercentage)
                    first = point.key.budget;
            }
    return first.value_or(usual);
}

} // namespace harp

std::span<const FigureInfo> harpFigures() {
    return harpRows;
}

std::vector<RecipeStep> harpSteps(const RecipeChoice& choice, const Session& session) {
    const HarpSize size = harpSizeOf(choice);
    const ModelSpec& spec = session.model.spec;
    const bool isPaper = choice.size == SweepSize::paper;
    const int layers = isPaper ? harp::paperLayers(spec) : harp::quickLayers(spec);
    std::vector<RecipeStep> steps{measureStep(choice, session,
                                              {.id = "measure",
                                               .summary = "Similarity and spread of the tokens' states",
                                               .metrics = "token_similarity,token_spread",
                                               .text = size.calibration})};
    std::ranges::move(bypassSteps(choice, session, size, layers), std::back_inserter(steps));
    steps.push_back(baselineStep(choice, session, size));
    steps.push_back(sweepStep(choice, session,
                              {.id = "layers",
                               .summary = "Growing numbers of bypassed layers at the top",
                               .strategies = std::string(harp::top),
                               .budgets = budgetList(layerCounts(choice.size, spec.layerCount())),
                               .calibration = size.calibration,
                               .score = size.score,
                               .tasks = harpTasks(harp::choiceTasks(), size.hasShots),
                               .limit = size.limit}));
    steps.push_back(speedStep(choice, session, size, layers));
    if (isPaper)
        steps.push_back(longTextStep(choice, session, size, layers));
    return steps;
}

} // namespace secateur
