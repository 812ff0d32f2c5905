// The figures and tables of the BOS-sink paper, drawn from sessions made by hand and from a small model, and compared
// with numbers that the tests compute.
#ifndef Q_MOC_RUN
#include "tests/support/gradient_case.h"

#include "analysis/base/usage_error.h"
#include "analysis/gallery/figure_table.h"
#include "analysis/gallery/paper.h"
#include "analysis/metrics/attention_metrics.h"
#include "analysis/metrics/measure_stages.h"
#include "analysis/running/attention_reader.h"
#include "tests/support/curve_session.h"
#include "tests/support/figure_checks.h"
#include "tests/support/sessions.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <algorithm>
#include <array>
#include <cmath>

using namespace secateur;
using test::areNear;
using test::seriesNamed;

namespace {

using Numbers = std::vector<double>;

MeasuredData promptsOf(std::int64_t sequences) {
    MeasuredData data;
    data.source = "mmlu.jsonl";
    data.sequences = sequences;
    data.tokens = data.allTokens = 4096;
    return data;
}

/// Sink scores of 16 heads: 0.05, 0.10 and so on.
double sinkAt(std::size_t layer, std::size_t head) {
    return 0.05 * static_cast<double>(4 * layer + head + 1);
}

MetricResult headResult(const ModelSpec& spec, const char* request, double (*value)(std::size_t, std::size_t)) {
    MetricResult result = test::result(request, spec, 0);
    for (std::size_t layer = 0; layer < result.values.rows(); ++layer)
        for (std::size_t head = 0; head < result.values.columns(); ++head)
            result.values(layer, head) = value(layer, head);
    result.data = promptsOf(8);
    return result;
}

/// A session with sink scores and the loss without each head.
Session ablatedSession() {
    Session session;
    session.model = test::curveModel();
    const ModelSpec& spec = session.model.spec;
    session.results.push_back(headResult(spec, "sink_head", sinkAt));
    session.results.push_back(headResult(spec, "ablation_head", [](std::size_t layer, std::size_t head) {
        return 0.01 * static_cast<double>(layer) - 0.001 * static_cast<double>(head);
    }));
    session.results.back().features.push_back({"error", Matrix(4, 4, 0.002)});
    return session;
}

/// Adds accuracies without each head on a task of a sweep, whose dense accuracy is 0.75.
void addAccuracies(Session& session) {
    session.results.push_back(
        headResult(session.model.spec, "ablation_head:of=accuracy",
                   [](std::size_t layer, std::size_t head) { return 0.02 * static_cast<double>(layer + head); }));
    session.results.back().data->source = "choices.jsonl";
    Curves set = test::emptyCurves(session.model);
    set.tasks.front().format = "mmlu";
    session.curves.push_back(std::move(set));
}

/// The scores of a head at 64, 128 and 256 tokens.
double sinkAtLength(std::size_t layer, std::size_t head, std::size_t length) {
    return std::min(1.0, sinkAt(layer, head) + 0.02 * static_cast<double>(head) * static_cast<double>(length));
}

Session lengthSession() {
    Session session;
    session.model = test::curveModel();
    MetricResult result = headResult(session.model.spec, "sink_head:lengths=64/128/256", sinkAt);
    result.lengths = {64, 128, 256};
    for (std::size_t length = 0; length < 3; ++length) {
        Matrix& values = result.overLengths.emplace_back(4, 4);
        for (std::size_t layer = 0; layer < 4; ++layer)
            for (std::size_t head = 0; head < 4; ++head)
                values(layer, head) = sinkAtLength(layer, head, length);
    }
    result.values = result.overLengths.back();
    session.results.push_back(std::move(result));
    return session;
}

/// A sweep of heads and blocks with a text and the tasks MMLU and ARC.
Session ratioSession() {
    Session session;
    session.model = test::curveModel();
    Curves set = test::emptyCurves(session.model);
    set.tasks = {{"arc_challenge", "arc_challenge.jsonl", "arc", "sha256:a", 20},
                 {"mmlu", "data/mmlu", "mmlu", "sha256:m", 50}};
    const auto measured = [](CurvePoint& point, double delta) {
        test::score(point, delta);
        point.tasks = {{"arc_challenge", "acc", 0.5 - delta / 4, 0.1, -delta / 4, 0.05},
                       {"mmlu", "acc", 0.6 - delta / 2, 0.1, -delta / 2, 0.05}};
    };
    measured(set.dense, 0);
    const auto add = [&](const char* strategy, const std::vector<HeadId>& order, const std::array<double, 2>& deltas) {
        Curve curve = test::headCurve(session, set, strategy, order, {deltas[0], deltas[1], 0});
        curve.points.pop_back();
        for (std::size_t i = 0; i < 2; ++i) {
            curve.points[i].key.budget = {12.5 * static_cast<double>(i + 1), true, BudgetOf::own};
            measured(curve.points[i], deltas[i]);
        }
        set.curves.push_back(std::move(curve));
    };
    add("mag_sp:components=heads", test::randomOrders[0], {0.4, 0.9});
    add("sink_head", test::sinkOrder, {0.1, 0.3});
    add("sink_block", test::greedyOrder, {0.2, 0.5});
    session.curves.push_back(std::move(set));
    return session;
}

/// A small model and a prompt of its fixture.
struct PromptCase {
    test::GradientCase fixture{"llama-gqa"};
    PromptInputs inputs{fixture.model, PruningMask(fixture.model->spec()), ComputeType::float32, {}, {}};

