#include "analysis/gallery/gate_norm_items.h"

#include "analysis/gallery/paper_rows.h"
#include "analysis/gallery/published.h"
#include "analysis/gallery/recipe_commands.h"

#include <algorithm>
#include <array>
#include <set>

namespace secateur {

namespace {

constexpr OptionInfo stripSize{"k", "integer", "0",
                               "number of removed layers; 0 = 16, or in proportion to the layers of a smaller model"};
constexpr std::array stripOptions{stripSize};
constexpr std::array gateNormPublished{publishedOption};

constexpr std::array<std::string_view, 1> gateNormSublayers{"sublayers"};
constexpr std::array<std::string_view, 1> gateNormMeasure{"measure"};
constexpr std::array<std::string_view, 1> gateNormCurves{"curves"};
constexpr std::array<std::string_view, 4> gateNormTaskSteps{"tasks", "tasks_blocks", "speed", "speed_blocks"};
constexpr std::array<std::string_view, 2> gateNormRecovery{"curves", "recovery"};

constexpr PaperItem gateNormFigure1{"gate_norm", "Figure 1", gateNormSublayers};
constexpr PaperItem gateNormFigure3{"gate_norm", "Figure 3", gateNormMeasure};
constexpr PaperItem gateNormFigure4{"gate_norm", "Figure 4", gateNormCurves};
constexpr PaperItem gateNormFigure5{"gate_norm", "Figure 5", gateNormMeasure};
constexpr PaperItem gateNormTable1{"gate_norm", "Table 1", gateNormCurves};
constexpr PaperItem gateNormTable2{"gate_norm", "Table 2", gateNormTaskSteps};
constexpr PaperItem gateNormTable3{"gate_norm", "Table 3", gateNormRecovery};
constexpr PaperItem gateNormSection5{"gate_norm", "Section 5.3", gateNormMeasure};

constexpr std::array gateNormRows{
    FigureInfo{"gate_norm_fig1", "time of attention and MLP against the length of the text (Gate-Norm, figure 1)",
               noOptions, FromSession{gate_norm::sublayerTimes}, nullptr, &gateNormFigure1},
    FigureInfo{"gate_norm_fig3", "attention ratio by layer (Gate-Norm, figure 3)", noOptions,
               FromSession{gate_norm::attentionRatio}, nullptr, &gateNormFigure3},
    FigureInfo{"gate_norm_fig4", "perplexity against removed attention sublayers (Gate-Norm, figure 4)", noOptions,
               FromSession{gate_norm::perplexityCurves}, nullptr, &gateNormFigure4},
    FigureInfo{"gate_norm_fig5", "attention sublayers removed by gate-norm and by importance (Gate-Norm, figure 5)",
               stripOptions, FromSession{gate_norm::removedLayers}, nullptr, &gateNormFigure5},
    FigureInfo{"gate_norm_table1", "perplexity by strategy and number of removed sublayers (Gate-Norm, table 1)",
               gateNormPublished, FromSession{gate_norm::perplexityTable}, checkPublished, &gateNormTable1},
    FigureInfo{"gate_norm_table2", "task scores and speed-up without sublayers and blocks (Gate-Norm, table 2)",
               gateNormPublished, FromSession{gate_norm::taskTable}, checkPublished, &gateNormTable2},
    FigureInfo{"gate_norm_table3", "perplexity before and after recovery training (Gate-Norm, table 3)",
               gateNormPublished, FromSession{gate_norm::recoveryTable}, checkPublished, &gateNormTable3},
    FigureInfo{"gate_norm_timing", "seconds of scoring all attention sublayers (Gate-Norm, section 5.3)",
               gateNormPublished, FromSession{gate_norm::scoringSeconds}, checkPublished, &gateNormSection5},
};

// --- recipe ----------------------------------------------------------------------------------------------------------

/// The settings of the recipe in one size.
struct GateNormSize {
    StepText calibration;
    StepScore score;
    int limit = 0; ///< questions of each task; 0 = all
    std::vector<int> lengths;
    int newTokens = 0; ///< 0 = the defaults of --latency
    int warmup = -1;
    int runs = 0;
};

GateNormSize gateNormSize(const RecipeChoice& choice) {
    if (choice.size == SweepSize::paper)
        return {{.tokens = 1024 * 1024, .length = 1024},
                {.name = "wiki.test.raw", .window = 2048},
                0,
                {512, 1024, 2048, 3072, 4096, 5120, 6144, 7168}};
    return {{.tokens = 8192, .length = 512},
            {.name = "wiki.test.raw", .tokens = 4096, .window = 512},
            40,
            {256, 512, 1024, 2048},
            32,
            1,
            3};
}

std::vector<StepTask> gateNormTasks() {
    return {{"boolq.jsonl"},    {"rte.jsonl"},           {"hellaswag.jsonl"},  {"winogrande.jsonl"},
            {"arc_easy.jsonl"}, {"arc_challenge.jsonl"}, {"openbook_qa.jsonl"}};
}

/// The budgets of figure 4 and table 1, each adapted to the model; those of table 1 alone for a quick run.
std::vector<int> budgetsOfCurves(SweepSize size, int layers) {
    const std::vector<int> ofTable = adaptedBudgets(gate_norm::tableBudgets, gate_norm::paperLayers, layers);
    std::set<int> all(ofTable.begin(), ofTable.end());
    if (size == SweepSize::paper)
        for (const int budget : adaptedBudgets(gate_norm::curveBudgets, gate_norm::paperLayers, layers))
            all.insert(budget);
    return {all.begin(), all.end()};
}

/// The counts of table 2 that are run: all, or the middle one, which a smaller count stands for if the two are equal in
/// this model. @param areBlocks whether sixteen is left out
std::vector<int> budgetsOfTasks(SweepSize size, int layers, bool areBlocks) {
    std::vector<int> all;
    std::vector<int> upToMiddle;
    for (const AdaptedBudget& budget : pairedBudgets(gate_norm::taskBudgets, gate_norm::paperLayers, layers)) {
        all.push_back(budget.ours);
        if (budget.paper <= gate_norm::taskBudgets[1])
            upToMiddle.push_back(budget.ours);
    }
    if (size == SweepSize::quick)
        return {upToMiddle.back()};
    return areBlocks ? upToMiddle : all;
}

} // namespace

std::span<const FigureInfo> gateNormFigures() {
    return gateNormRows;
}

std::vector<RecipeStep> gateNormSteps(const RecipeChoice& choice, const Session& session) {
    const GateNormSize size = gateNormSize(choice);
    const int layers = session.model.spec.layerCount();
    const bool isPaper = choice.size == SweepSize::paper;
    std::vector<RecipeStep> steps;
    steps.push_back(measureStep(
        choice, session,
        {.id = "measure",
         .summary = "Gate-norm, attention ratio, attention importance and block influence",
         .metrics = "gate_norm,attention_ratio,attention_ratio:exclude_first=true,attention_importance,block_influence",
         .text = size.calibration}));
    SweepChoice curves{.id = "curves",
                       .summary = "Perplexity without attention sublayers, by four strategies",
                       .strategies = "attention_importance,gate_norm,block_influence,random_attention",
                       .budgets = budgetList(budgetsOfCurves(choice.size, layers)),
                       .repetitions = 3,
                       .calibration = size.calibration,
                       .score = size.score};
    steps.push_back(sweepStep(choice, session, curves));

    SweepChoice tasks{.id = "tasks",
                      .summary = "Task scores without attention sublayers",
                      .strategies = "gate_norm,attention_importance,random_attention",
                      .budgets = budgetList(budgetsOfTasks(choice.size, layers, false)),
                      .repetitions = isPaper ? 3 : 1,
                      .calibration = size.calibration,
                      .score = size.score,
                      .tasks = gateNormTasks(),
                      .limit = size.limit};
    steps.push_back(sweepStep(choice, session, tasks));
    tasks.id = "tasks_blocks";
    tasks.summary = "Task scores without blocks";
    tasks.strategies = "block_influence,random_block";
    tasks.budgets = budgetList(budgetsOfTasks(choice.size, layers, true));
    steps.push_back(sweepStep(choice, session, tasks));

    SweepChoice speed{.id = "speed",
                      .summary = "Tokens per second without attention sublayers",
                      .strategies = "gate_norm",
                      .budgets = budgetList(budgetsOfTasks(choice.size, layers, false)),
                      .calibration = size.calibration,
                      .score = size.score,
                      .wantsTimes = true,
                      .newTokens = size.newTokens,
                      .warmup = size.warmup,
                      .runs = size.runs};
    steps.push_back(sweepStep(choice, session, speed));
    speed.id = "speed_blocks";
    speed.summary = "Tokens per second without blocks";
    speed.strategies = "block_influence";
    speed.budgets = budgetList(budgetsOfTasks(choice.size, layers, true));
    steps.push_back(sweepStep(choice, session, speed));

    steps.push_back(latencyStep(choice, session,
                                {.id = "sublayers",
                                 .summary = "Seconds of attention and MLP in a forward pass",
                                 .lengths = size.lengths,
                                 .bySublayer = true}));
    if (isPaper)
        steps.push_back(sweepStep(
            choice, session,
            {.id = "recovery",
             .summary = "Recovery training with half of the attention sublayers removed",
             .strategies = "gate_norm,attention_importance",
             .budgets = budgetList(adaptedBudgets(gate_norm::recoveryBudgets, gate_norm::paperLayers, layers)),
             .calibration = size.calibration,
             .score = size.score,
             .recover = "gate_norm",
             .recoverData = "wiki.train.raw",
             .recoverTokens = 3.0 * 2000 * 2048}));
    return steps;
}

} // namespace secateur
