// The figures and tables of Greedy-Gnorm, drawn from sessions made by hand and compared with numbers that the tests
// compute, and with those that the paper prints.
#ifndef Q_MOC_RUN
#include "tests/support/gradient_case.h"

#include "analysis/base/usage_error.h"
#include "analysis/gallery/figure_table.h"
#include "analysis/gallery/module_sizes.h"
#include "analysis/gallery/paper.h"
#include "analysis/gallery/published.h"
#include "analysis/strategies/gradient_change.h"
#include "tests/support/curve_session.h"
#include "tests/support/figure_checks.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

using namespace secateur;
using test::areNear;
using test::seriesNamed;

namespace {

/// The curves of a sweep of Greedy-Gnorm without the entropies. Masks of gnorm_greedy state their strategy.
Session greedySession() {
    Session session = test::curveSession();
    const std::vector<CurvePoint>& points = session.curves.front().curve("gnorm_greedy")->points;
    for (SessionMask& mask : session.masks)
        if (std::ranges::find(points, mask.digest, &CurvePoint::mask) != points.end())
            mask.record.provenance->strategy = "gnorm_greedy";
    return session;
}

/// A session with one mask of gnorm_greedy and its steps, without curves.
Session steppedSession() {
    Session session = greedySession();
    std::erase_if(session.masks, [&](const SessionMask& mask) {
        return mask.digest != session.curves.front().curve("gnorm_greedy")->points.back().mask;
    });
    session.curves.clear();
    PruneHistory history{.measure = "loss_nats", .before = 2, .cuts = {}, .steps = 6};
    const std::array<double, 6> losses{2.02, 2.05, 2.1, 2.2, 2.9, 4};
    for (std::size_t i = 0; i < losses.size(); ++i)
        history.cuts.push_back({static_cast<int>(i) + 1, test::greedyOrder[i], 0.1, losses[i]});
    session.masks.front().record.provenance->history = history;
    return session;
}

/// The cut heads of a figure of masks.
std::vector<HeadId> cutHeads(const Figure& figure) {
    std::vector<HeadId> heads;
    for (std::size_t layer = 0; layer < figure.cells.rows(); ++layer)
        for (std::size_t head = 0; head < figure.cells.columns(); ++head)
            if (figure.cells(layer, head) == 1)
                heads.push_back({static_cast<int>(layer), static_cast<int>(head)});
    return heads;
}

std::vector<HeadId> sorted(std::vector<HeadId> heads) {
    std::ranges::sort(heads);
    return heads;
}

/// An encoder of the paper.
struct PaperEncoder {
    const char* name;
    const char* item;
    int layers;
    int heads;
    int hidden;
    int vocab;
    int positions;
    int types;
    int classes;
    bool isRoberta = false;
    bool isAlbert = false;
    std::int64_t parameters = 0;
    std::size_t cut = 0; ///< heads; of ALBERT, shared ones
};

const std::array paperEncoders{
    PaperEncoder{"BERT", "greedy_gnorm_table2", 12, 12, 768, 21128, 512, 2, 3, false, false, 102269955, 117},
    PaperEncoder{"ALBERT", "greedy_gnorm_table3", 12, 12, 768, 30000, 512, 2, 3, false, true, 11685891, 3},
    PaperEncoder{"RoBERTa", "greedy_gnorm_table4", 24, 16, 1024, 50265, 514, 1, 2, true, false, 355361794, 245},
    PaperEncoder{"XLM-RoBERTa", "greedy_gnorm_table5", 12, 12, 768, 250002, 514, 1, 20, true, false, 278059028, 105},
};

ModelCard cardOf(const PaperEncoder& encoder) {
    ModelCard card;
    card.name = encoder.name;
    card.parameters = encoder.parameters;
    card.bytes = 4 * card.parameters;
    ModelSpec& spec = card.spec;
    spec.architecture = encoder.isRoberta ? "roberta" : encoder.isAlbert ? "albert" : "bert";
    spec.family = Family::encoder;
    spec.hidden = encoder.hidden;
    spec.vocab = encoder.vocab;
    spec.positions = Positions::learned;
    spec.learnedPositions = encoder.positions;
    spec.firstPosition = encoder.isRoberta ? 2 : 0;
    spec.tokenTypes = encoder.types;
    spec.classes = encoder.classes;
    spec.embeddingWidth = encoder.isAlbert ? 128 : 0;
    spec.norm = NormKind::layer;
    spec.normPlace = NormPlace::after;
    spec.gatedMlp = false;
    LayerSpec layer{
        .heads = encoder.heads, .kvHeads = encoder.heads, .headDim = 64, .ffn = 4 * encoder.hidden, .rotary = {}};
    layer.queryBias = layer.keyBias = layer.valueBias = layer.outputBias = layer.upBias = layer.downBias = true;
    layer.stored = encoder.isAlbert ? 0 : -1;
    spec.layers.assign(static_cast<std::size_t>(encoder.layers), layer);
    return card;
}

/// Cuts the first heads in the order of layers.
PruningMask firstHeadsCut(const ModelSpec& spec, std::size_t count) {
    std::vector<HeadId> heads;
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        for (int head = 0; head < spec.layers[static_cast<std::size_t>(layer)].heads && heads.size() < count; ++head)
            heads.push_back({layer, head});
    PruningMask mask(spec);
    setHeads(mask, heads, false);
    return mask;
}

std::map<std::string, std::pair<std::int64_t, std::int64_t>> sizesByName(const ModelCard& card,
                                                                         const PruningMask& mask) {
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> sizes;
    for (const ModuleSize& module : moduleSizes(card, mask))
        sizes[std::string(module.name)] = {module.before, module.after};
    return sizes;
}

} // namespace

