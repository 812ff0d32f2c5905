// The automatic evaluation of the current mask in the window, with a small model and a text of random tokens.
#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include <ATen/ATen.h>

#include "analysis/running/runner.h"
#include "backends/engine/open_model.h"
#include "backends/session/mask_json.h"
#include "tests/support/drawn_text.h"
#include "tests/support/expected.h"
#include "tests/support/processor.h"
#endif

#include "analysis/base/error.h"
#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/evaluations/effect_box.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/evaluations/mask_prediction.h"
#include "widgets/jobs/job_runner.h"

#include <QLabel>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cmath>
#include <ctime>

using namespace secateur;
using State = LiveEvaluation::State;

namespace {

constexpr std::size_t windows = 64;
constexpr int window = 14;

struct Bench {
    explicit Bench(const EvaluatorOptions& pace = {}, const QString& text = "drawn.txt", std::size_t count = windows)
        : document(services(count), &jobs)
        , live(&document, &jobs, pace) {
        EvaluationChoice choice = live.choice();
        choice.text.path = text.toStdString();
        live.choose(choice);
        document.files()->open(test::data().filePath("forward/llama-gqa"));
    }

    static Services services(std::size_t count) {
        Services services;
        services.isSession = [](const std::string&) { return false; };
        services.openModel = [](const std::string& path, const Progress& progress) {
            return openModel(path, progress);
        };
        services.availableMemory = [] { return std::int64_t{1} << 32; };
        services.maskDigest = maskDigest;
        services.readText = [count](const Model& model, const TextRequest& request, const Progress&) {
            if (request.path == "missing.txt")
                throw Error("is not there", request.path);
            test::DrawnText drawn(model.spec().vocab, 3);
            return EvaluationText{request.path, "sha256:drawn", drawn.fixedWindows(count, window), {}};
        };
        return services;
    }

    void cut(HeadId head) { document.masks()->setHeadsCut({head}, true); }
    MaskEvaluation full(const PruningMask& mask) {
        test::DrawnText drawn(document.spec().vocab, 3);
        TextEvaluator evaluator(*document.model(), drawn.fixedWindows(windows, window), {});
        return evaluator.evaluate(mask);
    }

    JobRunner jobs;
    Document document;
    LiveEvaluation live;
    QSignalSpy evaluated{&live, &LiveEvaluation::evaluated};
};

/// Options with which the evaluator delivers a result after each batch of four windows.
EvaluatorOptions inSteps() {
    EvaluatorOptions pace;
    pace.batchTokens = 4 * window;
    pace.groupSeconds = 0;
    return pace;
}

} // namespace

class TestLiveEvaluation : public QObject {
    Q_OBJECT

private slots:
    void theDenseModelIsMeasuredFirst();
    void anEditIsMeasuredAfterAPause();
    void aPreviewShowsNoFiguresOfTheMask();
    void whatIsKnownIsShownAtOnce();
    void anotherEditGivesUpTheLast();
    void whatWasStoppedIsKeptAndGoesOn();
    void withoutAutomaticNothingRunsByItself();
    void anotherTextBeginsAnew();
    void aTextThatCannotBeReadIsSaidOnce();
    void editsArePredictedOnceATextWasScored();
    void whatASessionHasPredictsAtOnce();
};

void TestLiveEvaluation::theDenseModelIsMeasuredFirst() {
    Bench bench;
    QCOMPARE(bench.live.state(), State::unavailable);
    QTRY_COMPARE(bench.live.state(), State::complete);
    QCOMPARE(bench.live.shown()->run.windows.size(), windows);
    QCOMPARE(bench.live.shown()->difference.nats, 0.0);
    QCOMPARE(bench.live.text()->source, "drawn.txt");
    QCOMPARE(bench.live.text()->windows, windows);
    QCOMPARE(bench.evaluated.count(), 1);
    const Session& session = bench.document.session();
    QCOMPARE(session.evaluations.size(), std::size_t{1});
    QCOMPARE(session.evaluations.front().mask.digest, "dense");
    // The dense model's evaluation does not count as an unsaved change, because it is repeated whenever the model is
    // opened.
    QVERIFY(!bench.document.isModified());
}

