#include "analysis/gallery/amp_items.h"

#include "analysis/gallery/paper_rows.h"
#include "analysis/gallery/published.h"
#include "analysis/gallery/recipe_commands.h"

#include <array>
#include <set>
#include <string>
#include <utility>

namespace secateur {

namespace {

constexpr std::array ampPublished{publishedOption};

constexpr std::array<std::string_view, 4> ampCurveSteps{"tasks", "perplexity", "recovery", "recovery_half"};
constexpr std::array<std::string_view, 2> ampTaskSteps{"tasks", "recovery"};
constexpr std::array<std::string_view, 4> ampComponentSteps{"tasks", "components", "recovery", "recovery_components"};
constexpr std::array<std::string_view, 1> ampSpeedStep{"speed"};
constexpr std::array<std::string_view, 4> ampEpochSteps{"recovery", "recovery_epochs1", "recovery_epochs3",
                                                        "recovery_epochs4"};
constexpr std::array<std::string_view, 3> ampCostSteps{"measure", "tasks", "recovery"};

constexpr PaperItem ampFigure1{"amp", "Figure 1", ampCurveSteps};
constexpr PaperItem ampTable1{"amp", "Table 1", ampTaskSteps};
constexpr PaperItem ampTable2{"amp", "Table 2", ampTaskSteps};
constexpr PaperItem ampTable3{"amp", "Table 3", ampComponentSteps};
constexpr PaperItem ampSpeed{"amp", "Speed-up (text)", ampSpeedStep};
constexpr PaperItem ampEpochs{"amp", "Epochs (text)", ampEpochSteps};
constexpr PaperItem ampCost{"amp", "Cost (text)", ampCostSteps};

constexpr std::array ampRows{
    FigureInfo{"amp_fig1", "perplexity against removed parameters, with and without recovery (AMP, figure 1)",
               noOptions, FromSession{amp_paper::perplexityCurve}, nullptr, &ampFigure1},
    FigureInfo{"amp_table1", "task scores of pruned models (AMP, table 1)", ampPublished,
               FromSession{amp_paper::methodsTable}, checkPublished, &ampTable1},
    FigureInfo{"amp_table2", "task scores by the order of removal (AMP, table 2)", ampPublished,
               FromSession{amp_paper::ordersTable}, checkPublished, &ampTable2},
    FigureInfo{"amp_table3", "task scores without heads, without neurons, and without both (AMP, table 3)",
               ampPublished, FromSession{amp_paper::componentsTable}, checkPublished, &ampTable3},
    FigureInfo{"amp_speedup", "seconds of generation, dense and pruned (AMP)", ampPublished,
               FromSession{amp_paper::speedTable}, checkPublished, &ampSpeed},
    FigureInfo{"amp_epochs", "mean task score by epochs of recovery training (AMP)", ampPublished,
               FromSession{amp_paper::epochsTable}, checkPublished, &ampEpochs},
    FigureInfo{"amp_cost", "seconds of scoring, of choosing masks and of recovery training (AMP)", noOptions,
               FromSession{amp_paper::costTable}, nullptr, &ampCost},
};

// --- recipe ----------------------------------------------------------------------------------------------------------

/// About 50 prompts of Alpaca.
constexpr StepText ampPrompts{.name = "alpaca.json", .tokens = 2048, .length = 512};

StepScore ampScore(SweepSize size) {
    return size == SweepSize::paper ? StepScore{.name = "wiki.test.raw", .window = 2048}
                                    : StepScore{.name = "wiki.test.raw", .tokens = 4096, .window = 512};
}

std::vector<StepTask> ampTasks() {
    return {{"winogrande.jsonl"}, {"hellaswag.jsonl"}, {"arc_easy.jsonl"}, {"arc_challenge.jsonl"}, {"piqa.jsonl"}};
}

template <std::size_t Count>
std::string ampBudgets(const std::array<int, Count>& ratios, int layers) {
    std::set<int> adapted;
    for (const int ratio : ratios)
        adapted.insert(amp_paper::adaptedRatio(ratio, layers));
    return budgetList(std::vector<int>(adapted.begin(), adapted.end()));
}

/// The commands of one size. All share texts and tasks, so that their points are one set of curves.
class AmpRecipe {
public:
    AmpRecipe(const RecipeChoice& choice, const Session& session)
        : m_choice(choice)
        , m_session(session)
        , m_isPaper(choice.size == SweepSize::paper)
        , m_layers(session.model.spec.layerCount()) {}