class TestGreedyGnormItems : public QObject {
    Q_OBJECT

private slots:
    void curvesBeginAtTheDenseModel() {
        const Figure figure = makeFigure(greedySession(), "greedy_gnorm_fig3");
        QCOMPARE(figure.kind, FigureKind::curves);
        QCOMPARE(figure.series.size(), std::size_t{1});
        const FigureSeries& line = seriesNamed(figure, "Greedy-Gnorm");
        QVERIFY(areNear(line.positions, {0, 2, 4, 6}));
        QVERIFY(areNear(line.values, {2, 2.1, 2.2, 2.6}));
        QCOMPARE(line.marks.back(), PointMark::hollow); // the budget of 6 could not be reached
        QCOMPARE(figure.y.label, std::string("loss (nats per token)"));
        for (const char* gap : {"entropy", "entropy_inverse", "gnorm_inverse", "secateur-cli reproduce greedy_gnorm"})
            QVERIFY2(figure.note.find(gap) != std::string::npos, gap);
        for (const char* part : {"demo", "calibration.txt (8,192 tokens)", "scored.txt (16,384 tokens)", "token_ppl"})
            QVERIFY2(figure.caption.find(part) != std::string::npos, part);
    }

    void accuraciesAreThoseOfTheTask() {
        const Figure figure = makeFigure(greedySession(), "greedy_gnorm_fig3:task=choices");
        QVERIFY(areNear(seriesNamed(figure, "Greedy-Gnorm").values, {0.75, 0.725, 0.7, 0.6}));
        QCOMPARE(figure.y.label, std::string("accuracy on choices"));
        QVERIFY(figure.caption.find("8 questions of choices.jsonl") != std::string::npos);
        QVERIFY_THROWS_EXCEPTION(UsageError, makeFigure(greedySession(), "greedy_gnorm_fig3:task=other"));

        Session session = greedySession();
        session.model.spec.classes = 2; // a classifier is asked without a name
        QCOMPARE(makeFigure(session, "greedy_gnorm_fig3").y.label, std::string("accuracy on choices"));
    }

    void randomMasksAreBoxes() {
        const Figure figure = makeFigure(greedySession(), "greedy_gnorm_fig4");
        const FigureSeries& boxes = seriesNamed(figure, "random");
        QCOMPARE(boxes.style, SeriesStyle::boxes);
        QVERIFY(areNear(boxes.positions, {12.5, 25, 37.5})); // of 16 heads
        QVERIFY(areNear(boxes.values, {2.6, 2.9, 3.7}));     // medians; the second mask of 4 heads was not scored
        QCOMPARE(boxes.boxes.size(), std::size_t{3});
        QVERIFY(areNear({boxes.boxes[0].lower, boxes.boxes[0].q1, boxes.boxes[0].q3, boxes.boxes[0].upper},
                         {2.5, 2.55, 2.65, 2.7}));
        QVERIFY(areNear(seriesNamed(figure, "Greedy-Gnorm").positions, {0, 12.5, 25, 37.5}));
        QVERIFY(areNear(seriesNamed(figure, "dense model").values, {2}));
        QVERIFY(figure.caption.find("random_head: 2 seeds (0 to 1)") != std::string::npos);
    }