void TestLiveEvaluation::aPreviewShowsNoFiguresOfTheMask() {
    Bench bench;
    EffectBox box(&bench.live);
    QTRY_COMPARE(bench.live.state(), State::complete);
    const auto text = [&](const QString& name) {
        for (const QLabel* label : box.findChildren<QLabel*>())
            if (label->accessibleName() == name)
                return label->text();
        return QString();
    };
    const QString measured = text("Change of the loss");
    QVERIFY(measured.contains("nats"));
    MaskEditor& masks = *bench.document.masks();
    masks.setPreview(masks.withHeads(masks.mask(), {{1, 0}}, true));
    QCOMPARE(text("Change of the loss"), QString("–")); // it would be that of the mask, beside the preview's savings
    QCOMPARE(text("Perplexity"), QString("–"));
    QVERIFY(text("State of the evaluation").contains("preview"));
    masks.setPreview({});
    QCOMPARE(text("Change of the loss"), measured);
}

void TestLiveEvaluation::anEditIsMeasuredAfterAPause() {
    Bench bench;
    QTRY_COMPARE(bench.live.state(), State::complete);
    bench.cut({1, 0});
    bench.cut({1, 2});
    QCOMPARE(bench.live.state(), State::waiting);
    QVERIFY(!bench.live.shown());
    QTRY_COMPARE(bench.live.state(), State::complete);
    // The dense model and the mask with both cuts; the mask with the first cut alone was replaced before its evaluation
    // began.
    QCOMPARE(bench.evaluated.count(), 2);
    const MaskEvaluation expected = bench.full(bench.document.masks()->mask());
    QCOMPARE(bench.live.shown()->run.lossNats, expected.run.lossNats);
    QCOMPARE(bench.live.shown()->difference.nats, expected.difference.nats);
    QVERIFY(expected.difference.nats != 0);
    const Session& session = bench.document.session();
    QCOMPARE(session.evaluations.size(), std::size_t{2});
    QCOMPARE(compared(session, session.evaluations[1]).text->reference->difference.nats, expected.difference.nats);
    QVERIFY(session.mask(session.evaluations[1].mask.digest)->record.mask == bench.document.masks()->mask());
    QVERIFY(bench.document.isModified());
    bench.document.masks()->clearMask();
    bench.document.restoreMask(session.evaluations[1].mask);
    QVERIFY(bench.document.masks()->isCut({1, 2}));
}

void TestLiveEvaluation::whatIsKnownIsShownAtOnce() {
    Bench bench;
    QTRY_COMPARE(bench.live.state(), State::complete);
    bench.cut({0, 0});
    QTRY_COMPARE(bench.live.state(), State::complete);
    bench.document.masks()->undoStack()->undo();
    QCOMPARE(bench.live.state(), State::complete);
    QCOMPARE(bench.live.shown()->difference.nats, 0.0);
    bench.document.masks()->undoStack()->redo();
    QCOMPARE(bench.live.state(), State::complete);
    QCOMPARE(bench.evaluated.count(), 2);
}

void TestLiveEvaluation::anotherEditGivesUpTheLast() {
    Bench bench(inSteps());
    QTRY_VERIFY(bench.live.shown());
    bench.cut({0, 0}); // the evaluation of the dense model may not be finished yet
    bench.cut({0, 1});
    QTRY_COMPARE(bench.live.state(), State::complete);
    QVERIFY(bench.evaluated.count() <= 2);
    const auto mask = bench.evaluated.last().first().value<PruningMask>();
    QVERIFY(mask == bench.document.masks()->mask());
    const double apart = std::abs(bench.live.shown()->run.lossNats - bench.full(mask).run.lossNats);
    qInfo("nats apart: %.1e", apart);
    QVERIFY(apart <= (test::roundsAlikeInAllBatches() ? 0 : 1e-7));
}

void TestLiveEvaluation::whatWasStoppedIsKeptAndGoesOn() {
    constexpr std::size_t many = 8000;
    Bench bench(inSteps(), "drawn.txt", many);
    QTRY_VERIFY(bench.live.shown());
    bench.live.stopHere();
    QCOMPARE(bench.live.state(), State::stopped);
    QCOMPARE(bench.evaluated.count(), 1);
    const std::size_t kept = bench.live.shown()->run.windows.size();
    QVERIFY2(kept > 0 && kept < many, qPrintable(QString::number(kept)));
    bench.live.evaluate();
    QTRY_VERIFY(bench.live.shown()->run.windows.size() > kept);
    QCOMPARE(bench.live.state(), State::running);
}

