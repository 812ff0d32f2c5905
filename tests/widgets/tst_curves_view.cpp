// The tab Curves and the panel Sweep: a sweep runs, stops and goes on; its points are drawn, and lead to their masks.
#ifndef Q_MOC_RUN // moc cannot read ATen
#include "backends/engine/open_model.h"
#include "backends/session/mask_json.h"
#include "tests/support/drawn_text.h"
#include "tests/support/expected.h"
#include "tests/support/fake_services.h"
#endif

#include "tests/support/suite.h"
#include "widgets/curves/curves_view.h"
#include "widgets/curves/sweep_panel.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/plot/point_widget.h"
#include "widgets/results/empty_page.h"

#include <QComboBox>
#include <QElapsedTimer>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QTreeWidget>

#include <algorithm>

using namespace secateur;

namespace {

template <typename Widget>
Widget* namedIn(const QWidget& parent, const QString& accessibleName) {
    for (Widget* widget : parent.findChildren<Widget*>())
        if (widget->accessibleName() == accessibleName)
            return widget;
    qFatal("no %s", qPrintable(accessibleName));
}

constexpr std::size_t windowCount = 8;
constexpr int windowLength = 14;

struct Bench {
    JobRunner jobs;
    Document document{services(), &jobs};
    SweepRunner runner{&document, &jobs, "/adapters"};
    SweepPanel panel{&document, &runner};
    CurvesView view{&document};

    explicit Bench(const QString& model = "gemma3") {
        document.files()->open(test::data().filePath("forward/" + model));
        if (!QTest::qWaitFor([this] { return document.isOpen(); }))
            qFatal("the document did not open");
        view.resize(700, 420);
        view.show();
        panel.show();
    }

    static Services services() {
        Services services;
        services.isSession = [](const std::string&) { return false; };
        services.openModel = [](const std::string& path, const Progress& progress) {
            return openModel(path, progress);
        };
        services.availableMemory = [] { return std::int64_t{1} << 32; };
        services.maskDigest = maskDigest;
        services.adaptersFolder = [](const std::string& session) { return session + ".adapters"; };
        services.sweepRecovery = [](const std::shared_ptr<const Model>& model, const RecoveryChoice& choice,
                                    const std::string& folder, const Progress&) {
            if (folder != "/adapters")
                qFatal("a document without a session has another folder for its trainings");
            return SweepRecovery{nameOf(choice), settingsOf(choice), {10, 1000, 100},
                                 [model](const PruningMask&, const std::string&, const Progress&) {
                                     return RecoveredModel{model, 2.5};
                                 }};
        };
        services.readSweep = [](const Model& model, const SweepSetup&, const Progress&) {
            SweepInputs inputs;
            inputs.calibration.set = test::DrawnText(model.spec().vocab, 5).fixedWindows(4, windowLength).windows;
            inputs.calibration.data =
                MeasuredData{"built-in", 4, 4 * windowLength, 4 * windowLength, windowLength, "document", "never"};
            inputs.calibration.digest = "sha256:calibration";
            test::DrawnText drawn(model.spec().vocab, 3);
            inputs.scored = EvaluationText{"a text", "sha256:drawn", drawn.fixedWindows(windowCount, windowLength), {}};
            inputs.type = ComputeType::float32;
            inputs.maskDigest = [](const PruningMask& mask) { return maskDigest(mask); };
            return inputs;
        };
        return services;
    }

    static SweepSetup smallSetup() {
        SweepSetup setup;
        setup.strategies = {"gate_norm", "random_head", "top_down"};
        setup.budgets = "1,2";
        setup.repetitions = 2;
        return setup;
    }
    const std::vector<Curves>& curves() const { return document.session().curves; }
    void finish() { QTRY_VERIFY_WITH_TIMEOUT(!runner.isRunning() && jobs.isIdle(), 60'000); }
};

std::size_t complete(const Curves& curves) {
    std::size_t count = 0;
    for (const Curve& curve : curves.curves)
        count += static_cast<std::size_t>(std::ranges::count_if(curve.points, [](const CurvePoint& point) {
            return std::isfinite(point.lossNats) || !point.error.empty();
        }));
    return count;
}

} // namespace

class TestCurvesView : public QObject {
    Q_OBJECT

private slots:
    void setupsAreKept() {
        SweepSetup setup = Bench::smallSetup();
        setup.strategies.emplace_back("gate_norm:reversed=true");
        setup.text = "/texts/a b.txt";
        setup.tasks = {"/tasks/one.jsonl", "/tasks/two.jsonl"};
        setup.tokens = 1000;
        setup.recovery.recipe = "amp";
        setup.recovery.data = "/texts/alpaca.json";
        setup.recovery.steps = 50;
        QVERIFY(setupOf(viewOf(setup)) == setup);
        QVERIFY(setupOf({}) == SweepSetup());
        Bench bench;
        bench.panel.setSetup(setup);
        SweepSetup shown = bench.panel.setup();
        std::ranges::sort(shown.strategies);
        std::ranges::sort(setup.strategies);
        QVERIFY(shown == setup);
    }

    void everyStrategyIsOffered() {
        const Bench bench;
        const auto* list = namedIn<QTreeWidget>(bench.panel, "Strategies of the sweep");
        QCOMPARE(list->topLevelItemCount(), static_cast<int>(allStrategies().size()));
        QVERIFY(!list->topLevelItem(0)->toolTip(0).isEmpty());
    }