    void theMaskIsThatAtTheKnee() {
        // Distances below the line from (0, 0) to (6, 0.6): 1/3 - 1/6, 2/3 - 1/3, 0. The second is the largest.
        const Figure figure = makeFigure(greedySession(), "greedy_gnorm_fig5");
        QCOMPARE(figure.cells.rows(), std::size_t{4});
        QCOMPARE(figure.cells.columns(), std::size_t{4});
        const std::vector<HeadId> order = test::greedyOrder;
        QVERIFY(cutHeads(figure) == sorted({order.begin(), order.begin() + 4}));
        QVERIFY(figure.caption.find("4 of 16 heads") != std::string::npos);
        QVERIFY(figure.caption.find("knee") != std::string::npos);
        QVERIFY(cutHeads(makeFigure(greedySession(), "greedy_gnorm_fig5:stop=2")) ==
                sorted({order.begin(), order.begin() + 2}));
        QVERIFY(cutHeads(makeFigure(greedySession(), "greedy_gnorm_fig5:stop=3")) ==
                sorted({order.begin(), order.begin() + 3})); // between two points: in the recorded order
        QVERIFY_THROWS_EXCEPTION(Error, makeFigure(greedySession(), "greedy_gnorm_fig5:stop=9"));
        QVERIFY_THROWS_EXCEPTION(UsageError, makeFigure(greedySession(), "greedy_gnorm_fig5:stop=here"));
    }

    void stepsOfAMaskHaveAKneeToo() {
        // Losses rise by 0.02, 0.05, 0.1, 0.2, 0.9, 2 of a whole of 2: the fourth is farthest below i / 6.
        const Figure figure = makeFigure(steppedSession(), "greedy_gnorm_fig5");
        QVERIFY(cutHeads(figure) == sorted({test::greedyOrder.begin(), test::greedyOrder.begin() + 4}));
        QVERIFY(figure.caption.find("knee of loss_nats on the calibration text") != std::string::npos);
    }

    void sizesAreMegabytesOfFloats() {
        const Figure figure = makeFigure(greedySession(), "greedy_gnorm_table1:stop=2");
        QCOMPARE(figure.kind, FigureKind::table);
        QCOMPARE(figure.table.rows.size(), std::size_t{1});
        const auto number = [&](std::size_t column) { return figure.table.rows[0].cells.at(column).value; };
        QVERIFY(areNear({number(2), number(3), number(4)}, {2, 2.1, 5})); // the loss rises by 5 % of itself
        const double all = 5264;
        const double left = 5264 - 2 * 128; // a head: 4 x 16 numbers of queries and of the output
        QVERIFY(areNear({number(5), number(6), number(7)},
                         {all * 4 / 1048576, left * 4 / 1048576, 100 * (all - left) / all}));
        const Figure ofTask = makeFigure(greedySession(), "greedy_gnorm_table1:stop=2:task=choices:published=BERT");
        QCOMPARE(ofTask.table.rows.size(), std::size_t{2});
        const std::vector<TableCell>& own = ofTask.table.rows[0].cells;
        QVERIFY(areNear({own[2].value, own[3].value, own[4].value}, {75, 72.5, 100 * 2.5 / 75}));
        const std::vector<TableCell>& paper = ofTask.table.rows[1].cells;
        QVERIFY(ofTask.table.rows[1].isPublished);
        QVERIFY(
            areNear({paper[2].value, paper[3].value, paper[4].value, paper[5].value, paper[6].value, paper[7].value},
                     {96.82, 90.08, 6.97, 390.13, 302.29, 22.52}));
        QVERIFY(paper[4].isDoubtful);
    }

    void aGapNamesTheCommandThatFillsIt() {
        const Figure figure = makeFigure(greedySession(), "greedy_gnorm_table1:stop=3");
        QVERIFY(std::isnan(figure.table.rows[0].cells[3].value));
        QVERIFY(figure.table.notes.front().find(
                    "secateur-cli sweep demo.gguf --strategy gnorm_greedy --budgets 3 --out SESSION.h5") !=
                std::string::npos);
    }