    PromptCase() {
        inputs.prompt.ids = fixture.sequences.front().ids;
        for (const int id : inputs.prompt.ids)
            inputs.prompt.labels.push_back(std::to_string(id));
    }

    Figure drawn(const std::string& text) const {
        const FigureRequest request = parseFigureRequest(text);
        return std::get<FromPrompt>(request.figure->source).draw(inputs, request.options);
    }
    AttentionMap map(HeadId id) const {
        AttentionRules rules;
        rules.type = ComputeType::float32;
        return *AttentionReader(inputs.model, inputs.mask, inputs.prompt.ids, rules).layer(id.layer, id.head).map;
    }
};

bool isMap(const Matrix& cells, const AttentionMap& map) {
    bool isEqual = cells.rows() == static_cast<std::size_t>(map.tokens);
    for (int query = 0; isEqual && query < map.tokens; ++query)
        for (int key = 0; key < map.tokens; ++key) {
            const double cell = cells(static_cast<std::size_t>(query), static_cast<std::size_t>(key));
            isEqual &= std::isnan(cell) ? map.at(query, key) == 0 : std::abs(cell - map.at(query, key)) < 1e-6;
        }
    return isEqual;
}

const TableRow* rowNamed(const Figure& figure, const std::string& name) {
    for (const TableRow& row : figure.table.rows)
        if (row.cells.front().text == name)
            return &row;
    return nullptr;
}

} // namespace

class TestBosItems : public QObject {
    Q_OBJECT

private slots:
    void everyHeadIsAPoint() {
        const Figure figure = makeFigure(ablatedSession(), "bos_fig2");
        const FigureSeries& points = seriesNamed(figure, "head");
        QCOMPARE(points.values.size(), std::size_t{16});
        QCOMPARE(points.names[5], std::string("L1.H1"));
        QVERIFY(areNear({points.positions[5], points.values[5]}, {0.3, 0.009}));
        QVERIFY(areNear(seriesNamed(figure, "dense").values, {0}));
        QVERIFY(figure.caption.find("Paired standard errors: 0.00200 to 0.00200") != std::string::npos);
    }

    void accuracyIsThatOfTheDenseModelMinusTheDecrease() {
        Session session = ablatedSession();
        addAccuracies(session);
        const Figure figure = makeFigure(session, "bos_fig2");
        QCOMPARE(figure.y.label, std::string("accuracy without the head"));
        QVERIFY(areNear({seriesNamed(figure, "head").values[5]}, {0.75 - 0.04}));
        QVERIFY(areNear(seriesNamed(figure, "dense").values, {0.75}));
        QVERIFY(figure.caption.find("8 questions") != std::string::npos);
        QVERIFY(makeFigure(session, "bos_fig2:of=loss").y.label.starts_with("rise of the loss"));
        session.curves.clear();
        QCOMPARE(makeFigure(session, "bos_fig2").y.label, std::string("change of the accuracy without the head"));
    }