    void theCostIsShownBefore() {
        Bench bench;
        auto* state = namedIn<QLabel>(bench.panel, "Cost and state of the sweep");
        QTRY_VERIFY(bench.document.model() != nullptr);
        QCOMPARE(state->text(), "Choose strategies and budgets.");
        bench.panel.setSetup(Bench::smallSetup());
        QTRY_VERIFY2_WITH_TIMEOUT(state->text().startsWith("8 points, at most"), qPrintable(state->text()), 20'000);
        SweepSetup wrong = Bench::smallSetup();
        wrong.budgets = "lots";
        bench.panel.setSetup(wrong);
        QTRY_VERIFY2_WITH_TIMEOUT(state->text().contains("neither a number of units"), qPrintable(state->text()),
                                  5'000);
    }

    void aSweepStopsAndGoesOn() {
        Bench bench;
        bench.runner.run(Bench::smallSetup());
        QVERIFY(bench.runner.isRunning());
        QTRY_VERIFY_WITH_TIMEOUT(!bench.curves().empty() && complete(bench.curves().front()) > 0, 30'000);
        bench.runner.stop();
        bench.finish();
        const std::size_t before = bench.curves().empty() ? 0 : complete(bench.curves().front());
        bench.runner.run(Bench::smallSetup());
        bench.finish();
        qInfo("%zu points before the stop", before);
        QCOMPARE(bench.curves().size(), std::size_t{1});
        QCOMPARE(complete(bench.curves().front()), std::size_t{8});
        QVERIFY(bench.document.isModified());
        QVERIFY(setupOf(bench.document.session().view) == Bench::smallSetup());
    }

    void eachPointIsRecovered() {
        Bench bench;
        SweepSetup setup = Bench::smallSetup();
        setup.recovery.recipe = "quick";
        setup.recovery.steps = 3;
        bench.runner.run(setup);
        bench.finish();
        QCOMPARE(bench.curves().size(), std::size_t{1});
        QCOMPARE(complete(bench.curves().front()), std::size_t{16});
        int recovered = 0;
        for (const Curve& curve : bench.curves().front().curves)
            for (const CurvePoint& point : curve.points)
                if (point.key.recovered == "quick:steps=3" && point.trainingSeconds == 2.5)
                    ++recovered;
        QCOMPARE(recovered, 8);
    }

    void pointsLeadToTheirMasks() {
        Bench bench;
        bench.runner.run(Bench::smallSetup());
        bench.finish();
        QTRY_VERIFY(!bench.view.currentFigure().series.empty());
        std::optional<std::size_t> place;
        for (std::size_t i = 0; i < 100 && !place; ++i)
            if (const CurvePoint* point = bench.view.point(i); point && point->removed.attention == 2)
                place = i;
        QVERIFY(place.has_value());
        const QString text = bench.view.plot()->text(*place);
        QVERIFY2(text.contains("gate_norm") && text.contains("budget 2") && text.contains("Δ loss"), qPrintable(text));
        const std::string digest = bench.view.point(*place)->mask;
        QElapsedTimer timer;
        timer.start();
        emit bench.view.plot()->chosen(*place);
        const qint64 shown = timer.elapsed();
        QVERIFY(bench.document.masks()->preview().has_value());
        QCOMPARE(maskDigest(*bench.document.masks()->preview()), digest);
        QVERIFY(bench.document.masks()->mask().keepsAll());
        emit bench.view.plot()->activated(*place);
        QVERIFY(!bench.document.masks()->preview());
        QCOMPARE(maskDigest(bench.document.masks()->mask()), digest);
        qInfo("a click shows the mask after %lld ms", shown);
        QVERIFY(shown < 50);
    }

    void theWindowAnswersWhileASweepRuns() {
        Bench bench;
        QElapsedTimer timer;
        qint64 longest = 0;
        QTimer tick;
        connect(&tick, &QTimer::timeout, &tick, [&] { longest = std::max(longest, timer.restart()); });
        tick.start(1);
        timer.start();
        bench.runner.run(Bench::smallSetup());
        bench.finish();
        qInfo("longest time without an answer: %lld ms", longest);
        QVERIFY(longest < 250); // the bar of 50 ms is measured on an idle machine, not here
    }

    void otherFiguresAreShown() {
        Bench bench;
        QVERIFY(bench.view.currentFigure().series.empty());
        QVERIFY(bench.view.findChild<EmptyPage*>()->sentence().startsWith("No curves yet."));
        bench.runner.run(Bench::smallSetup());
        bench.finish();
        auto* figures = namedIn<QComboBox>(bench.view, "Figure of curves");
        for (const char* id : {"removal_map", "agreement", "curves"}) {
            figures->setCurrentIndex(figures->findData(id));
            emit figures->activated(figures->currentIndex());
            const auto hasFigure = [&] {
                const Figure& figure = bench.view.currentFigure();
                return !figure.series.empty() || !figure.cells.empty() || !figure.panels.empty();
            };
            QTRY_VERIFY2(hasFigure(), id);
        }
        figures->setCurrentIndex(figures->findData("stability"));
        emit figures->activated(figures->currentIndex());
        QTRY_VERIFY(bench.view.findChild<EmptyPage*>()->isVisible());
    }
};

SECATEUR_SUITE(TestCurvesView)
#include "tst_curves_view.moc"