    void decodersHaveTheirOwnModules() {
        const ModelCard card = test::curveModel();
        PruningMask mask = firstHeadsCut(card.spec, 3); // of layer 0: one KV group and half of the other
        LayerMask last = mask.layer(3);
        last.mlp = false;
        mask.setLayer(3, last);
        LayerMask third = mask.layer(2);
        third.neurons[1] = false;
        mask.setLayer(2, third);
        const auto sizes = sizesByName(card, mask);
        // A layer: q and o 256 each, k and v 128 each; three times 128 of the MLP; two norms of 16.
        QCOMPARE(sizes.at("Attention"), (std::pair<std::int64_t, std::int64_t>(4 * 768, 4 * 768 - 3 * 128 - 128)));
        QCOMPARE(sizes.at("MLP"), (std::pair<std::int64_t, std::int64_t>(4 * 384, 4 * 384 - 384 - 48)));
        QCOMPARE(sizes.at("Norms"), (std::pair<std::int64_t, std::int64_t>(8 * 16 + 16, 7 * 16 + 16)));
        QCOMPARE(sizes.at("Embeddings"), (std::pair<std::int64_t, std::int64_t>(512, 512)));
        QCOMPARE(sizes.at("LM head").first, std::int64_t{0});
        const std::int64_t after = PriceList(card).price(mask).parameters.left;
        QCOMPARE(sizes.at("Model"), (std::pair<std::int64_t, std::int64_t>(5264, after)));
        std::int64_t sum = 0;
        for (const char* part : {"Attention", "MLP", "Norms", "Embeddings", "LM head"})
            sum += sizes.at(part).second;
        QCOMPARE(sum, after);
    }