    void layersAreMeansOverHeads() {
        const Figure figure = makeFigure(ablatedSession(), "bos_fig3");
        QCOMPARE(figure.series.size(), std::size_t{2});
        Numbers rises;
        Numbers sinks;
        for (int layer = 0; layer < 4; ++layer) {
            rises.push_back(0.01 * layer - 0.0015);
            sinks.push_back(0.05 * (4 * layer + 2.5));
        }
        QVERIFY(areNear(figure.series[0].values, rises));
        QVERIFY(areNear(figure.series[1].values, sinks));
        QVERIFY(figure.series[1].rightAxis && !figure.series[0].rightAxis);
    }

    void linesOverLengthsAreLeastSquares() {
        const Figure figure = makeFigure(lengthSession(), "bos_fig4");
        const FigureSeries& points = seriesNamed(figure, "all heads (16)");
        QVERIFY(areNear(points.positions, {64, 128, 256}));
        Numbers means(3, 0);
        for (std::size_t length = 0; length < 3; ++length)
            for (std::size_t head = 0; head < 16; ++head)
                means[length] += sinkAtLength(head / 4, head % 4, length) / 16;
        QVERIFY(areNear(points.values, means));
        // The normal equations of a line through three points.
        const double n = 3;
        const double sx = 64 + 128 + 256;
        const double sxx = 64.0 * 64 + 128.0 * 128 + 256.0 * 256;
        const double sy = means[0] + means[1] + means[2];
        const double sxy = 64 * means[0] + 128 * means[1] + 256 * means[2];
        const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
        const double offset = (sy - slope * sx) / n;
        const auto line = std::ranges::find(figure.series, SeriesStyle::dashed, &FigureSeries::style);
        QVERIFY(areNear(line->values, {offset + 64 * slope, offset + 256 * slope}, 1e-12));
        // 0.6 and more: the heads from 12 on (0.6, 0.65 and so on) and head 11 and 10 by their growth.
        std::size_t above = 0;
        for (std::size_t head = 0; head < 16; ++head) {
            double mean = 0;
            for (std::size_t length = 0; length < 3; ++length)
                mean += sinkAtLength(head / 4, head % 4, length) / 3;
            above += mean >= 0.6 ? 1 : 0;
        }
        QVERIFY(seriesNamed(figure, "μ ≥ 0.6").label.ends_with("(" + std::to_string(above) + ")"));
        const FigureSeries& floor = seriesNamed(figure, "uniform");
        double harmonic = 0;
        for (int t = 1; t <= 64; ++t)
            harmonic += 1.0 / t;
        QVERIFY(areNear({floor.positions.front(), floor.values.front()}, {64, harmonic / 64}));
        QCOMPARE(floor.positions.back(), 256.0);
    }

    void variationIsThatOverTheLengths() {
        const Figure figure = makeFigure(lengthSession(), "bos_fig5");
        const FigureSeries& points = figure.series.front();
        QCOMPARE(points.values.size(), std::size_t{16});
        const double step = 0.02 * 3; // of head 3 of layer 1: 0.4, 0.46, 0.52
        QVERIFY(areNear({points.positions[7], points.values[7], points.shades[7]},
                        {0.46, step * std::sqrt(2.0 / 3) / 0.46, 1}));
        Session session = lengthSession();
        session.results.push_back(headResult(session.model.spec, "sink_cv", sinkAt));
        QVERIFY(areNear({makeFigure(session, "bos_fig5").series.front().values[7]}, {sinkAt(1, 3)}));
    }

    void ratiosHaveAnAccuracyAndAPerplexity() {
        const Figure figure = makeFigure(ratioSession(), "bos_fig7");
        QCOMPARE(figure.kind, FigureKind::grid);
        QCOMPARE(figure.parts.size(), std::size_t{2});
        const FigureSeries& accuracies = seriesNamed(figure.parts[0], "BOS");
        QVERIFY(areNear(accuracies.positions, {0.125, 0.25}));
        QVERIFY(areNear(accuracies.values, {0.55, 0.45}));
        QVERIFY(figure.parts[1].y.logarithmic);
        QVERIFY(areNear(seriesNamed(figure.parts[1], "Mag-SP").values, {std::exp(2.4), std::exp(2.9)}));
        QVERIFY(areNear(seriesNamed(figure.parts[1], "dense").values, {std::exp(2.0)}));
        QVERIFY(figure.parts[1].note.find("wanda_sp") != std::string::npos);
        Session session = ratioSession();
        session.curves.front().tasks.pop_back();
        const Figure without = makeFigure(session, "bos_fig7");
        QCOMPARE(without.parts.size(), std::size_t{1});
        QVERIFY(without.note.find("secateur-cli reproduce bos") != std::string::npos);
    }

