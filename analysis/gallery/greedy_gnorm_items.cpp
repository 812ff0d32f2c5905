#include "analysis/gallery/greedy_gnorm_figures.h"
#include "analysis/gallery/paper_rows.h"
#include "analysis/gallery/recipe_commands.h"

#include <array>
#include <string>

namespace secateur {

namespace {

constexpr std::string_view greedyPaper = "greedy_gnorm";
constexpr std::array<std::string_view, 1> greedySteps{"sweep"};
constexpr std::array<std::string_view, 2> greedyStopSteps{"sweep", "stop"};

constexpr PaperItem greedyItem2{greedyPaper, "Figure 2"};
constexpr PaperItem greedyItem3{greedyPaper, "Figure 3", greedySteps};
constexpr PaperItem greedyItem4{greedyPaper, "Figure 4", greedySteps};
constexpr PaperItem greedyItem5{greedyPaper, "Figure 5", greedyStopSteps};
constexpr std::array greedyTables{
    PaperItem{greedyPaper, "Table 1", greedyStopSteps}, PaperItem{greedyPaper, "Table 2", greedyStopSteps},
    PaperItem{greedyPaper, "Table 3", greedyStopSteps}, PaperItem{greedyPaper, "Table 4", greedyStopSteps},
    PaperItem{greedyPaper, "Table 5", greedyStopSteps}};

constexpr std::array<std::string_view, 4> moduleItems{"greedy_gnorm_table2", "greedy_gnorm_table3",
                                                      "greedy_gnorm_table4", "greedy_gnorm_table5"};
constexpr std::array<std::string_view, 4> moduleSummaries{
    "parameters of the modules before and after gnorm_greedy, compared with the paper's BERT",
    "parameters of the modules before and after gnorm_greedy, compared with the paper's ALBERT",
    "parameters of the modules before and after gnorm_greedy, compared with the paper's RoBERTa",
    "parameters of the modules before and after gnorm_greedy, compared with the paper's XLM-RoBERTa"};

void checkGreedyTable(const FigureOptions& options) {
    checkGreedyStop(options);
    checkPublished(options);
}

/// The tables 2 to 5 differ in the published numbers only.
template <std::size_t index>
Figure drawModuleItem(const Session& session, const FigureOptions& options) {
    return drawGreedyModules(session, options, moduleItems[index]);
}

template <std::size_t index>
constexpr FigureInfo moduleItem() {
    return {moduleItems[index], moduleSummaries[index],  greedyTableOptions, FromSession{drawModuleItem<index>},
            checkGreedyTable,   &greedyTables[index + 1]};
}

constexpr std::array greedyFigures{
    FigureInfo{"greedy_gnorm_fig2", "change of the gradients of W_q in one layer when one head is cut, for two heads",
               greedyGradientOptions, FromText{drawGreedyGradients, 4, 4, 1}, checkGreedyGradients, &greedyItem2},
    FigureInfo{"greedy_gnorm_fig3", "accuracy against cut heads, for gradient norm and entropy from both ends",
               greedyCurveOptions, FromSession{drawGreedyCurves}, nullptr, &greedyItem3},
    FigureInfo{"greedy_gnorm_fig4", "accuracy of gnorm_greedy against cut heads, with box plots of random masks",
               greedyCurveOptions, FromSession{drawGreedyBoxes}, nullptr, &greedyItem4},
    FigureInfo{"greedy_gnorm_fig5", "heads that are kept where gnorm_greedy stops", greedyMaskOptions,
               FromSession{drawGreedyMask}, checkGreedyStop, &greedyItem5},
    FigureInfo{"greedy_gnorm_table1", "accuracy and size before and after gnorm_greedy", greedyTableOptions,
               FromSession{drawGreedySizes}, checkGreedyTable, &greedyTables[0]},
    moduleItem<0>(),
    moduleItem<1>(),
    moduleItem<2>(),
    moduleItem<3>(),
};

/// Usual names of the files of a classifier: sentences to calibrate on, and labelled ones to score.
constexpr std::string_view holdOut = "holdout.txt";
constexpr std::string_view labelledTest = "test.jsonl";

StepText calibrationOf(const RecipeChoice& choice, const Session& session) {
    const bool isQuick = choice.size == SweepSize::quick;
    const bool isClassifier = session.model.spec.classes > 0;
    return {.name = isClassifier ? holdOut : std::string_view(), .tokens = isQuick ? 2048 : 8192};
}

/// gnorm_greedy with the options of the sweep, whose steps are then not run again.
std::string greedyOfSweep(const RecipeChoice& choice, const ModelSpec& spec) {
    return presetSeries(preset(greedyPaper), choice.size, spec).front().strategy.resultId();
}

/// A sweep, of a classifier with its accuracy. A classifier has no losses on a text, so that they are not waited for.
RecipeStep greedySweepStep(const RecipeChoice& choice, const Session& session, SweepChoice step) {
    step.calibration = calibrationOf(choice, session);
    if (session.model.spec.classes == 0)
        return sweepStep(choice, session, step);
    step.tasks = {StepTask{labelledTest}};
    step.limit = choice.size == SweepSize::quick ? 100 : 0;
    RecipeStep made = sweepStep(choice, session, step);
    NeededPoints needed;
    needed.series = seriesOfStep(choice, session, step);
    needed.limit = step.limit;
    if (const std::string path = fileOf(choice, labelledTest); path.empty())
        made.reason = "needs the labelled texts test.jsonl: --data DIR";
    else
        needed.tasks.push_back(path);
    made.isDone = made.reason.empty() && holdsPoints(session, needed);
    return made;
}

} // namespace

std::span<const FigureInfo> greedyGnormFigures() {
    return greedyFigures;
}

std::vector<RecipeStep> greedyGnormSteps(const RecipeChoice& choice, const Session& session) {
    std::vector<RecipeStep> steps{
        measureStep(choice, session,
                    {.id = "measure",
                     .summary = "Attention entropy",
                     .metrics = "attention_entropy",
                     .text = calibrationOf(choice, session)}),
        greedySweepStep(choice, session,
                        {.id = "sweep",
                         .summary = "Heads cut by gradient norm and by attention entropy from both ends, and at random",
                         .preset = std::string(greedyPaper)})};
    if (const std::optional<int> heads = greedyPaperCut(session.model))
        steps.push_back(greedySweepStep(choice, session,
                                        {.id = "stop",
                                         .summary = "Heads cut by gradient norm, as many as in the paper",
                                         .strategies = greedyOfSweep(choice, session.model.spec),
                                         .budgets = std::to_string(*heads)}));
    return steps;
}

} // namespace secateur
