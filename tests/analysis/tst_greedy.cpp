// Greedy-Gnorm: the heads that it cuts against a recomputation with autograd after every step, its stopping rules, and
// the history that it records.
#ifndef Q_MOC_RUN
#include "analysis/session/command_line.h"
#include "analysis/strategies/prune.h"
#include "analysis/strategies/gradient_change.h"
#include "analysis/strategies/greedy_gnorm.h"
#include "analysis/evaluation/evaluation.h"
#include "analysis/base/usage_error.h"
#include "backends/session/mask_json.h"
#include "tests/support/counting_model.h"
#include "tests/support/gradient_case.h"

#include "tests/support/command_line.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#endif

#include <QDir>
#include <QtTest>

#include <cmath>
#include <numeric>

using namespace secateur;
using test::GradientCase;

namespace {

constexpr double tolerance = 1e-4; ///< relative

QJsonObject read(const char* name) {
    QFile file(test::data().filePath(name));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("no %s", name);
    return QJsonDocument::fromJson(file.readAll()).object();
}

QJsonObject judged() {
    return read("greedy.json");
}

CalibrationText runOf(const GradientCase& c) {
    return {.sequences = c.sequences, .labels = c.labels, .type = ComputeType::float32};
}

PruneRequest requestOf(const QString& strategy, double heads) {
    return {parseStrategyRequest(strategy.toStdString()), {heads, false}, "none", 0, {}};
}

PruneResult pruned(const GradientCase& c, const QString& strategy, double heads) {
    return prune(*c.model, requestOf(strategy, heads), {.text = runOf(c)}, {});
}

double apartOf(double found, double expected) {
    return std::abs(found - expected) / std::abs(expected);
}

std::set<HeadId> cutHeads(const PruningMask& mask) {
    std::set<HeadId> heads;
    for (int layer = 0; layer < mask.layerCount(); ++layer)
        for (std::size_t head = 0; head < mask.layer(layer).heads.size(); ++head)
            if (!mask.layer(layer).heads[head])
                heads.insert({layer, static_cast<int>(head)});
    return heads;
}

std::vector<double> values(const PruneHistory& history) {
    std::vector<double> found;
    for (const HistoricCut& cut : history.cuts)
        found.push_back(cut.value);
    return found;
}

/// Four sequences of random token ids without labels.
std::vector<TokenSequence> drawn(int vocab) {
    std::vector<TokenSequence> all;
    unsigned next = 7;
    for (const std::size_t length : {14, 9, 11, 6}) {
        TokenSequence& sequence = all.emplace_back();
        for (std::size_t i = 0; i < length; ++i)
            sequence.ids.push_back(static_cast<int>((next = next * 1103515245U + 12345U) >> 8) % (vocab - 3) + 3);
        for (int& id : sequence.ids)
            id = std::abs(id);
        sequence.types.assign(length, 0);
    }
    return all;
}

QString refusal(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return QString::fromUtf8(error.what());
    }
    return "accepted";
}

} // namespace