void TestLiveEvaluation::withoutAutomaticNothingRunsByItself() {
    Bench bench;
    QTRY_COMPARE(bench.live.state(), State::complete);
    EvaluationChoice choice = bench.live.choice();
    choice.isAutomatic = false;
    bench.live.choose(choice);
    QCOMPARE(bench.live.state(), State::complete); // the known result stays, because the text has not changed
    bench.cut({1, 1});
    QCOMPARE(bench.live.state(), State::idle);
    QTest::qWait(500);
    QCOMPARE(bench.live.state(), State::idle);
    bench.live.evaluate();
    QTRY_COMPARE(bench.live.state(), State::complete);
}

void TestLiveEvaluation::anotherTextBeginsAnew() {
    Bench bench;
    QTRY_COMPARE(bench.live.state(), State::complete);
    EvaluationChoice choice = bench.live.choice();
    choice.text.path = "other.txt";
    bench.live.choose(choice);
    QVERIFY(!bench.live.shown());
    QTRY_COMPARE(bench.live.state(), State::complete);
    QCOMPARE(bench.live.text()->source, "other.txt");
    QCOMPARE(bench.evaluated.count(), 2);
}

void TestLiveEvaluation::aTextThatCannotBeReadIsSaidOnce() {
    Bench bench({}, "missing.txt");
    QTRY_COMPARE(bench.live.state(), State::failed);
    QVERIFY2(bench.live.failure().contains("missing.txt: is not there"), qPrintable(bench.live.failure()));
    QVERIFY(!bench.live.shown());
    EvaluationChoice choice = bench.live.choice();
    choice.text.path = "drawn.txt";
    bench.live.choose(choice);
    QTRY_COMPARE(bench.live.state(), State::complete);
}

void TestLiveEvaluation::editsArePredictedOnceATextWasScored() {
    Bench bench;
    const MaskPrediction& prediction = *bench.live.prediction();
    const PredictionBox box(bench.live.prediction());
    const auto shown = [&] { return box.findChild<QLabel*>("value")->text(); };
    QVERIFY(!prediction.shown());
    QVERIFY(!prediction.reason().isEmpty());
    QTRY_COMPARE(prediction.state(), MaskPrediction::State::ready);
    QVERIFY(bench.document.session().prediction != nullptr);
    // CPU time, because other work on the machine would distort wall time.
    const std::clock_t begin = std::clock();
    bench.cut({1, 0});
    QVERIFY(1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 50);
    QVERIFY(!bench.live.shown()); // the mask is predicted, but not measured yet
    const Prediction before = prediction.shown().value();
    QVERIFY(before.low < before.nats && before.nats < before.high);
    QVERIFY(shown().contains("\u00a0to\u00a0") && shown().endsWith(")"));
    QVERIFY(!shown().section('(', 1).contains(' ')); // the interval stays on one line
    QTRY_COMPARE(bench.live.state(), State::complete);
    const Prediction after = prediction.shown().value();
    const double measured = bench.live.shown()->difference.nats;
    // The prediction was corrected with the measured loss.
    QVERIFY(std::abs(after.nats - measured) < std::abs(before.nats - measured));
    LayerMask bypassed = bench.document.masks()->mask().layer(1);
    bypassed.attention = AttentionCut::bypassQk;
    bypassed.alpha = 0.5;
    PruningMask mask = bench.document.masks()->mask();
    mask.setLayer(1, bypassed);
    bench.document.masks()->setPreview(mask);
    QVERIFY(!prediction.shown());
    QCOMPARE(shown(), QString("–"));
    QCOMPARE(prediction.reason(), QString("No prediction: layer 1 is bypassed and has cut heads."));
}

void TestLiveEvaluation::whatASessionHasPredictsAtOnce() {
    Session session;
    {
        Bench bench;
        QTRY_COMPARE(bench.live.prediction()->state(), MaskPrediction::State::ready);
        session = bench.document.session();
    }
    Services services = Bench::services(windows);
    services.isSession = [](const std::string&) { return true; };
    services.readSession = [&](const std::string&) { return session; };
    JobRunner jobs;
    Document document(services, &jobs);
    LiveEvaluation live(&document, &jobs);
    EvaluationChoice choice = live.choice();
    choice.isAutomatic = false;
    live.choose(choice);
    document.files()->open("kept.h5");
    QTRY_VERIFY(document.isOpen());
    document.masks()->setHeadsCut({{0, 1}}, true);
    QVERIFY(live.prediction()->shown().has_value());
}

SECATEUR_SUITE(TestLiveEvaluation)
#include "tst_live_evaluation.moc"
