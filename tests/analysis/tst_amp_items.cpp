// The figures and tables of the AMP paper, from sessions with made-up numbers. Each drawn number is compared with one
// that the test computes from the numbers of the session.

#include "analysis/gallery/figure_table.h"
#include "analysis/gallery/paper.h"
#include "analysis/gallery/paper_rows.h"
#include "tests/support/figure_checks.h"
#include "tests/support/paper_session.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

using namespace secateur;
using test::isNear;
using test::madeUp;
using test::rowWith;

namespace {

const std::vector<CurveTask> ampTaskFiles{
    {"winogrande", "/tasks/winogrande.jsonl", "winogrande", "sha256:a", 40},
    {"valid", "/tasks/piqa/valid.jsonl", "piqa", "sha256:b", 40},
    {"arc_easy", "/tasks/arc_easy.jsonl", "arc", "sha256:c", 40},
};
const std::vector<std::string> ampMetrics{"acc", "acc_norm"};

std::int64_t keptAt(int ratio) {
    return 1'000'000 - 30'030 * ratio;
}

/// LLaMA-2-7B with the three orders at three ratios, the components at one, and 17 with a perplexity alone.
Session ampSession() {
    Session session;
    session.model = test::paperModel("Llama-2-7b-hf", 32, 32);
    Curves set = test::scoredCurves(session.model, ampTaskFiles, ampMetrics, CurveLatency{12, 64}, 8);
    for (const std::string strategy :
         {"amp", "amp:components=heads", "amp:components=mlp", "amp:order=random", "amp:order=reversed"}) {
        Curve curve{strategy, {}};
        for (const int ratio : {3, 7, 10, 17}) {
            if ((strategy.find("components") != std::string::npos && ratio != 10) || (ratio == 17 && strategy != "amp"))
                continue;
            CurvePoint point = test::unitPoint(strategy, ratio, 0, strategy == "amp:order=random", keptAt(ratio));
            test::scoreMadeUp(point, strategy, ratio == 17 ? std::vector<CurveTask>() : ampTaskFiles, ampMetrics);
            if (strategy == "amp" && ratio == 7)
                point.tokensPerSecond = 10;
            if (strategy == "amp:components=heads")
                point.reached = Budget{6, false, BudgetOf::own};
            point.choosingSeconds = ratio;
            curve.points.push_back(point);
        }
        set.curves.push_back(curve);
    }
    session.curves.push_back(set);
    return session;
}

/// Adds recovered points of amp with one name. @param gain of the accuracy
void addRecovered(Session& session, const std::string& name, double gain) {
    std::vector<CurvePoint>& points = session.curves[0].curves[0].points;
    for (std::size_t i = 0; i < 3; ++i) {
        CurvePoint point = points[i];
        point.key.recovered = name;
        point.perplexity -= gain;
        for (PointMetric& metric : point.tasks)
            metric.value += gain;
        points.push_back(point);
    }
}

double accuracy(const std::string& strategy, int ratio, const std::string& task, const std::string& metric) {
    return 100 * madeUp(strategy, ratio, 0, task + metric);
}

double averageOf(const std::string& strategy, int ratio) {
    return (accuracy(strategy, ratio, "winogrande", "acc") + accuracy(strategy, ratio, "valid", "acc_norm") +
            accuracy(strategy, ratio, "arc_easy", "acc_norm")) /
           3;
}

constexpr std::size_t firstTask = 2;
constexpr std::size_t average = firstTask + 5;

} // namespace

