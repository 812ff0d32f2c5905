// The figures and tables of the HARP paper: every drawn number against an independent computation from the session, and
// the steps of the recipe.
#include "analysis/base/usage_error.h"
#include "analysis/gallery/figure_table.h"
#include "analysis/gallery/harp_items.h"
#include "analysis/gallery/paper.h"
#include "tests/support/curve_session.h"
#include "tests/support/figure_checks.h"
#include "tests/support/sessions.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <map>

using namespace secateur;
using test::isNear;

namespace {

/// A task of the made-up session, with the score that a delta of the loss lowers.
struct MadeTask {
    const char* name;
    const char* format;
    const char* metric;
    double dense;
};
const std::vector<MadeTask> madeTasks{{"winogrande", "winogrande", "acc", 0.6},
                                      {"arc_challenge", "arc", "acc_norm", 0.4},
                                      {"gsm8k", "generate", "exact_match", 0.3},
                                      {"nq_open", "generate", "exact_match", 0.2},
                                      {"qasper", "generate", "f1", 0.25}};

double scoreOf(const MadeTask& task, double delta) {
    return task.dense - 0.05 * delta;
}

/// The rise of the loss of each strategy at two layers.
const std::map<std::string, double> deltas{{"harp", 0.1},
                                           {"harp:position=middle", 0.4},
                                           {"harp:position=bottom", 0.9},
                                           {"harp:alpha=fixed:value=1", 0.7},
                                           {"harp:mlp=flap", 0.2},
                                           {"mag_sp", 1.5},
                                           {"flap", 0.8}};

void setScores(CurvePoint& point, double delta) {
    test::score(point, delta);
    point.tasks.clear();
    for (const MadeTask& task : madeTasks)
        point.tasks.push_back({task.name, task.metric, scoreOf(task, delta), 0.01, -0.05 * delta, 0.02});
}

/// A mask that bypasses the last layers, with a made-up search of their alphas.
SessionMask searchedMask(const ModelSpec& spec, int layers) {
    SessionMask mask{"harp " + std::to_string(layers), "", {PruningMask(spec), "demo", "sha256:feed", "", {}}};
    MaskProvenance provenance;
    provenance.strategy = "harp";
    provenance.text = "built-in";
    provenance.notes = {"alpha was searched on 512 tokens that no other step read"};
    for (int i = 0; i < layers; ++i) {
        AlphaCurve curve{.layer = spec.layerCount() - 1 - i, .alpha = 0.1 * i, .alphas = {}, .losses = {}};
        for (int step = 0; step <= 10; ++step) {
            curve.alphas.push_back(step / 10.0);
            curve.losses.push_back(2 + 0.1 * i + 0.05 * std::abs(step - i));
        }
        LayerMask layer = mask.record.mask.layer(curve.layer);
        layer.attention = AttentionCut::bypassQk;
        layer.alpha = curve.alpha;
        mask.record.mask.setLayer(curve.layer, layer);
        provenance.alphaCurves.push_back(std::move(curve));
    }
    mask.record.provenance = std::move(provenance);
    mask.digest = maskDigest(mask.record.mask);
    return mask;
}

Evaluation timedRun(const SessionMask& mask) {
    Evaluation evaluation;
    evaluation.mask = {mask.name, mask.digest};
    for (const int tokens : {32, 64}) {
        Prefill prefill{tokens,
                        {{{1.0 * tokens, 1.5 * tokens, 1.25 * tokens}}, {}},
                        PrefillTiming{{{2.0 * tokens, 3.0 * tokens, 2.5 * tokens}}, {}},
                        {}};
        prefill.speedup = speedup(prefill.reference->timing, prefill.run.timing);
        evaluation.prefills.push_back(std::move(prefill));
    }
    return evaluation;
}

/// Curves of HARP at 1, 2 and 3 of 4 layers, of its variants at 1 layer, and of baselines; a searched mask that was
/// timed.
Session harpSession() {
    Session session;
    session.model = test::curveModel();
    Curves set = test::emptyCurves(session.model);
    set.tasks.clear();
    for (const MadeTask& task : madeTasks)
        set.tasks.push_back({task.name, std::string("tasks/") + task.name + ".jsonl", task.format, "sha256:x", 50});
    setScores(set.dense, 0);
    set.dense.deltaNats = notMeasured;
    for (const auto& [strategy, delta] : deltas) {
        const bool isBaseline = !strategy.starts_with("harp");
        Curve curve{strategy, {}};
        for (const int layers : strategy == "harp" ? std::vector{1, 2, 3} : std::vector{1}) {
            CurvePoint point;
            point.mask = "sha256:made";
            point.key.budget = isBaseline ? Budget{12.5, true} : Budget{static_cast<double>(layers)};
            setScores(point, delta * layers);
            curve.points.push_back(std::move(point));
        }
        set.curves.push_back(std::move(curve));
    }
    session.curves.push_back(std::move(set));
    const SessionMask searched = searchedMask(session.model.spec, 3);
    session.evaluations.push_back(timedRun(searched));
    add(session, searchedMask(session.model.spec, 1));
    add(session, searched);
    return session;
}

double number(const Figure& figure, const std::string& method, const std::string& title) {
    return test::rowWith(figure.table, {method}).cells.at(test::columnOf(figure.table, title)).value;
}

double percent(const char* name, double delta) {
    const auto task = std::ranges::find(madeTasks, std::string_view(name), &MadeTask::name);
    return 100 * scoreOf(*task, delta);
}

} // namespace

