// The figures and tables of the Gate-Norm paper, from sessions with made-up numbers. Each drawn number is compared with
// one that the test computes from the numbers of the session.

#include "analysis/base/usage_error.h"
#include "analysis/gallery/figure_table.h"
#include "analysis/gallery/paper.h"
#include "analysis/gallery/recipe_commands.h"
#include "tests/support/figure_checks.h"
#include "tests/support/paper_session.h"
#include "tests/support/sessions.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <algorithm>
#include <array>
#include <cmath>

using namespace secateur;
using test::columnOf;
using test::isNear;
using test::madeUp;
using test::rowWith;

namespace {

const std::vector<CurveTask> gateTasks{
    {"boolq", "/tasks/boolq.jsonl", "boolq", "sha256:a", 40},
    {"hellaswag_val", "/tasks/hellaswag_val.jsonl", "hellaswag", "sha256:b", 40},
    {"arc_easy", "/tasks/arc_easy.jsonl", "arc", "sha256:c", 40},
    {"arc_challenge", "/tasks/arc_challenge.jsonl", "arc", "sha256:d", 40},
};
const std::vector<std::string> gateMetrics{"acc", "acc_norm"};

/// LLaMA-2-13B with the four strategies of figure 4 at five budgets, and random_block at 8.
Session gateSession() {
    Session session;
    session.model = test::paperModel("llama-2-13b-hf", 40, 40);
    Curves set = test::scoredCurves(session.model, gateTasks, gateMetrics, CurveLatency{12, 32}, 10);
    for (const std::string strategy : {"attention_importance", "block_influence", "gate_norm", "random_attention"}) {
        Curve curve{strategy, {}};
        const int repetitions = strategy == "random_attention" ? 3 : 1;
        for (const int budget : {1, 4, 7, 8, 10, 13, 20})
            for (int repetition = 0; repetition < repetitions; ++repetition) {
                CurvePoint point =
                    test::unitPoint(strategy, budget, repetition, repetitions > 1, 1'000'000 - 10'000 * budget);
                test::scoreMadeUp(point, strategy, gateTasks, gateMetrics);
                if (strategy == "gate_norm")
                    point.tokensPerSecond = 10 + budget;
                curve.points.push_back(point);
            }
        set.curves.push_back(curve);
    }
    session.curves.push_back(set);
    return session;
}

double perplexityOf(const std::string& strategy, int budget, int repetition = 0) {
    return 5 + 3 * madeUp(strategy, budget, repetition, "perplexity");
}

double meanPerplexity(const std::string& strategy, int budget) {
    return (perplexityOf(strategy, budget, 0) + perplexityOf(strategy, budget, 1) + perplexityOf(strategy, budget, 2)) /
           3;
}

MetricResult layerResult(const char* id, const ModelSpec& spec, double (*value)(int)) {
    MetricResult result;
    result.request = parseMetricRequests(id).front();
    result.values = Matrix(spec.layers.size(), 1);
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        result.values(static_cast<std::size_t>(layer), 0) = value(layer);
    if (result.request.info->needs != Needs::weights)
        result.data = MeasuredData{"built-in", 16, 8192, 8192, 512, "document", "tokenizer_default"};
    result.seconds = 1.25;
    return result;
}

} // namespace

class TestGateNormItems : public QObject {
    Q_OBJECT

private slots:
    void curvesHaveMeansAndBands() {
        const Figure figure = makeFigure(gateSession(), "gate_norm_fig4");
        QCOMPARE(figure.kind, FigureKind::grid);
        QCOMPARE(figure.parts.size(), std::size_t{2});
        const Figure& upper = figure.parts[0];
        QVERIFY(upper.y.logarithmic && !figure.parts[1].y.logarithmic);
        QCOMPARE(upper.series.size(), std::size_t{5});
        QCOMPARE(figure.parts[1].series.size(), std::size_t{3});
        constexpr std::array budgets{1, 4, 7, 8, 10, 13, 20};
        for (const FigureSeries& line : upper.series) {
            if (line.style == SeriesStyle::level) {
                QCOMPARE(line.values, std::vector{perplexityOf("dense", 0)});
                continue;
            }
            const std::string strategy = line.label == "data-driven" ? "attention_importance"
                                         : line.label == "gate-norm" ? "gate_norm"
                                         : line.label == "random"    ? "random_attention"
                                                                     : "block_influence";
            QCOMPARE(line.positions.size(), budgets.size());
            for (std::size_t i = 0; i < budgets.size(); ++i) {
                QCOMPARE(line.positions[i], static_cast<double>(budgets[i]));
                const bool isRandom = strategy == "random_attention";
                QVERIFY(isNear(line.values[i],
                               isRandom ? meanPerplexity(strategy, budgets[i]) : perplexityOf(strategy, budgets[i])));
                QCOMPARE(std::isnan(line.lows[i]), !isRandom);
                if (isRandom) {
                    QVERIFY(isNear(line.lows[i], perplexityOf(strategy, budgets[i], 0)));
                    QVERIFY(isNear(line.highs[i], perplexityOf(strategy, budgets[i], 2)));
                }
            }
        }
        const QString caption = QString::fromStdString(figure.caption);
        for (const char* part : {"wiki.test.raw", "2,048 tokens", "3 repetitions (seeds 0, 1, 2)", "llama-2-13b-hf"})
            QVERIFY2(caption.contains(part), qPrintable(caption));
    }