class TestAmpItems : public QObject {
    Q_OBJECT

private slots:
    void perplexitiesAreDrawnByRatio() {
        Session session = ampSession();
        const Figure pruned = makeFigure(session, "amp_fig1");
        QCOMPARE(pruned.series.size(), std::size_t{2});
        const FigureSeries& line = pruned.series[0];
        constexpr std::array ratios{3, 7, 10, 17};
        QCOMPARE(line.positions.size(), ratios.size());
        for (std::size_t i = 0; i < ratios.size(); ++i) {
            QVERIFY(isNear(line.positions[i], 3.003 * ratios[i]));
            QVERIFY(isNear(line.values[i], 5 + 3 * madeUp("amp", ratios[i], 0, "perplexity")));
        }
        QVERIFY(isNear(pruned.series[1].values[0], 5 + 3 * madeUp("dense", 0, 0, "perplexity")));
        QVERIFY(QString::fromStdString(pruned.caption).contains("reproduce amp"));
        addRecovered(session, "amp:data=alpaca", 0.01);
        const Figure both = makeFigure(session, "amp_fig1");
        QCOMPARE(both.series.size(), std::size_t{3});
        QCOMPARE(both.series[0].positions.size(), std::size_t{3});
        QVERIFY(isNear(both.series[0].values[1], line.values[1] - 0.01));
    }

    void ordersAreCompared() {
        const FigureTable table = makeFigure(ampSession(), "amp_table2:published=none").table;
        QCOMPARE(table.rows.size(), std::size_t{10});
        for (const auto& [label, strategy] : {std::pair{"AMP", "amp"}, std::pair{"Random", "amp:order=random"},
                                              std::pair{"Reversed", "amp:order=reversed"}})
            for (const auto& [ratio, text] : {std::pair{3, "9.01 %"}, std::pair{7, "21.02 %"}, std::pair{10, "30.03 %"}}) {
                const TableRow& row = rowWith(table, {text, label});
                QVERIFY(isNear(row.cells[firstTask].value, accuracy(strategy, ratio, "winogrande", "acc")));
                QVERIFY(isNear(row.cells[firstTask + 2].value, accuracy(strategy, ratio, "arc_easy", "acc_norm")));
                QVERIFY(isNear(row.cells[firstTask + 4].value, accuracy(strategy, ratio, "valid", "acc_norm")));
                QVERIFY(std::isnan(row.cells[firstTask + 1].value) && std::isnan(row.cells[firstTask + 3].value));
                QVERIFY(isNear(row.cells[average].value, averageOf(strategy, ratio)));
                const double best = std::max({averageOf("amp", ratio), averageOf("amp:order=random", ratio),
                                              averageOf("amp:order=reversed", ratio)});
                QCOMPARE(row.cells[average].isBest, isNear(row.cells[average].value, best));
            }
        QVERIFY(std::ranges::any_of(table.notes, [](const std::string& note) {
            return note.find("without recovery training") != std::string::npos;
        }));
    }

    void recoveredRowsMatchThePapers() {
        Session session = ampSession();
        addRecovered(session, "amp", 0.02);
        addRecovered(session, "amp:epochs=1", 0.01);
        const FigureTable table = makeFigure(session, "amp_table1").table; // auto: the model is the paper's
        const TableRow& row = rowWith(table, {"30.03 %", "AMP + LoRA"});
        QVERIFY(isNear(row.cells[firstTask].value, accuracy("amp", 10, "winogrande", "acc") + 2));
        const auto at = std::ranges::find_if(table.rows, [](const TableRow& one) {
            return one.cells[0].text == "30%" && one.cells[1].text == "AMP + LoRA (paper)";
        });
        QVERIFY(at != table.rows.end() && at->isPublished);
        QVERIFY(std::ranges::any_of(table.rows, [](const TableRow& one) {
            return one.isPublished && one.cells[1].text.find("SliceGPT") != std::string::npos;
        }));

        const FigureTable epochs = makeFigure(session, "amp_epochs").table;
        QCOMPARE(epochs.rows.size(), std::size_t{8}); // each with the paper's
        QVERIFY(isNear(epochs.rows[0].cells[1].value, averageOf("amp", 7) + 1));
        QVERIFY(isNear(epochs.rows[2].cells[2].value, averageOf("amp", 10) + 2));
        QVERIFY(std::isnan(epochs.rows[4].cells[1].value));
        QCOMPARE(epochs.rows[3].cells[1].value, 63.44);
        QVERIFY(epochs.rows[3].cells[1].isDoubtful);
        QVERIFY(std::ranges::any_of(epochs.notes, [](const std::string& note) {
            return note.find("--only recovery_epochs3,recovery_epochs4") != std::string::npos;
        }));
    }