class TestHarpItems : public QObject {
    Q_OBJECT

private slots:
    void similarityIsDrawnFromTheResults() {
        Session session = harpSession();
        QVERIFY_THROWS_EXCEPTION(Error, makeFigure(session, "harp_similarity"));
        session.results.push_back(test::result("token_similarity", session.model.spec, 0));
        const Figure one = makeFigure(session, "harp_similarity");
        QCOMPARE(one.series.size(), std::size_t{1});
        QVERIFY(one.caption.find("token_spread") != std::string::npos); // names what is missing
        session.results.push_back(test::result("token_spread", session.model.spec, 1));
        const Figure both = makeFigure(session, "harp_similarity");
        QCOMPARE(both.series.size(), std::size_t{2});
        QCOMPARE(both.y.label, both.series[0].label + ", " + both.series[1].label);
        for (std::size_t layer = 0; layer < session.model.spec.layers.size(); ++layer) {
            QCOMPARE(both.series[0].values[layer], session.results[0].values(layer, 0));
            QCOMPARE(both.series[1].values[layer], session.results[1].values(layer, 0));
        }
    }

    /// A sweep over numbers of layers does not take the place of the variants.
    void tablesShowTheNumberThatMostVariantsHave() {
        Session session = harpSession();
        for (Curve& curve : session.curves[0].curves)
            if (curve.strategy.starts_with("harp:"))
                curve.points[0].key.budget = Budget{2};
        QCOMPARE(harp::heldLayers(session), 2);
        QVERIFY(isNear(number(makeFigure(session, "harp_positions"), "Middle", "Perplexity"), std::exp(2 + 0.4)));
    }

    void alphasAreThePerplexitiesOfTheSearch() {
        const Session session = harpSession();
        const Figure figure = makeFigure(session, "harp_alphas");
        QCOMPARE(figure.cells.rows(), std::size_t{3});
        QCOMPARE(figure.cells.columns(), std::size_t{11});
        QCOMPARE(figure.y.names, (std::vector<std::string>{"1", "2", "3"}));
        QCOMPARE(figure.x.names.at(3), std::string("0.3"));
        QCOMPARE(figure.outlined.size(), std::size_t{3});
        for (std::size_t r = 0; r < 3; ++r) {
            const int i = static_cast<int>(2 - r); // the last layer was searched first
            for (std::size_t step = 0; step <= 10; ++step)
                QCOMPARE(figure.cells(r, step), std::exp(2 + 0.1 * i + 0.05 * std::abs(static_cast<int>(step) - i)));
            QCOMPARE(figure.outlined[r].row, r);
            QCOMPARE(figure.outlined[r].column, static_cast<std::size_t>(i));
        }
        QVERIFY(figure.caption.find("512 tokens") != std::string::npos);
        QCOMPARE(makeFigure(session, "harp_alphas:mask=harp 1").cells.rows(), std::size_t{1});
        QVERIFY_THROWS_EXCEPTION(Error, makeFigure(session, "harp_alphas:mask=other"));
        Session none = session;
        none.masks.clear();
        QVERIFY_THROWS_EXCEPTION(Error, makeFigure(none, "harp_alphas"));
    }