    void aReferenceHasAColumn() {
        Session session = gateSession();
        session.reference = std::make_shared<const Session>(gateSession());
        const Figure figure = makeFigure(session, "gate_norm_fig4");
        QCOMPARE(figure.parts.size(), std::size_t{4});
        QCOMPARE(figure.gridColumns, std::size_t{2});
    }

    void perplexitiesStandBesideThoseOfThePaper() {
        const FigureTable table = makeFigure(gateSession(), "gate_norm_table1:published=Vicuna-13B").table;
        QCOMPARE(table.columns.size(), std::size_t{7});
        for (const auto& [label, strategy] :
             {std::pair{"Random", "random_attention"}, std::pair{"Data-driven", "attention_importance"},
              std::pair{"Gate-Norm", "gate_norm"}}) {
            const TableRow& row = rowWith(table, {label});
            QVERIFY(isNear(row.cells[1].value, perplexityOf("dense", 0)));
            constexpr std::array budgets{1, 4, 7, 10, 13};
            for (std::size_t i = 0; i < budgets.size(); ++i) {
                const bool isRandom = std::string(strategy) == "random_attention";
                const double expected =
                    isRandom ? meanPerplexity(strategy, budgets[i]) : perplexityOf(strategy, budgets[i]);
                QVERIFY(isNear(row.cells[i + 2].value, expected));
                const double best =
                    std::min({meanPerplexity("random_attention", budgets[i]),
                              perplexityOf("attention_importance", budgets[i]), perplexityOf("gate_norm", budgets[i])});
                QCOMPARE(row.cells[i + 2].isBest, isNear(expected, best));
            }
        }
        const TableRow& printed = rowWith(table, {"Gate-Norm (paper)"});
        QVERIFY(printed.isPublished);
        QVERIFY(std::isnan(printed.cells[1].value) && !std::isnan(printed.cells[2].value));
        QVERIFY(std::ranges::none_of(makeFigure(gateSession(), "gate_norm_table1").table.rows, &TableRow::isPublished));
    }