    void tablesHaveTheStrategiesOfOneRatio() {
        const Figure figure = makeFigure(ratioSession(), "bos_table1");
        const auto column = [&](const char* title) { return test::columnOf(figure.table, title); };
        const TableRow* ours = rowNamed(figure, "BOS sink score");
        const TableRow* mag = rowNamed(figure, "Mag-SP");
        QVERIFY(ours && mag && rowNamed(figure, "Dense") && !rowNamed(figure, "Wanda-SP"));
        const auto numbers = [&](const TableRow& row) {
            Numbers found;
            for (const char* title : {"Pruning Ratio", "Wikitext-2", "ARC-c", "MMLU", "Avg.", "Heads pruned"})
                found.push_back(row.cells.at(column(title)).value);
            return found;
        };
        QVERIFY(areNear(numbers(*ours), {0.125, std::exp(2.1), 0.475, 0.55, (0.475 + 0.55) / 2, 2}));
        QVERIFY(areNear(numbers(*mag), {0.125, std::exp(2.4), 0.4, 0.4, 0.4, 2}));
        QVERIFY(ours->cells.at(column("MMLU")).isBest && !mag->cells.at(column("MMLU")).isBest);
        QVERIFY(std::isnan(ours->cells.at(column("PIQA")).value));
        QVERIFY(rowNamed(makeFigure(ratioSession(), "bos_table2:ratio=25"), "BOS sink score"));
        const Figure paper = makeFigure(ratioSession(), "bos_table1:published=Gemma-3-4B");
        QVERIFY(rowNamed(paper, "BOS sink score (paper)"));
        QCOMPARE(rowNamed(paper, "Wanda-SP (paper)")->cells.at(2).value, 13.53);
        QVERIFY_THROWS_EXCEPTION(UsageError, parseFigureRequest("bos_table1:ratio=half"));
    }

    void missingResultsAreNamed() {
        Session session;
        session.model = test::curveModel();
        for (const char* id : {"bos_fig2", "bos_fig3", "bos_fig4", "bos_fig5", "bos_fig7", "bos_table1", "bos_table2"})
            try {
                makeFigure(session, id);
                QFAIL(id);
            } catch (const Error& error) {
                QVERIFY2(error.message().starts_with("holds no "), error.what());
                QVERIFY2(error.hint().starts_with("secateur-cli reproduce bos demo.gguf --only "), error.what());
            }
    }

    void theMapIsThatOfTheStrongestSink() {
        const PromptCase prompt;
        const Figure figure = prompt.drawn("bos_fig1");
        double most = -1;
        HeadId strongest;
        for (int layer = 0; layer < prompt.inputs.model->spec().layerCount(); ++layer)
            for (int head = 0; head < prompt.inputs.model->spec().layers[0].heads; ++head) {
                const AttentionMap map = prompt.map({layer, head});
                double sum = 0;
                for (int query = 0; query < map.tokens; ++query)
                    sum += map.at(query, 0);
                if (sum > most) {
                    most = sum;
                    strongest = {layer, head};
                }
            }
        QVERIFY(isMap(figure.cells, prompt.map(strongest)));
        QVERIFY(isMap(prompt.drawn("bos_fig1:head=1.2").cells, prompt.map({1, 2})));
        QVERIFY_THROWS_EXCEPTION(UsageError, prompt.drawn("bos_fig1:head=99.0"));
    }