    std::vector<RecipeStep> steps() {
        m_steps.push_back(measureStep(m_choice, m_session,
                                      {.id = "measure",
                                       .summary = "AMP scores of heads and neurons",
                                       .metrics = "amp_head,amp_neuron",
                                       .text = ampPrompts}));
        add(sweep("tasks", "Perplexity and task scores in the standard, the reversed and a random order", orders(),
                  ampBudgets(amp_paper::ratios, m_layers), true));
        add(sweep("components", "Perplexity and task scores without neurons and without heads", components(),
                  ampBudgets(std::array{amp_paper::componentRatio}, m_layers), true));
        add(sweep("perplexity", "Perplexity with half of the parameters removed", std::string(amp_paper::standard),
                  ampBudgets(std::array{amp_paper::halfRatio}, m_layers), m_isPaper));
        SweepChoice speed = sweep("speed", "Seconds of generation", std::string(amp_paper::standard),
                                  ampBudgets(std::array{amp_paper::speedRatio}, m_layers), false);
        speed.wantsTimes = true;
        if (!m_isPaper) {
            speed.newTokens = 32;
            speed.warmup = 1;
            speed.runs = 3;
        }
        add(speed);
        if (m_isPaper)
            addRecoveries();
        return std::move(m_steps);
    }

private:
    static std::string orders() {
        return strategyList({amp_paper::standard, amp_paper::reversedOrder, amp_paper::randomOrder});
    }
    static std::string components() { return strategyList({amp_paper::neuronsOnly, amp_paper::headsOnly}); }

    SweepChoice sweep(std::string_view id, std::string_view summary, std::string strategies, std::string budgets,
                      bool hasTasks) const {
        SweepChoice step{.id = id,
                         .summary = summary,
                         .strategies = std::move(strategies),
                         .budgets = std::move(budgets),
                         .calibration = ampPrompts,
                         .score = ampScore(m_choice.size)};
        if (hasTasks)
            step.tasks = ampTasks();
        step.limit = hasTasks && !m_isPaper ? 40 : 0;
        return step;
    }

    void add(const SweepChoice& step) { m_steps.push_back(sweepStep(m_choice, m_session, step)); }

    /// Two epochs on Alpaca, as the recipe of the paper says, and the epochs that the paper compares them with.
    void addRecoveries() {
        const auto recovered = [](SweepChoice step, int epochs = 0) {
            constexpr double tokensOfAlpaca = 52'000 * 100; // examples of about 100 tokens
            step.recover = "amp";
            step.recoverData = "alpaca.json";
            step.recoverEpochs = epochs;
            step.recoverTokens = 3 * tokensOfAlpaca * (epochs > 0 ? epochs : amp_paper::usualEpochs);
            return step;
        };
        add(recovered(sweep("recovery", "Recovery training of all orders", orders(),
                            ampBudgets(amp_paper::ratios, m_layers), true)));
        add(recovered(sweep("recovery_components", "Recovery training without neurons and without heads", components(),
                            ampBudgets(std::array{amp_paper::componentRatio}, m_layers), true)));
        add(recovered(sweep("recovery_half", "Recovery training with half of the parameters removed",
                            std::string(amp_paper::standard), ampBudgets(std::array{amp_paper::halfRatio}, m_layers),
                            true)));
        static constexpr std::array steps{std::pair{1, "recovery_epochs1"}, std::pair{3, "recovery_epochs3"},
                                          std::pair{4, "recovery_epochs4"}};
        for (const auto& [epochs, id] : steps)
            add(recovered(sweep(id, "Recovery training of another number of epochs", std::string(amp_paper::standard),
                                ampBudgets(amp_paper::epochRatios, m_layers), true),
                          epochs));
    }

    const RecipeChoice& m_choice;
    const Session& m_session;
    bool m_isPaper;
    int m_layers;
    std::vector<RecipeStep> m_steps;
};

} // namespace

std::span<const FigureInfo> ampFigures() {
    return ampRows;
}

std::vector<RecipeStep> ampSteps(const RecipeChoice& choice, const Session& session) {
    return AmpRecipe(choice, session).steps();
}

} // namespace secateur