    void tasksHaveAveragesAndSpeed() {
        const FigureTable table = makeFigure(gateSession(), "gate_norm_table2").table;
        const TableRow& row = rowWith(table, {"Gate-Norm", "8", "Attn"});
        const double boolq = 100 * madeUp("gate_norm", 8, 0, "boolqacc");
        const double hellaswag = 100 * madeUp("gate_norm", 8, 0, "hellaswag_valacc_norm");
        const double easy = 100 * madeUp("gate_norm", 8, 0, "arc_easyacc_norm");
        const double challenge = 100 * madeUp("gate_norm", 8, 0, "arc_challengeacc_norm");
        QVERIFY(isNear(row.cells[columnOf(table, "BoolQ")].value, boolq));
        QVERIFY(isNear(row.cells[columnOf(table, "BoolQ")].error, 1));
        QVERIFY(isNear(row.cells[columnOf(table, "HellaSwag")].value, hellaswag));
        QVERIFY(isNear(row.cells[columnOf(table, "ARC-E")].value, easy));
        QVERIFY(isNear(row.cells[columnOf(table, "ARC-C")].value, challenge));
        QVERIFY(std::isnan(row.cells[columnOf(table, "RTE")].value));
        QVERIFY(isNear(row.cells[columnOf(table, "Avg Acc")].value, (boolq + hellaswag + easy + challenge) / 4));
        QVERIFY(isNear(row.cells[columnOf(table, "SpeedUp")].value, 1.8));
        QCOMPARE(row.cells.back().text, std::string("no"));
        // The speed of random masks is that of the timed mask of the same count.
        const TableRow& random = rowWith(table, {"Random", "8", "Attn"});
        QVERIFY(isNear(random.cells[columnOf(table, "SpeedUp")].value, 1.8));
        double mean = 0;
        for (int repetition = 0; repetition < 3; ++repetition)
            mean += 100 * madeUp("random_attention", 8, repetition, "boolqacc") / 3;
        QVERIFY(isNear(random.cells[columnOf(table, "BoolQ")].value, mean));
        const TableRow& dense = rowWith(table, {"Baseline"});
        QVERIFY(isNear(dense.cells[columnOf(table, "SpeedUp")].value, 1));
        QVERIFY(isNear(dense.cells[columnOf(table, "BoolQ")].value, 100 * madeUp("dense", 0, 0, "boolqacc")));
    }

    void gapsAreNamedWithTheirCommand() {
        const FigureTable table = makeFigure(gateSession(), "gate_norm_table2").table;
        QString notes;
        for (const std::string& note : table.notes)
            notes += QString::fromStdString(note) + "\n";
        for (const char* part :
             {"RTE", "WinoG", "OpenBookQA", "secateur-cli reproduce gate_norm /models/llama-2-13b-hf", "--data DIR",
              "Avg Acc is the mean of BoolQ, HellaSwag, ARC-E, ARC-C."})
            QVERIFY2(notes.contains(part), qPrintable(notes));
    }

    void publishedRowsFollowOurs() {
        const FigureTable table = makeFigure(gateSession(), "gate_norm_table2").table; // auto: the model is the paper's
        const auto at = std::ranges::find_if(table.rows, [](const TableRow& row) {
            return row.cells[0].text == "Gate-Norm" && row.cells[1].text == "8";
        });
        QVERIFY(at != table.rows.end() && (at + 1)->isPublished);
        QCOMPARE((at + 1)->cells[0].text, std::string("Gate-Norm (paper)"));
        QCOMPARE((at + 1)->cells[1].text, std::string("8"));
        // The published average is computed on the same columns as ours.
        double sum = 0;
        for (const char* title : {"BoolQ", "HellaSwag", "ARC-E", "ARC-C"})
            sum += (at + 1)->cells[columnOf(table, title)].value;
        QVERIFY(isNear((at + 1)->cells[columnOf(table, "Avg Acc")].value, sum / 4));
        QVERIFY(std::ranges::none_of(makeFigure(gateSession(), "gate_norm_table2:published=none").table.rows,
                                     &TableRow::isPublished));
    }

    void budgetsOfShallowModelsAreAdapted() {
        const std::array budgets{1, 4, 7, 10, 13};
        QCOMPARE(adaptedBudgets(budgets, 40, 40), (std::vector{1, 4, 7, 10, 13}));
        QCOMPARE(adaptedBudgets(budgets, 40, 26), (std::vector{1, 4, 7, 10, 13}));
        QCOMPARE(adaptedBudgets(budgets, 40, 12), (std::vector{1, 2, 3, 4})); // 0.3, 1.2, 2.1, 3, 3.9
        QCOMPARE(pairedBudgets(budgets, 40, 12).at(1).paper, 7);
    }