    void alphasOfTheAuthorsAreInTheCaption() {
        Session session = harpSession();
        QVERIFY(makeFigure(session, "harp_alphas").caption.find("Authors") == std::string::npos);
        const Figure figure = makeFigure(session, "harp_alphas:published=LLaMA3.1-8B");
        QVERIFY(figure.caption.find("down: 0.8, 0.2, 0.1, 0.1, 0, 0.1, 0, 0.") != std::string::npos);
        QVERIFY_THROWS_EXCEPTION(UsageError, makeFigure(session, "harp_alphas:published=BERT"));
    }

    void resultsHaveAveragesOfChoiceAndGenerationApart() {
        const Figure figure = makeFigure(harpSession(), "harp_results");
        for (const auto& [method, delta] :
             {std::pair{"Dense", 0.0}, std::pair{"HARP", 0.1}, std::pair{"HARP, FLAP on MLPs", 0.2},
              std::pair{"Mag-SP", 1.5}, std::pair{"FLAP", 0.8}}) {
            QVERIFY(isNear(number(figure, method, "Perplexity"), std::exp(2 + delta)));
            QVERIFY(isNear(number(figure, method, "WinoGrande"), percent("winogrande", delta)));
            QVERIFY(isNear(number(figure, method, "ARC-c"), percent("arc_challenge", delta)));
            QVERIFY(isNear(number(figure, method, "choice Avg"),
                           (percent("winogrande", delta) + percent("arc_challenge", delta)) / 2));
            QVERIFY(isNear(number(figure, method, "generation Avg"),
                           (percent("gsm8k", delta) + percent("nq_open", delta)) / 2));
            QVERIFY(std::isnan(number(figure, method, "MMLU")));
        }
        QVERIFY(std::isnan(number(figure, "Wanda-SP", "Perplexity")));
        QVERIFY(std::ranges::any_of(figure.table.notes, [](const std::string& note) {
            return note.find("MMLU") != std::string::npos && note.find("reproduce harp") != std::string::npos;
        }));
    }

    void longTextsAreScoredByF1() {
        const Figure figure = makeFigure(harpSession(), "harp_longbench");
        QVERIFY(isNear(number(figure, "HARP", "Qasper"), percent("qasper", 0.1)));
        QVERIFY(isNear(number(figure, "Dense", "Qasper"), percent("qasper", 0)));
        QVERIFY(std::isnan(number(figure, "HARP", "Musique")));
    }

    void positionsStandBesideThePublishedAverages() {
        const Figure figure = makeFigure(harpSession(), "harp_positions:published=LLaMA3.1-8B");
        const auto average = [](double delta) {
            return (percent("winogrande", delta) + percent("arc_challenge", delta) + percent("gsm8k", delta) +
                    percent("nq_open", delta)) /
                   4;
        };
        QVERIFY(isNear(number(figure, "Top", "Avg"), average(0.1)));
        QVERIFY(isNear(number(figure, "Middle", "Avg"), average(0.4)));
        QVERIFY(isNear(number(figure, "Bottom", "Avg"), average(0.9)));
        QVERIFY(isNear(number(figure, "Top, alpha = 1", "Avg"), average(0.7)));
        QVERIFY(std::isnan(number(figure, "Similarity", "Avg")));
        QVERIFY(test::rowWith(figure.table, {"Top (paper)"}).isPublished);
    }

    void layersAreALineOverTheirNumber() {
        Session session = harpSession();
        const Figure figure = makeFigure(session, "harp_layers");
        QCOMPARE(figure.kind, FigureKind::curves);
        const FigureSeries& line = figure.series.front();
        QCOMPARE(line.positions, (std::vector<double>{1, 2, 3}));
        const auto mean = [](double delta) {
            return (percent("winogrande", delta) + percent("arc_challenge", delta) + percent("gsm8k", delta) +
                    percent("nq_open", delta)) /
                   4;
        };
        for (std::size_t i = 0; i < 3; ++i)
            QVERIFY(isNear(line.values[i], mean(0.1 * static_cast<double>(i + 1))));
        QCOMPARE(figure.series.back().style, SeriesStyle::level);
        QVERIFY(isNear(figure.series.back().values.front(), mean(0)));
        for (Curve& curve : session.curves[0].curves)
            for (CurvePoint& point : curve.points)
                point.tasks.clear();
        const Figure losses = makeFigure(session, "harp_layers");
        QVERIFY(isNear(losses.series.front().values[2], 2 + 0.1 * 3));
        QVERIFY(losses.y.label.find("nats") != std::string::npos);
    }