    void patternsAreTheHeadsOfLargestMargin() {
        const PromptCase prompt;
        const Figure figure = prompt.drawn("bos_fig6");
        QCOMPARE(figure.parts.size(), std::size_t{4});
        const std::array sequences{prompt.fixture.sequences.front()};
        const auto plan = prompt.inputs.model->runner().plan(prompt.inputs.mask, ComputeType::float32);
        const MetricResult result =
            measureForward(*prompt.inputs.model, ForwardRun{.plan = *plan, .sequences = sequences},
                           parseMetricRequests("attention_pattern"), {})
                .front();
        const Matrix& margins = std::ranges::find(result.features, "margin", &MetricFeature::name)->values;
        for (std::size_t of = 0; of < 4; ++of) {
            double most = -1;
            HeadId best;
            for (std::size_t layer = 0; layer < margins.rows(); ++layer)
                for (std::size_t head = 0; head < margins.columns(); ++head)
                    if (result.values(layer, head) == static_cast<double>(of) && margins(layer, head) > most) {
                        most = margins(layer, head);
                        best = {static_cast<int>(layer), static_cast<int>(head)};
                    }
            const Figure& part = figure.parts[of];
            if (most < 0) {
                QVERIFY(part.title.ends_with("no head"));
                QVERIFY(std::ranges::all_of(part.cells.values(), [](double cell) { return std::isnan(cell); }));
            } else {
                QVERIFY(isMap(part.cells, prompt.map(best)));
            }
        }
    }

    void theSheetHasAllMaps() {
        const PromptCase prompt;
        const ModelSpec& spec = prompt.inputs.model->spec();
        const Figure whole = prompt.drawn("bos_fig8");
        const auto tokens = static_cast<int>(prompt.inputs.prompt.ids.size());
        QCOMPARE(whole.cells.rows(), static_cast<std::size_t>(spec.layerCount() * (tokens + 1) - 1));
        QCOMPARE(whole.cells.columns(), static_cast<std::size_t>(spec.maxHeads() * (tokens + 1) - 1));
        const Figure pooled = prompt.drawn("bos_fig9:side=5");
        const int side = 5; // 15 tokens, three to a cell
        for (int layer = 0; layer < spec.layerCount(); ++layer)
            for (int head = 0; head < spec.maxHeads(); ++head) {
                const AttentionMap map = prompt.map({layer, head});
                for (int row = 0; row < tokens; ++row)
                    for (int column = 0; column < tokens; ++column) {
                        const double cell = whole.cells(static_cast<std::size_t>(layer * (tokens + 1) + row),
                                                        static_cast<std::size_t>(head * (tokens + 1) + column));
                        const float own = map.at(row, column);
                        QVERIFY(own > 0 ? std::abs(cell - own) < 1e-6 : std::isnan(cell));
                        const double coarse = pooled.cells(static_cast<std::size_t>(layer * (side + 1) + row / 3),
                                                           static_cast<std::size_t>(head * (side + 1) + column / 3));
                        QVERIFY(own == 0 || coarse >= own - 1e-6);
                    }
            }
        QCOMPARE(whole.y.ticks.size(), static_cast<std::size_t>(spec.layerCount()));
        QCOMPARE(whole.y.ticks[1].position, tokens + 1 + (tokens - 1) / 2.0);
        QCOMPARE(whole.y.ticks[1].name, std::string("1"));
        for (std::size_t column = 0; column < whole.cells.columns(); ++column)
            QVERIFY(std::isnan(whole.cells(static_cast<std::size_t>(tokens), column))); // the gap between two layers
        QVERIFY_THROWS_EXCEPTION(UsageError, parseFigureRequest("bos_fig10:side=1000"));
    }

    void theRecipeMeasuresWhatTheFiguresShow() {
        Session session;
        session.model = test::curveModel();
        const RecipeChoice choice{.model = "demo.gguf", .session = "s.h5"};
        const std::vector<RecipeStep> steps = recipeSteps(paper("bos"), choice, session);
        QCOMPARE(steps.size(), std::size_t{4});
        for (const RecipeStep& step : steps)
            QVERIFY2(!step.isDone && step.tokens > 0 && step.arguments.size() > 3, step.id.c_str());
        QVERIFY(std::ranges::find(steps[3].missingFiles, "piqa.jsonl") != steps[3].missingFiles.end());
        for (const FigureInfo* item : itemsOf(paper("bos")))
            for (const std::string_view step : item->item->steps)
                QVERIFY2(std::ranges::find(steps, step, &RecipeStep::id) != steps.end(), std::string(item->id).c_str());
        QCOMPARE(itemsOf(paper("bos")).size(), std::size_t{12});
    }
};

SECATEUR_SUITE(TestBosItems)
#include "tst_bos_items.moc"
