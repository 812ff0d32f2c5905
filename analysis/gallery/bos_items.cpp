#include "analysis/base/text.h"
#include "analysis/gallery/bos_figures.h"
#include "analysis/gallery/paper_rows.h"
#include "analysis/gallery/recipe_commands.h"

#include <array>

namespace secateur {

namespace {

constexpr std::array<std::string_view, 2> bosAblationSteps{"measure", "ablate"};
constexpr std::array<std::string_view, 1> bosMeasureSteps{"measure"};
constexpr std::array<std::string_view, 1> bosRatioSteps{"ratios"};
constexpr std::array<std::string_view, 1> bosTableSteps{"tables"};

constexpr PaperItem bosItem1{bosPaper, "Figure 1"};
constexpr PaperItem bosItem2{bosPaper, "Figure 2", bosAblationSteps};
constexpr PaperItem bosItem3{bosPaper, "Figure 3", bosAblationSteps};
constexpr PaperItem bosItem4{bosPaper, "Figure 4", bosMeasureSteps};
constexpr PaperItem bosItem5{bosPaper, "Figure 5", bosMeasureSteps};
constexpr PaperItem bosItem6{bosPaper, "Figure 6"};
constexpr PaperItem bosItem7{bosPaper, "Figure 7", bosRatioSteps};
constexpr PaperItem bosItem8{bosPaper, "Figure 8"};
constexpr PaperItem bosItem9{bosPaper, "Figure 9"};
constexpr PaperItem bosItem10{bosPaper, "Figure 10"};
constexpr PaperItem bosTable1{bosPaper, "Table 1", bosTableSteps};
constexpr PaperItem bosTable2{bosPaper, "Table 2", bosTableSteps};

constexpr std::array bosRows{
    FigureInfo{"bos_fig1", "attention map of a BOS sink head", bosMapOptions, FromPrompt{drawBosMap}, checkBosMap,
               &bosItem1},
    FigureInfo{"bos_fig2", "accuracy without each head against its BOS sink score", bosAblationOptions,
               FromSession{drawBosAblation}, checkBosAblation, &bosItem2},
    FigureInfo{"bos_fig3", "mean accuracy without a head, and BOS sink score, of each layer", bosAblationOptions,
               FromSession{drawBosLayers}, checkBosAblation, &bosItem3},
    FigureInfo{"bos_fig4", "BOS sink score against the length of the sequence", noOptions, FromSession{drawBosLengths},
               nullptr, &bosItem4},
    FigureInfo{"bos_fig5", "mean and variation of each head's BOS sink score over lengths", noOptions,
               FromSession{drawBosVariation}, nullptr, &bosItem5},
    FigureInfo{"bos_fig6", "attention maps of a sink, a diagonal, a uniform and a random head", bosPatternOptions,
               FromPrompt{drawBosPatterns}, checkBosPatterns, &bosItem6},
    FigureInfo{"bos_fig7", "MMLU and perplexity against the ratio of pruned heads", bosRatioOptions,
               FromSession{drawBosRatios}, nullptr, &bosItem7},
    FigureInfo{"bos_fig8", "attention maps of all heads; in the paper, of Gemma-3-4B", bosSheetOptions,
               FromPrompt{drawBosSheet}, checkBosSheet, &bosItem8},
    FigureInfo{"bos_fig9", "attention maps of all heads; in the paper, of Llama-3.1-8B", bosSheetOptions,
               FromPrompt{drawBosSheet}, checkBosSheet, &bosItem9},
    FigureInfo{"bos_fig10", "attention maps of all heads; in the paper, of Qwen3-4B", bosSheetOptions,
               FromPrompt{drawBosSheet}, checkBosSheet, &bosItem10},
    FigureInfo{"bos_table1", "perplexity and accuracies of strategies that prune heads", bosTableOptions,
               FromSession{drawBosHeadTable}, checkBosTable, &bosTable1},
    FigureInfo{"bos_table2", "perplexity and accuracies of strategies that prune blocks", bosTableOptions,
               FromSession{drawBosBlockTable}, checkBosTable, &bosTable2},
};

// --- recipe ----------------------------------------------------------------------------------------------------------

/// The tasks of the tables, with the paper's numbers of examples.
std::vector<StepTask> bosTasks(bool isQuick) {
    const auto shots = [&](int count) { return isQuick ? 0 : count; };
    return {{"mmlu", shots(5)}, {"arc_challenge.jsonl", shots(25)}, {"arc_easy.jsonl"},
            {"boolq.jsonl"},    {"hellaswag.jsonl", shots(10)},     {"openbook_qa.jsonl"},
            {"piqa.jsonl"},     {"winogrande.jsonl", shots(5)}};
}

constexpr std::string_view bosText = "wiki.test.raw";
constexpr const char* bosHeadStrategies = "sink_head,mag_sp:components=heads,wanda_sp:components=heads";
constexpr std::string_view bosLengths = "64/128/256/512/1024/2048/4096";
constexpr std::string_view bosQuickLengths = "64/96/128/192/256/384"; // sequences of the built-in text have more tokens

RecipeStep measureOfBos(const RecipeChoice& choice, const Session& session, bool isQuick) {
    const std::string lengths(isQuick ? bosQuickLengths : bosLengths);
    return measureStep(
        choice, session,
        {.id = "measure",
         .summary = "BOS sink scores of heads and layers, over lengths, and patterns of attention",
         .metrics = "sink_head,sink_head:lengths=" + lengths + ",sink_layer,sink_cv,attention_pattern,block_influence",
         .text = {.name = isQuick ? std::string_view() : std::string_view("mmlu"),
                  .tokens = isQuick ? 4096 : 262144,
                  .length = isQuick ? 512 : 4096}});
}

RecipeStep ablationOfBos(const RecipeChoice& choice, const Session& session, bool isQuick) {
    AblateChoice step{.id = "ablate", .summary = "Quality without each head", .text = {.tokens = 1024}};
    if (!isQuick)
        step.task = StepTask{"mmlu", 0};
    return ablateStep(choice, session, step);
}

/// A sweep that scores masks on the text and on tasks. Both sweeps of the recipe share their points.
RecipeStep sweepOfBos(const RecipeChoice& choice, const Session& session, bool isQuick, SweepChoice step) {
    const bool hasText = !fileOf(choice, bosText).empty();
    step.calibration.tokens = isQuick && hasText ? 1024 : 8192; // without a text, a third of it is scored
    step.score = {.name = bosText, .tokens = isQuick && hasText ? 8192 : 0, .window = isQuick ? 512 : 4096};
    step.score.isPerWord = hasText;
    step.limit = isQuick ? 30 : 0;
    step.protect = "first_last";
    return sweepStep(choice, session, step);
}

std::string ratioText(const ModelCard& model) {
    return exactly(bosRatioOf(model)) + "%";
}

} // namespace

std::span<const FigureInfo> bosFigures() {
    return bosRows;
}

std::vector<RecipeStep> bosSteps(const RecipeChoice& choice, const Session& session) {
    const bool isQuick = choice.size == SweepSize::quick;
    const std::vector<StepTask> tasks = bosTasks(isQuick);
    return {measureOfBos(choice, session, isQuick), ablationOfBos(choice, session, isQuick),
            sweepOfBos(choice, session, isQuick,
                       {.id = "ratios",
                        .summary = "Heads pruned by BOS sink score and by the baselines, at several ratios",
                        .strategies = bosHeadStrategies,
                        .budgets = isQuick ? "12.5%,25%,37.5%" : "12.5%,25%,37.5%,50%,62.5%,75%",
                        .tasks = {tasks.front()}}),
            sweepOfBos(choice, session, isQuick,
                       {.id = "tables",
                        .summary = "Heads and blocks pruned by BOS sink score and by the baselines, with eight tasks",
                        .strategies = std::string(bosHeadStrategies) + ",bottom_up,top_down,block_influence,sink_block",
                        .budgets = ratioText(session.model),
                        .tasks = tasks})};
}

} // namespace secateur