    /// Epochs other than the paper's two are further steps, which points of two epochs do not fulfil.
    void epochsAreStepsOfTheRecipe() {
        Session session = ampSession();
        RecipeChoice choice{.model = "m.gguf", .session = "s.h5", .size = SweepSize::paper};
        const auto stepOf = [&](std::string_view id) {
            const std::vector<RecipeStep> steps = ampSteps(choice, session);
            return *std::ranges::find(steps, id, &RecipeStep::id);
        };
        const CommandLine command = stepOf("recovery_epochs3").arguments;
        const auto at = std::ranges::find(command, "--recover-epochs");
        QVERIFY(at != command.end());
        QCOMPARE(*(at + 1), std::string("3"));
        const CommandLine usual = stepOf("recovery").arguments;
        QVERIFY(std::ranges::find(usual, "--recover-epochs") == usual.end());
    }

    void componentsSayWhatTheyReach() {
        const FigureTable table = makeFigure(ampSession(), "amp_table3:published=none").table;
        QVERIFY(isNear(rowWith(table, {"30.03 %", "neurons"}).cells[average].value, averageOf("amp:components=mlp", 10)));
        QVERIFY(isNear(rowWith(table, {"30.03 %", "heads"}).cells[average].value, averageOf("amp:components=heads", 10)));
        QVERIFY(std::ranges::any_of(table.notes, [](const std::string& note) {
            return note.find("heads: a budget of 10 cannot be reached; the largest is 6") != std::string::npos;
        }));
    }

    void secondsAreThoseOfAllNewTokens() {
        const FigureTable table = makeFigure(ampSession(), "amp_speedup").table;
        QCOMPARE(table.rows.size(), std::size_t{4});
        QVERIFY(isNear(table.rows[0].cells[2].value, 8));
        QVERIFY(table.rows[1].isPublished);
        QCOMPARE(table.rows[1].cells[2].value, 2.79);
        QVERIFY(isNear(table.rows[2].cells[2].value, 6.4));
        QVERIFY(isNear(table.rows[2].cells[3].value, 1.25));
        QCOMPARE(table.rows[3].cells[2].value, 2.34);
        QCOMPARE(table.rows[3].cells[3].value, 1.19);
        const FigureTable cost = makeFigure(ampSession(), "amp_cost").table;
        QCOMPARE(cost.rows.size(), std::size_t{4});
        QCOMPARE(cost.rows[1].cells[2].value, 7.0);
        Session trained = ampSession();
        addRecovered(trained, "amp:epochs=1", 0.01);
        for (CurvePoint& point : trained.curves[0].curves[0].points)
            if (!point.key.recovered.empty())
                point.trainingSeconds = 60;
        const FigureTable more = makeFigure(trained, "amp_cost").table;
        QCOMPARE(more.rows.size(), std::size_t{7});
        QCOMPARE(more.rows.back().cells[0].text, std::string("recovery training"));
        QCOMPARE(more.rows.back().cells[2].value, 60.0);
    }

    void stepsBelongToItems() {
        const RecipeChoice choice{.model = "m.gguf", .session = "s.h5", .size = SweepSize::paper};
        const std::vector<RecipeStep> steps = recipeSteps(paper("amp"), choice, ampSession());
        std::set<std::string_view> named;
        for (const FigureInfo* item : itemsOf(paper("amp")))
            named.insert(item->item->steps.begin(), item->item->steps.end());
        for (const RecipeStep& step : steps)
            QVERIFY2(named.erase(step.id) == 1, step.id.c_str());
        QVERIFY(named.empty());
    }
};

SECATEUR_SUITE(TestAmpItems)
#include "tst_amp_items.moc"