    void rescalingShowsWhatAnAlphaOfOneLoses() {
        const Figure figure = makeFigure(harpSession(), "harp_rescaling");
        QVERIFY(isNear(number(figure, "HARP, alpha searched", "GSM8K"), percent("gsm8k", 0.1)));
        QVERIFY(isNear(number(figure, "HARP, alpha = 1", "GSM8K"), percent("gsm8k", 0.7)));
        QVERIFY(isNear(number(figure, "HARP, alpha = 1", "generation Avg"),
                       (percent("gsm8k", 0.7) + percent("nq_open", 0.7)) / 2));
    }

    void speedHasBothFormsOfTheSpeedUp() {
        const Session session = harpSession();
        const Figure figure = makeFigure(session, "harp_speed");
        QCOMPARE(figure.table.rows.size(), std::size_t{2});
        const std::vector<TableCell>& cells = figure.table.rows[1].cells;
        QCOMPARE(cells[0].value, 64.0);
        QCOMPARE(cells[1].value, 2.5 * 64);
        QCOMPARE(cells[2].value, 1.25 * 64);
        QCOMPARE(cells[3].value, 50.0);
        QCOMPARE(cells[4].value, 100.0);
        const Share<std::int64_t> cut = PriceList(session.model).price(session.masks[1].record.mask).layerParameters;
        const QString share =
            QString::number(100.0 * static_cast<double>(cut.saved()) / static_cast<double>(cut.all), 'f', 2);
        QVERIFY(QString::fromStdString(figure.table.notes.front()).contains(share));
        QVERIFY(figure.table.notes.front().starts_with("3 layers bypassed, 1 of them with alpha 0"));
        const Figure published = makeFigure(session, "harp_speed:published=LLaMA3.1-8B");
        QVERIFY(published.table.rows.back().isPublished);
        QCOMPARE(published.table.rows.back().cells[3].value, 16.7);
        QVERIFY(published.table.rows.back().cells[3].isDoubtful);
    }

    void anEmptySessionNamesTheCommand() {
        Session session;
        session.model = test::curveModel();
        for (const FigureInfo* item : itemsOf(paper("harp")))
            try {
                makeFigure(session, item->id);
                QFAIL(std::string(item->id).c_str());
            } catch (const Error& error) {
                QVERIFY2(error.hint().find("secateur-cli reproduce harp demo.gguf") != std::string::npos, error.what());
            }
    }

    void theRecipeKnowsWhatIsMeasured() {
        Session session;
        session.model = test::curveModel();
        const RecipeChoice choice{.model = "demo.gguf", .session = "out/s.h5"};
        const std::vector<RecipeStep> steps = recipeSteps(paper("harp"), choice, session);
        std::vector<std::string> ids;
        for (const RecipeStep& step : steps) {
            ids.push_back(step.id);
            QVERIFY2(!step.isDone && !step.summary.empty() && step.tokens > 0, step.id.c_str());
        }
        QCOMPARE(ids, (std::vector<std::string>{"measure", "positions", "bypass_flap", "generation", "baselines",
                                                "layers", "speed"}));
        const std::string positions = shellText(steps[1].arguments);
        QVERIFY(positions.find("--budgets 1 ") != std::string::npos); // an eighth of four layers
        QVERIFY(positions.find("--masks out/s-masks") != std::string::npos);
        QVERIFY(shellText(steps[6].arguments).find("--mask out/s-masks/harp_1.mask.json") != std::string::npos);
        QVERIFY(std::ranges::find(steps[1].missingFiles, "winogrande.jsonl") != steps[1].missingFiles.end());
        for (const FigureInfo* item : itemsOf(paper("harp")))
            for (const std::string_view step : item->item->steps)
                QVERIFY2(std::ranges::find(ids, step) != ids.end() || step == "longbench",
                         std::string(item->id).c_str());
        // Of a model whose context is not known, all lengths are timed.
        session.model.spec.context = 0;
        const std::vector<RecipeStep> longer = recipeSteps(paper("harp"), choice, session);
        QVERIFY(shellText(longer.back().arguments).find("--lengths 512,1024,2048,4096") != std::string::npos);
        session.model.spec.context = 64;
        const RecipeChoice whole{.model = "demo.gguf", .session = "s.h5", .size = SweepSize::paper};
        QCOMPARE(recipeSteps(paper("harp"), whole, session).back().id, std::string("longbench"));
    }
};

SECATEUR_SUITE(TestHarpItems)
#include "tst_harp_items.moc"