    void recoveredModelsHaveColumns() {
        Session session = gateSession();
        Curve* curve = &session.curves[0].curves[2];
        QCOMPARE(curve->strategy, std::string("gate_norm"));
        CurvePoint point = test::unitPoint("gate_norm", 20, 0, false, 800'000);
        point.key.recovered = "gate_norm:steps=10";
        point.perplexity = 6.5;
        curve->points.push_back(point);
        const FigureTable table = makeFigure(session, "gate_norm_table3").table;
        QVERIFY(isNear(table.rows[0].cells[columnOf(table, "Gate-Norm")].value, perplexityOf("gate_norm", 20)));
        QVERIFY(isNear(table.rows[0].cells[columnOf(table, "Gate-Norm + LoRA")].value, 6.5));
        QVERIFY(std::isnan(table.rows[0].cells[columnOf(table, "Data-driven + LoRA")].value));
        QVERIFY(table.notes.at(0).starts_with("Recovery training: "));
        QVERIFY(table.notes.at(1).find("--only recovery --size paper") != std::string::npos); // not in size quick
        QVERIFY(table.rows[1].isPublished);
        QCOMPARE(table.rows[1].cells[columnOf(table, "Gate-Norm + LoRA")].value, 6.35);
        QCOMPARE(table.rows[1].cells[columnOf(table, "Unpruned")].value, 4.88);
    }

    void stripsShowTheLayersThatAreRemoved() {
        Session session = gateSession();
        session.results = {
            layerResult("gate_norm", session.model.spec, [](int layer) { return 1.0 + layer; }),
            layerResult("attention_importance", session.model.spec,
                        [](int layer) { return layer < 4 ? 100.0 : 1.0 + layer; }),
            layerResult("attention_ratio", session.model.spec, [](int layer) { return 1.4 / (1 + layer); })};
        const Figure figure = makeFigure(session, "gate_norm_fig5");
        QCOMPARE(figure.cells.rows(), std::size_t{2});
        for (std::size_t layer = 0; layer < 40; ++layer) {
            QCOMPARE(figure.cells(1, layer), layer < 16 ? 1.0 : 0.0);
            QCOMPARE(figure.cells(0, layer), layer >= 4 && layer < 20 ? 1.0 : 0.0);
        }
        QVERIFY(QString::fromStdString(figure.caption).contains("Both remove 12 of the same layers"));
        QCOMPARE(std::ranges::count(makeFigure(session, "gate_norm_fig5:k=3").cells.values(), 1.0), 6);
        QVERIFY_THROWS_EXCEPTION(UsageError, makeFigure(session, "gate_norm_fig5:k=41"));
        QVERIFY_THROWS_EXCEPTION(UsageError, makeFigure(session, "gate_norm_fig5:k=99999999999")); // beyond int

        const Figure ratio = makeFigure(session, "gate_norm_fig3");
        QCOMPARE(ratio.series.size(), std::size_t{1});
        for (int layer = 0; layer < 40; ++layer)
            QVERIFY(isNear(ratio.series[0].values[static_cast<std::size_t>(layer)], 1.4 / (1 + layer)));

        const FigureTable seconds = makeFigure(session, "gate_norm_timing:published=LLaMA-13B").table;
        QCOMPARE(seconds.rows[0].cells[3].value, 1.25);
        QCOMPARE(rowWith(seconds, {"Gate-Norm (paper)", "A6000"}).cells[3].value, 0.3);
    }

    void sublayersAreTimed() {
        Session session = gateSession();
        Evaluation evaluation{{}, "float32", "cpu", {}, 0, 0, {}};
        for (const int tokens : {512, 1024}) {
            Prefill prefill{tokens, {{{1, 2, 3}}, SublayerSeconds{{}, {}, 0, {}, {}}}, {}, {}};
            SublayerSeconds& seconds = *prefill.run.bySublayer;
            seconds.attention.assign(40, 0.01 * tokens / 512);
            seconds.mlp.assign(40, 0.02);
            if (tokens == 1024) {
                seconds.attentionRuns = {0.8, 1.2, 0.4};
                seconds.mlpRuns = {0.8, 0.8, 0.8};
            }
            evaluation.prefills.push_back(prefill);
        }
        session.evaluations.push_back(evaluation);
        const Figure figure = makeFigure(session, "gate_norm_fig1");
        QCOMPARE(figure.series[0].positions, (std::vector<double>{512, 1024}));
        QVERIFY(isNear(figure.series[0].values[0], 10)); // ms of a layer, from means
        QVERIFY(isNear(figure.series[0].values[1], 20)); // median of 0.4, 0.8 and 1.2 s over 40 layers
        QVERIFY(isNear(figure.series[0].lows[1], 1000 * (0.4 + 0.2 * 0.4) / 40));
        QVERIFY(isNear(figure.series[0].highs[1], 1000 * (1.2 - 0.2 * 0.4) / 40));
        QVERIFY(isNear(figure.series[1].values[0], 20));
        QVERIFY(std::isnan(figure.series[1].lows[0]));
    }

    void stepsAreDoneWhenTheSessionHoldsThem() {
        const RecipeChoice choice{
            .model = "m.gguf", .session = "s.h5", .files = {{"wiki.test.raw", "/w/wiki.test.raw"}}};
        Session session;
        session.model = test::paperModel("other", 40, 40);
        for (const RecipeStep& step : recipeSteps(paper("gate_norm"), choice, session)) {
            QVERIFY2(!step.isDone, step.id.c_str());
            QVERIFY2(step.tokens > 0, step.id.c_str());
            QCOMPARE(step.arguments.at(1), std::string("m.gguf"));
            QCOMPARE(step.arguments.at(step.arguments.size() - 2), std::string("--out"));
        }
        session.results = {layerResult("gate_norm", session.model.spec, [](int) { return 1.0; }),
                           layerResult("attention_importance", session.model.spec, [](int) { return 1.0; })};
        const RecipeStep step = recipeSteps(paper("gate_norm"), choice, session).front();
        QVERIFY(!step.isDone);
        const QString command = QString::fromStdString(shellText(step.arguments));
        QVERIFY2(command.contains("attention_ratio,attention_ratio:exclude_first=true,block_influence"),
                 qPrintable(command));
    }

    void sweepsAreDonePointByPoint() {
        const RecipeChoice choice{.model = "m.gguf", .session = "s.h5", .files = {{"wiki.test.raw", "wiki.test.raw"}}};
        const SweepChoice sweep{.id = "x",
                                .summary = "x",
                                .strategies = "gate_norm,random_attention",
                                .budgets = "1,4",
                                .repetitions = 3,
                                .score = {.name = "wiki.test.raw", .window = 2048}};
        Session session = gateSession();
        QVERIFY(sweepStep(choice, session, sweep).isDone);
        SweepChoice more = sweep;
        more.budgets = "1,5";
        QVERIFY(!sweepStep(choice, session, more).isDone);
        more = sweep;
        more.repetitions = 4;
        QVERIFY(!sweepStep(choice, session, more).isDone);
        more = sweep;
        more.score.window = 512;
        QVERIFY(!sweepStep(choice, session, more).isDone);
        more = sweep;
        more.recover = "gate_norm";
        QVERIFY(!sweepStep(choice, session, more).isDone);
        for (std::size_t curve : {2, 3}) { // gate_norm and random_attention
            std::vector<CurvePoint>& points = session.curves[0].curves[curve].points;
            const std::size_t count = points.size();
            for (std::size_t i = 0; i < count; ++i) {
                points.push_back(points[i]);
                points.back().key.recovered = "gate_norm:steps=5";
            }
        }
        QVERIFY(sweepStep(choice, session, more).isDone);
        const QString command = QString::fromStdString(shellText(sweepStep(choice, session, more).arguments));
        QVERIFY2(command.contains("--recover gate_norm"), qPrintable(command));
    }
};

SECATEUR_SUITE(TestGateNormItems)
#include "tst_gate_norm_items.moc"