class TestGreedy : public QObject {
    Q_OBJECT

private:
    /// Copies a model and a tokenizer to `scratch`. Returns the folder of the calibration texts, with a slash at its
    /// end.
    static QString copyModel(const test::Scratch& scratch) {
        const QString source = SECATEUR_TEST_SOURCES "/forward/llama-gqa/";
        QString texts = SECATEUR_TEST_SOURCES "/perplexity/";
        for (const QString& file : {source + "config.json", source + "model.safetensors",
                                    texts + "adds-bos/tokenizer.json", texts + "adds-bos/tokenizer_config.json"})
            QFile::copy(file, scratch.path(QFileInfo(file).fileName()));
        return texts;
    }

private slots:
    void cutsAreThoseOfALoopThatComputesEverythingAnew_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("way");
        const QJsonObject models = judged();
        for (const QString& folder : models.keys())
            for (const QString& way : models[folder].toObject().keys())
                QTest::addRow("%s %s", qPrintable(folder), qPrintable(way)) << folder << way;
    }
    void cutsAreThoseOfALoopThatComputesEverythingAnew() {
        QFETCH(QString, folder);
        QFETCH(QString, way);
        const GradientCase c(folder);
        const QJsonObject expected = judged()[folder].toObject()[way].toObject();
        const QJsonArray cuts = expected["cuts"].toArray();
        const bool isProtected = way.startsWith("protect");
        PruneRequest request = requestOf(isProtected ? "gnorm_greedy" : way, static_cast<double>(cuts.size()));
        if (isProtected)
            request.protect = way.section(' ', 1).toStdString();
        const PruneResult result = prune(*c.model, request, {.text = runOf(c)}, {});
        QCOMPARE(std::ssize(result.history->cuts), cuts.size());
        QCOMPARE(result.history->measure, std::string(c.labels.empty() ? "loss_nats" : "acc"));
        double score = 0;
        double value = apartOf(result.history->before, expected["before"].toDouble());
        std::set<HeadId> heads;
        for (qsizetype i = 0; i < cuts.size(); ++i) {
            const HistoricCut& found = result.history->cuts[static_cast<std::size_t>(i)];
            const HeadId head{cuts[i][0].toInt(), cuts[i][1].toInt()};
            QVERIFY2(found.head == head, qPrintable(QString("cut %1 is L%2.H%3, not L%4.H%5")
                                                        .arg(i)
                                                        .arg(found.head.layer)
                                                        .arg(found.head.head)
                                                        .arg(head.layer)
                                                        .arg(head.head)));
            for (const int tied : result.mask.tiedTo(head.layer))
                heads.insert({tied, head.head});
            score = std::max(score, apartOf(found.score, cuts[i][2].toDouble()));
            const double judge = cuts[i][3].toDouble();
            value = std::max(value, judge == 0 ? std::abs(found.value) : apartOf(found.value, judge));
        }
        qInfo("%s %s: %lld cuts, scores %.1e apart, %s %.1e", qPrintable(folder), qPrintable(way), cuts.size(), score,
              result.history->measure.c_str(), value);
        QVERIFY(score < tolerance && value < tolerance);
        QVERIFY(cutHeads(result.mask) == heads);
        QCOMPARE(result.history->steps, way.endsWith("per_step=2") ? (int(cuts.size()) + 1) / 2 : int(cuts.size()));
    }

    void streamsThatAreReusedChangeNothing() {
        for (const char* folder : {"llama-gqa", "gpt2", "bert", "albert"}) {
            const GradientCase c(folder);
            auto counting = std::make_shared<test::CountingModel>(c.model);
            const auto run = [&](std::int64_t streamBytes) {
                counting->counted.forget();
                CalibrationText own = runOf(c);
                own.streamBytes = streamBytes;
                own.batchTokens = 20; // few tokens per batch, so that there are several batches
                return prune(*counting, requestOf("gnorm_greedy", c.model->spec().tiedGroups().empty() ? 6 : 3),
                             {.text = own}, {});
            };
            const PruneHistory reusing = *run(1 << 20).history;
            const std::size_t ranReusing = counting->counted.layers.size();
            const PruneHistory whole = *run(0).history;
            const std::size_t ran = counting->counted.layers.size();
            qInfo("%s: %zu layers of batches ran upward, %zu without reuse", folder, ranReusing, ran);
            QVERIFY(reusing == whole); // equal bit by bit
            QVERIFY(c.model->spec().tiedGroups().empty() ? ranReusing < ran : ranReusing == ran);
        }
    }

    void theInverseIsTheReverse() {
        const GradientCase c("gpt2");
        QVERIFY(*pruned(c, "gnorm_inverse", 5).history == *pruned(c, "gnorm_greedy:reversed=true", 5).history);
        QVERIFY(*pruned(c, "gnorm_inverse:reversed=true", 5).history == *pruned(c, "gnorm_greedy", 5).history);
    }

    void theFloorIsNotPassed() {
        const GradientCase c("gpt2");
        const PruneHistory all = *pruned(c, "gnorm_inverse", 8).history;
        const auto worst = std::ranges::max_element(all.cuts, {}, &HistoricCut::value);
        const double rise = worst->value - all.before;
        QVERIFY(rise > 0);
        const QString floor = QString("gnorm_inverse:stop=floor:%1").arg(0.5 * rise, 0, 'g', 17);
        const PruneResult result = pruned(c, floor, 8);
        const PruneHistory& history = *result.history;
        const auto first =
            std::ranges::find_if(all.cuts, [&](const HistoricCut& cut) { return cut.value - all.before > 0.5 * rise; });
        QCOMPARE(history.steps, first->step - 1);
        QCOMPARE(std::ssize(cutHeads(result.mask)), static_cast<std::ptrdiff_t>(history.steps));
        QCOMPARE(std::ssize(history.cuts),
                 // The history also records the cut that would cross the floor, which is not in the mask.
                 static_cast<std::ptrdiff_t>(first->step));
        QVERIFY(pruned(c, "gnorm_inverse:stop=floor:1000", 8).history->steps == 8);
    }

    void ofAClassifierTheFloorIsOfAccuracy() {
        const GradientCase c("bert");
        const PruneHistory all = *pruned(c, "gnorm_greedy", 8).history;
        const PruneResult strict = pruned(c, "gnorm_greedy:stop=floor:0", 8);
        for (const HistoricCut& cut : strict.history->cuts)
            QVERIFY(cut.step > strict.history->steps || cut.value >= strict.history->before);
        const auto first =
            std::ranges::find_if(all.cuts, [&](const HistoricCut& cut) { return cut.value < all.before; });
        QCOMPARE(strict.history->steps, first == all.cuts.end() ? 8 : first->step - 1);
    }

    void theKneeIsFarthestBelowTheChord() {
        const std::vector<double> cuts{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
        const auto knee = [&](const std::vector<double>& worse) {
            return kneeOf(std::span(cuts).first(worse.size()), worse);
        };
        QCOMPARE(knee({0, 0, 0, 0, 0, 0, 1, 2, 3, 4}), std::size_t{6});
        QCOMPARE(knee({-0.1, -0.2, 0.1, 0.2, 1, 2, 3, 4, 5, 6}), std::size_t{4});
        QCOMPARE(knee({1, 2, 3, 4}), std::size_t{0});      // on the chord everywhere, so there is no knee
        QCOMPARE(knee({5, 6, 7, 8}), std::size_t{0});      // above the chord everywhere
        QCOMPARE(knee({1, 0.5, 0, -0.5}), std::size_t{4}); // the loss falls, so all cuts are kept
        QCOMPARE(knee({0, 0, 0}), std::size_t{3});         // the loss does not rise, so all cuts are kept
        QCOMPARE(knee({}), std::size_t{0});
        const std::vector<double> pairs{2, 4, 5};
        const std::vector<double> worse{0.1, 0.4, 2};
        // The chord runs from (0, 0) to (5, 2). The loss lies below it by 0.8 - 0.1 at 2 units and by 1.6 - 0.4 at 4
        // units.
        QCOMPARE(kneeOf(pairs, worse), std::size_t{2});
    }

    void theMaskEndsAtTheKnee() {
        const GradientCase c("llama-gqa");
        const PruneHistory all = *pruned(c, "gnorm_greedy", 8).history;
        std::vector<double> worse = values(all);
        for (double& value : worse)
            value -= all.before;
        std::vector<double> cuts(worse.size());
        std::iota(cuts.begin(), cuts.end(), 1.0);
        const PruneResult result = pruned(c, "gnorm_greedy:stop=knee", 8);
        QCOMPARE(result.history->steps, static_cast<int>(kneeOf(cuts, worse)));
        QVERIFY(values(*result.history) == values(all));
        QCOMPARE(cutHeads(result.mask).size(), kneeOf(cuts, worse));
        const PruningMask same = pruned(c, "gnorm_greedy", result.history->steps).mask;
        QVERIFY(result.mask == same);
        QCOMPARE(result.order.size(), kneeOf(cuts, worse));
    }

    void theOrderOfTheCutsIsRecorded() {
        const GradientCase c("llama-gqa");
        for (const char* strategy : {"gnorm_greedy", "gnorm_greedy:per_step=2", "gnorm_greedy:stop=knee"}) {
            const PruneResult result = pruned(c, strategy, 5);
            std::vector<OrderedCut> expected;
            for (const HistoricCut& cut : result.history->cuts)
                if (cut.step <= result.history->steps)
                    expected.push_back({CutUnit::head, cut.head.layer, cut.head.head, cut.score});
            QVERIFY(result.order == expected);
            QCOMPARE(cutHeads(result.mask).size(), expected.size());
        }
    }

    void aMaskIsCutFurther() {
        const GradientCase c("llama-gqa");
        const PruneResult whole = pruned(c, "gnorm_greedy", 6);
        PruneRequest request = requestOf("gnorm_greedy", 4);
        request.base = pruned(c, "gnorm_greedy", 2).mask;
        const PruneResult further = prune(*c.model, request, {.text = runOf(c)}, {});
        QVERIFY(further.mask == whole.mask);
        QCOMPARE(further.history->before, whole.history->cuts[1].value);
        QCOMPARE(further.history->cuts.size(), std::size_t{4});
        QCOMPARE(pruned(c, "gnorm_greedy", 0).mask.keepsAll(), true);
    }

    void withoutLabelsAnswersAreHeldAgainstTheirOwn() {
        GradientCase c("bert");
        c.labels.clear();
        const PruneHistory history = *pruned(c, "gnorm_greedy", 7).history;
        QCOMPARE(history.measure, std::string("agreement"));
        QCOMPARE(history.before, 1.0);
        const auto answers = [&](const PruningMask& mask) {
            const auto plan = c.model->runner().plan(mask, ComputeType::float32);
            const PaddedBatches all = paddedBatches(c.sequences, 4096);
            at::Tensor x = c.model->runner().embed(*plan, all.batches[0]);
            for (int layer = 0; layer < c.model->spec().layerCount(); ++layer)
                x = c.model->runner().runLayer(*plan, layer, x, all.batches[0]);
            return c.model->runner().lmHead(*plan, x, all.batches[0]).argmax(1);
        };
        const at::Tensor dense = answers(PruningMask(c.model->spec()));
        const at::Tensor cut = answers(pruned(c, "gnorm_greedy", 7).mask);
        QCOMPARE(history.cuts.back().value, dense.eq(cut).to(at::kDouble).mean().item<double>());
    }

    void ofABareEncoderTheDistanceIsRecorded() {
        const auto model =
            openModel(test::data().filePath("forward/bert-bare/model.safetensors").toStdString(), {}, {});
        SequenceSet set;
        set.sequences = drawn(model->spec().vocab);
        CalibrationText run{.sequences = set.sequences, .type = ComputeType::float32};
        const PruneResult result = prune(*model, requestOf("gnorm_greedy", 5), {.text = run}, {});
        QCOMPARE(result.history->measure, std::string("pooled_distance"));
        QVERIFY(std::abs(result.history->before) < 1e-12);
        const auto dense = model->runner().plan(PruningMask(model->spec()), ComputeType::float32);
        const auto cut = model->runner().plan(result.mask, ComputeType::float32);
        const double expected = pooledDistance(*model, *cut, *dense, set).cosine.value;
        qInfo("1 - cos after 5 cuts %.6g, by evaluating %.6g", result.history->cuts.back().value, expected);
        QVERIFY(apartOf(result.history->cuts.back().value, expected) < 1e-5);
    }

    void whatCannotBeIsRefused() {
        const GradientCase c("llama-mha");
        const auto told = [&](const QString& strategy, double heads) {
            return refusal([&] { pruned(c, strategy, heads); });
        };
        QVERIFY2(told("gnorm_greedy", 7).contains("7 of 6 heads cannot be cut"), qPrintable(told("gnorm_greedy", 7)));
        for (const char* stop : {"never", "floor", "floor:-1", "floor:x", "floor:inf"})
            QVERIFY2(told(QString("gnorm_greedy:stop=%1").arg(stop), 1).contains("must be budget, floor:X") ||
                         told(QString("gnorm_greedy:stop=%1").arg(stop), 1).contains("not of the form key=value"),
                     stop);
        QVERIFY(told("gnorm_greedy:per_step=0", 1).contains("should be 1 or more"));
        QVERIFY(told("gnorm_greedy:scalarisation=magic", 1).contains("must be one of auto"));
        QVERIFY(told("gnorm_greedy:scalarisation=pooled_norm", 1).contains("no pooled output"));
        QVERIFY(told("gnorm_greedy:per_layer=true", 1).contains("its options are per_step, reversed, rules, stop"));
        const QString alone = refusal([&] { prune(*c.model, requestOf("gnorm_greedy", 1), {}, {}); });
        QVERIFY2(alone.contains("needs a calibration text"), qPrintable(alone));
        QVERIFY(
            refusal([&] { prune(*c.model, requestOf("gnorm_greedy", 1), {.text = CalibrationText()}, {}); }).contains("no sequence"));
        QCOMPARE(parseStrategyRequest("gnorm_greedy:stop=floor:0.02:per_step=3").resultId(),
                 std::string("gnorm_greedy:per_step=3:stop=floor:0.02"));
    }

    void itCanBeStopped() {
        const GradientCase c("gpt2");
        std::stop_source stop;
        int reports = 0;
        double last = 0;
        const Progress progress(
            [&](double fraction, std::string_view text) {
                QVERIFY(fraction >= last - 1e-9 && fraction <= 1);
                QVERIFY(text.starts_with("step ") && text.find(" of 8, ") != std::string_view::npos);
                last = fraction;
                if (++reports == 15)
                    stop.request_stop();
            },
            stop.get_token());
        QVERIFY_THROWS_EXCEPTION(Cancelled, prune(*c.model, requestOf("gnorm_greedy", 8), {.text = runOf(c)}, progress));
        QVERIFY(reports <= 16);
    }

    void theHistoryIsKeptInTheMask() {
        const GradientCase c("llama-gqa");
        const PruneRequest request = requestOf("gnorm_greedy:stop=knee", 8);
        PruneResult result = prune(*c.model, request, {.text = runOf(c)}, {});
        result.data = MeasuredData{"/notes.txt", 4, 40, 40, 24, "document", "tokenizer_default"};
        MaskRecord record;
        record.mask = result.mask;
        record.provenance = provenanceOf(request, {}, result);
        const MaskRecord back = parseMask(maskJson(record), "it", c.model->spec(), {}).record;
        QVERIFY(back.provenance->history.has_value());
        QVERIFY(back == record);
        QCOMPARE(QString::fromStdString(shellText(*pruneCommand("/m", *record.provenance, "out.json"))),
                 QString("secateur-cli prune /m --strategy gnorm_greedy:stop=knee --budget 8 --text /notes.txt "
                         "--max-tokens 40 --seq-len 24 --out out.json"));
    }

    void gradientsChangeAsAutogradHasIt_data() {
        QTest::addColumn<QString>("folder");
        for (const QString& folder : read("gradient_change.json").keys())
            QTest::newRow(qPrintable(folder)) << folder;
    }
    void gradientsChangeAsAutogradHasIt() {
        QFETCH(QString, folder);
        const GradientCase c(folder);
        const QJsonObject expected = read("gradient_change.json")[folder].toObject();
        GradientChangeRequest masks{PruningMask(c.model->spec()), PruningMask(c.model->spec()), "auto"};
        const QJsonArray cut = expected["cut"].toArray();
        setHeads(masks.after, std::array{HeadId{cut[0].toInt(), cut[1].toInt()}}, false);
        for (const std::int64_t batchTokens : {4096, 12}) {
            const GradientRun run{
                .plan = *c.plan, .sequences = c.sequences, .labels = c.labels, .batchTokens = batchTokens};
            const GradientChange found = gradientChange(*c.model, masks, run, {});
            const QJsonArray layers = expected["layers"].toArray();
            QCOMPARE(std::ssize(found.layers), layers.size());
            QCOMPARE(found.tokens, std::int64_t{40});
            double worst = 0;
            for (std::size_t layer = 0; layer < found.layers.size(); ++layer)
                worst =
                    std::max(worst, test::apart(found.layers[layer], layers[static_cast<qsizetype>(layer)].toArray()));
            qInfo("%s: %zu x %zu cells a layer, %.1e apart", qPrintable(folder), found.layers[0].rows(),
                  found.layers[0].columns(), worst);
            QVERIFY(worst < tolerance);
        }
    }

    void theFigureOfGradientsIsDrawnFromAText() {
        const test::Scratch scratch;
        const QString texts = copyModel(scratch);
        const QStringList text{"--text", texts + "articles.raw", "--seq-len", "24", "--max-tokens", "100"};
        const auto plot = [&](const QString& figure, const QStringList& more) {
            return test::run(QStringList{"plot", scratch.path(), "--figure", figure, "--out", scratch.path("g.json"),
                                         "--json", "--progress", "none"} +
                             text + more);
        };
        const test::Outcome all = plot("gradient_change:cut=1.2", {});
        QVERIFY2(all.status == 0, qPrintable(all.error));
        const auto cells = all.json().at("cells");
        QCOMPARE(cells.size(), std::size_t{8}); // two layers of four heads each
        const test::Outcome one = plot("gradient_change:cut=1.2:layer=1", {});
        QVERIFY2(one.status == 0, qPrintable(one.error));
        QCOMPARE(one.json().at("cells").size(), std::size_t{4});
        QVERIFY(one.json().at("cells")[2] == cells[6]);
        const test::Outcome pruned =
            test::run({"prune", scratch.path(), "--strategy", "by_metric:metric=gate_norm_head", "--budget", "2",
                       "--out", scratch.path("cut.json")});
        QVERIFY2(pruned.status == 0, qPrintable(pruned.error));
        QCOMPARE(plot("gradient_change", {"--mask", scratch.path("cut.json")}).status, 0);
        QCOMPARE(plot("gradient_change", {}).status, 2);
        QCOMPARE(plot("gradient_change:cut=1", {}).status, 2);
        QCOMPARE(plot("gradient_change:cut=9.0", {}).status, 2);
        QCOMPARE(plot("gradient_change:cut=0.1:layer=9", {}).status, 2);
    }

    void theCommandLineGivesTheSame() {
        const test::Scratch scratch;
        const QString texts = copyModel(scratch);
        const QStringList arguments{"prune",        scratch.path(),
                                    "--strategy",   "gnorm_greedy:per_step=2",
                                    "--budget",     "5",
                                    "--text",       texts + "articles.raw",
                                    "--seq-len",    "24",
                                    "--max-tokens", "100",
                                    "--out",        scratch.path("cut.json")};
        const test::Outcome told = test::run(arguments + QStringList{"--json", "--progress", "json"});
        QVERIFY2(told.status == 0, qPrintable(told.error));
        const auto document = told.json();
        const auto& history = document.at("history");
        QCOMPARE(history.at("measure").get<std::string>(), std::string("loss_nats"));
        QCOMPARE(history.at("steps").get<int>(), 3);
        QCOMPARE(history.at("cuts").size(), std::size_t{5});
        QCOMPARE(history.at("cuts")[4].at("step").get<int>(), 3);
        QCOMPARE(document.at("removed").at("heads").get<int>(), 5);
        QVERIFY2(told.error.contains("expected_seconds"), qPrintable(told.error));
        const test::Outcome spoken = test::run(arguments + QStringList{"--progress", "none"});
        QVERIFY2(spoken.out.contains("5 heads in 3 steps: loss "), spoken.out.constData());
        // The mask file holds the history and the name of the text.
        const MaskRecord record = readMask(scratch.path("cut.json").toStdString(),
                                           openModel(scratch.path("model.safetensors").toStdString())->spec(), {})
                                      .record;
        QCOMPARE(record.provenance->history->cuts.size(), std::size_t{5});
        QCOMPARE(record.provenance->order.size(), std::size_t{5});
        QCOMPARE(record.provenance->text, (texts + "articles.raw").toStdString());
    }
};

SECATEUR_SUITE(TestGreedy)
#include "tst_greedy.moc"