    void modulesOfThePapersEncodersAreThePapersNumbers_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < paperEncoders.size(); ++i)
            QTest::newRow(paperEncoders[i].name) << static_cast<int>(i);
    }
    void modulesOfThePapersEncodersAreThePapersNumbers() {
        QFETCH(int, index);
        const PaperEncoder& encoder = paperEncoders.at(static_cast<std::size_t>(index));
        const ModelCard card = cardOf(encoder);
        const auto sizes = sizesByName(card, firstHeadsCut(card.spec, encoder.cut));
        int compared = 0;
        for (const PublishedValue& value : publishedFor(encoder.item, card, encoder.name)) {
            if (value.column != "Params")
                continue;
            std::string name(value.row);
            if (!sizes.contains(name))
                name = "Base";
            const std::int64_t own = value.budget == "before" ? sizes.at(name).first : sizes.at(name).second;
            QVERIFY2(own == static_cast<std::int64_t>(value.value),
                     qPrintable(QString("%1 %2: %3").arg(QString::fromStdString(name)).arg(own).arg(value.value)));
            ++compared;
        }
        QCOMPARE(compared, encoder.isRoberta ? 14 : 16);
    }

    void moduleTablesStandBesideThePaper() {
        Session session;
        const PaperEncoder& bert = paperEncoders.front();
        session.model = cardOf(bert);
        const Figure figure = makeFigure(withGreedyMask(session, 117), "greedy_gnorm_table2:published=BERT:stop=117");
        int compared = 0;
        for (std::size_t i = 0; i + 1 < figure.table.rows.size(); ++i) {
            const TableRow& own = figure.table.rows[i];
            const TableRow& paper = figure.table.rows[i + 1];
            if (own.isPublished || !paper.isPublished || i + 2 == figure.table.rows.size())
                continue;
            for (std::size_t column = 1; column < own.cells.size(); ++column) {
                QVERIFY2(std::abs(own.cells[column].value - paper.cells[column].value) <= 0.0051,
                         own.cells[0].text.c_str());
                ++compared;
            }
        }
        QCOMPARE(compared, 8 * 6);
        QVERIFY(areNear({figure.table.rows.back().cells[2].value, figure.table.rows.back().cells[5].value},
                         {96.82, 90.08}));
        QVERIFY_THROWS_EXCEPTION(UsageError, makeFigure(session, "greedy_gnorm_table2:published=nobody"));
    }

    void sessionsWithoutCurvesSayWhatIsMissing() {
        Session session;
        session.model = test::curveModel();
        for (const char* id : {"greedy_gnorm_fig3", "greedy_gnorm_fig4", "greedy_gnorm_fig5", "greedy_gnorm_table1",
                               "greedy_gnorm_table2"})
            try {
                makeFigure(session, id);
                QFAIL(id);
            } catch (const Error& error) {
                QVERIFY2(error.message().find("gnorm_greedy") != std::string::npos, error.what());
                QVERIFY2(error.hint().find("secateur-cli reproduce greedy_gnorm demo.gguf") != std::string::npos,
                         error.what());
            }
    }

    void gradientMapsShowOneLayerAndFrameTheCutRow() {
        const test::GradientCase fixture("bert");
        const TextInputs inputs{.model = *fixture.model,
                                .plan = *fixture.plan,
                                .maskName = {},
                                .sequences = fixture.sequences,
                                .labels = fixture.labels};
        const FigureRequest request = parseFigureRequest("greedy_gnorm_fig2");
        const Figure figure = std::get<FromText>(request.figure->source).draw(inputs, request.options);
        QCOMPARE(figure.kind, FigureKind::grid);
        QCOMPARE(figure.parts.size(), std::size_t{2});
        const std::array cuts{HeadId{0, 0}, HeadId{1, 1}};
        for (std::size_t i = 0; i < cuts.size(); ++i) {
            GradientChangeRequest masks{PruningMask(fixture.model->spec()), PruningMask(fixture.model->spec())};
            setHeads(masks.after, std::span(cuts).subspan(i, 1), false);
            const GradientRun run{.plan = *fixture.plan,
                                  .sequences = std::span(fixture.sequences).first(1),
                                  .labels = fixture.labels.empty() ? std::span<const int>()
                                                                   : std::span<const int>(fixture.labels).first(1)};
            const GradientChange change = gradientChange(*fixture.model, masks, run, {});
            const Matrix& own = change.layers.at(1);
            const std::span<const double> drawn = figure.parts[i].cells.values();
            QVERIFY(areNear({drawn.begin(), drawn.end()}, {own.values().begin(), own.values().end()}, 0));
        }
        QVERIFY(figure.parts[0].outlined.empty());
        QCOMPARE(figure.parts[1].outlined.size(), figure.parts[1].cells.columns());
        QCOMPARE(figure.parts[1].outlined.front().row, std::size_t{1});
        QVERIFY_THROWS_EXCEPTION(UsageError, parseFigureRequest("greedy_gnorm_fig2:cuts=first"));
        QVERIFY_THROWS_EXCEPTION(UsageError, parseFigureRequest("greedy_gnorm_fig2:layer=99999999999"));
    }

    void theRecipeHasItsSteps() {
        const Session session = greedySession();
        RecipeChoice choice{.model = "demo.gguf", .session = "s.h5"};
        const std::vector<RecipeStep> steps = recipeSteps(paper("greedy_gnorm"), choice, session);
        QCOMPARE(steps.size(), std::size_t{2});
        QCOMPARE(steps[0].arguments.front(), std::string("measure"));
        QCOMPARE(steps[1].arguments.front(), std::string("sweep"));
        QVERIFY(!steps[0].isDone && !steps[1].isDone && steps[1].tokens > 0);
        for (const FigureInfo* item : itemsOf(paper("greedy_gnorm")))
            for (const std::string_view step : item->item->steps)
                QVERIFY2(step == "stop" || std::ranges::find(steps, step, &RecipeStep::id) != steps.end(),
                         std::string(item->id).c_str());
        QCOMPARE(itemsOf(paper("greedy_gnorm")).size(), std::size_t{9});
    }

private:
    /// The session with a mask of gnorm_greedy that cuts the first heads.
    static Session withGreedyMask(Session session, std::size_t count) {
        SessionMask mask{"greedy", "", {firstHeadsCut(session.model.spec, count), "m", "", "", MaskProvenance{}}};
        mask.record.provenance->strategy = "gnorm_greedy";
        for (int layer = 0; layer < session.model.spec.layerCount(); ++layer)
            for (int head = 0; head < session.model.spec.layers[0].heads; ++head)
                if (isCut(mask.record.mask, session.model.spec, CutUnit::head, layer, head))
                    mask.record.provenance->order.push_back({CutUnit::head, layer, head, 0.5});
        mask.digest = maskDigest(mask.record.mask);
        add(session, std::move(mask));
        return session;
    }
};

SECATEUR_SUITE(TestGreedyGnormItems)
#include "tst_greedy_gnorm_items.moc"
