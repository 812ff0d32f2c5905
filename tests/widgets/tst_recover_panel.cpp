// The panel Recover: its settings, the curve of losses, and how a training run is paused, cancelled, saved and ends.
#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/expected.h"
#include "tests/support/fake_services.h"
#endif

#include "app/window/window_services.h"
#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/evaluations/adapter_evaluation.h"
#include "widgets/evaluations/evaluations_panel.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/training/recover_panel.h"
#include "widgets/training/recovery.h"
#include "widgets/training/recovery_forecast.h"
#include "widgets/training/training_fields.h"
#include "widgets/window/main_window.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QDoubleSpinBox>
#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include <atomic>
#include <chrono>
#include <thread>

using namespace secateur;
using namespace secateur::test;
using State = Recovery::State;

namespace {

/// A training run whose losses fall from 5 towards 4, scored after each tenth step. It goes on from a stored run.
class FakeTraining {
public:
    std::atomic<std::int64_t> stepsFree = 1'000'000; ///< a run waits after this step
    std::string problem;                             ///< error of the next run; empty = none
    std::vector<RecoveryRequest> requests;
    std::vector<std::string> saved; ///< "FOLDER KEY"

    std::vector<std::string> train(const RecoveryRequest& request, const TrainingWatch& watch,
                                   const Progress& progress) {
        requests.push_back(request);
        TrainingRun run = request.startsAnew || m_stored.settings != request.settings ? begun(request) : m_stored;
        watch(run);
        if (!problem.empty())
            throw Error(problem, request.data);
        try {
            while (std::ssize(run.records) < run.steps)
                step(run, watch, progress);
        } catch (const Cancelled&) {
            m_stored = run;
            throw;
        }
        m_stored = run;
        return {"2 rows were skipped"};
    }

    static constexpr std::int64_t steps = 40;

private:
    static TrainingRun begun(const RecoveryRequest& request) {
        TrainingRun run;
        run.key = "sha256:run";
        run.settings = request.settings;
        run.steps = steps;
        run.dense = {{3.0, 1, false}};
        run.scores = {{0, 5.0, 0}};
        return run;
    }

    void step(TrainingRun& run, const TrainingWatch& watch, const Progress& progress) {
        const auto count = static_cast<double>(run.records.size());
        run.records.push_back({5 - count / steps, 1e-3, 128, 0.25});
        const std::int64_t done = std::ssize(run.records);
        if (done % 10 == 0)
            run.scores.push_back({done, 5.0 - static_cast<double>(done) / steps, 0});
        watch(run);
        do {
            progress.report(count / static_cast<double>(steps), "a step");
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        } while (done >= stepsFree);
    }

    TrainingRun m_stored;
};

struct Bench {
    QTemporaryDir folder;
    FakeServices files;
    FakeTraining training;
    JobRunner jobs;
    Document document{services(), &jobs};
    Recovery recovery{&document, &jobs, folder.filePath("recover")};
    RecoveryForecast forecast{&document, &jobs};
    LiveEvaluation live{&document, &jobs};
    AdapterEvaluation adapters{&document, &jobs, &live};
    RecoverPanel panel{&document, &recovery, &forecast, &adapters};

    Bench() {
        open("small.gguf");
        document.masks()->setHeadsCut({{0, 1}}, true);
        panel.show();
    }

    Services services() {
        Services services = files.services();
        services.recover = [this](const Model&, const RecoveryRequest& request, const TrainingWatch& watch,
                                  const Progress& progress) { return training.train(request, watch, progress); };
        services.writeRecovered = [this](const Model&, const RecoveryRequest&, const std::string& key,
                                         const std::string& path) { training.saved.push_back(path + ' ' + key); };
        return services;
    }
    void open(const char* name) {
        const std::string path = folder.filePath(name).toStdString();
        files.addModel(path, 3);
        document.files()->open(QString::fromStdString(path));
        settle();
    }
    void settle() { QTRY_VERIFY_WITH_TIMEOUT(document.isOpen() && jobs.isIdle(), 60'000); }
    QString state() {
        for (const QLabel* label : panel.findChildren<QLabel*>())
            if (label->accessibleName() == "State of the training")
                return label->text();
        qFatal("no state");
    }
    QPushButton* button(const char* name) {
        for (QPushButton* button : panel.findChildren<QPushButton*>())
            if (button->text().remove('&') == name)
                return button;
        qFatal("no %s", name);
    }
    void press(const char* name) { QTest::mouseClick(button(name), Qt::LeftButton); }
    template <typename Field>
    Field* field(const char* name) {
        for (Field* field : panel.findChildren<Field*>())
            if (field->accessibleName() == name)
                return field;
        qFatal("no %s", name);
    }
    void chooseRecipe(const char* id) {
        auto* recipe = field<QComboBox>("Recipe of the training");
        recipe->setCurrentText(id);
        emit recipe->activated(recipe->currentIndex());
    }
    /// Starts a run that waits after a step.
    void startAndWait(std::int64_t step) {
        training.stepsFree = step;
        press("Train the pruned model");
        QTRY_COMPARE(std::ssize(recovery.curve().records), step);
    }
    void goOn() { training.stepsFree = 1'000'000; }
};

const FigureSeries& seriesOf(const Figure& figure, const char* label) {
    for (const FigureSeries& series : figure.series)
        if (series.label == label)
            return series;
    qFatal("no %s", label);
}

/// Number of steps whose losses a figure shows.
std::size_t pointsDrawn(const Figure& figure) {
    return figure.series.empty() ? 0 : figure.series.front().values.size();
}

/// A short run of the main window on a real model, whose attention is dropped in two layers.
struct RealRun {
    JobRunner jobs;
    Document document{windowServices(), &jobs};
    MainWindow window{&document, &jobs, {1366, 768}};
    RecoverPanel& panel = *window.findChild<RecoverPanel*>();
    Recovery& recovery = *window.findChild<Recovery*>();

    RealRun() {
        window.show();
        open();
        window.findChild<QDockWidget*>("recover")->show();
        window.findChild<QDockWidget*>("recover")->raise();
    }
    void open() {
        document.files()->open(realData() + "/models/stories260K/stories260K.gguf");
        settle();
        document.masks()->setAttention({1, 2}, AttentionCut::drop);
        settle();
    }
    static QString text() { return realData() + "/text/tinystories/tinystories_slice.txt"; }
    void settle() { QTRY_VERIFY_WITH_TIMEOUT(document.isOpen() && jobs.isIdle(), 120'000); }
    QString state() {
        for (const QLabel* label : panel.findChildren<QLabel*>())
            if (label->accessibleName() == "State of the training")
                return label->text();
        qFatal("no state");
    }
    /// The evaluation of the current mask, with or without an adapter.
    const Evaluation* evaluation(bool hasAdapter) const {
        const std::string digest = document.services().maskDigest(document.masks()->mask());
        for (const Evaluation& one : document.session().evaluations)
            if (one.mask.digest == digest && one.adapter.isPresent() == hasAdapter)
                return &one;
        return nullptr;
    }
    /// Fills in the fields as a session does, and starts.
    /// @param trained as `recover --train` @param teacher weight of the teacher
    void start(int steps, const char* trained = "lora", const char* teacher = "0") {
        document.setView("recover.trained", trained);
        document.setView("recover.teacher", teacher);
        document.setView("recover.recipe", "quick");
        document.setView("recover.data", text().toStdString());
        document.setView("recover.unit", "1");
        document.setView("recover.amount", std::to_string(steps));
        document.setView("recover.rank", "8");
        document.setView("recover.rate", "0.001");
        document.setView("recover.length", "128");
        panel.fields()->restore(document);
        for (QPushButton* button : panel.findChildren<QPushButton*>())
            if (button->text().remove('&') == "Train the pruned model")
                button->click();
    }
    /// Writes a picture for a person to look at, if a folder is named for it.
    void picture(const QString& name) {
        const QString folder = qEnvironmentVariable("SECATEUR_SCREENSHOTS");
        if (folder.isEmpty())
            return;
        QTest::qWait(400);
        QVERIFY(window.grab().save(QString("%1/recover_%2.png").arg(folder, name)));
    }
};

} // namespace

class TestRecoverPanel : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        QCoreApplication::setOrganizationName("secateur");
        static QTemporaryDir settings;
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, settings.path());
    }

    void fieldsFollowTheRecipe() {
        Bench bench;
        QCOMPARE(bench.field<QComboBox>("Recipe of the training")->currentText(), "quick");
        for (const TrainingRecipe& recipe : trainingRecipes()) {
            bench.chooseRecipe(recipe.id.data());
            QVERIFY2(bench.panel.fields()->settings() == recipe.settings(), recipe.id.data());
        }
        bench.field<QComboBox>("Unit of the duration")->setCurrentIndex(1);
        bench.field<QDoubleSpinBox>("Duration of the training")->setValue(25);
        bench.field<QSpinBox>("Rank of the updates")->setValue(4);
        const TrainingSettings settings = bench.panel.fields()->settings();
        QCOMPARE(settings.steps, 25);
        QCOMPARE(settings.minutes, 0.0);
        QCOMPARE(settings.adapter.rank, 4);
    }

    void impossibleSettingsAreSaidBeforeTheStart() {
        Bench bench;
        QVERIFY(bench.state().startsWith("Mask: "));
        QVERIFY(bench.button("Train the pruned model")->isEnabled());
        bench.chooseRecipe("amp");
        bench.field<QDoubleSpinBox>("Duration of the training")->setValue(0);
        QCOMPARE(bench.state(), "Give a number of steps, epochs or minutes.");
        QVERIFY(!bench.button("Train the pruned model")->isEnabled());
    }

    void theLossesAreDrawnWhileItTrains() {
        Bench bench;
        bench.startAndWait(25);
        QCOMPARE(bench.training.requests.front().mask.mask, bench.document.masks()->mask());
        QCOMPARE(bench.training.requests.front().mask.fingerprint, std::string("sha256:fake"));
        QTRY_COMPARE(pointsDrawn(bench.panel.figure()), std::size_t{25});
        const Figure& figure = bench.panel.figure();
        QCOMPARE(figure.x.range->upper, 40.0);
        QCOMPARE(seriesOf(figure, "mean of 20").values[24], 5 - (5 + 24) / 2.0 / 40);
        QCOMPARE(seriesOf(figure, "held-out").positions, (std::vector<double>{0, 10, 20}));
        QCOMPARE(seriesOf(figure, "dense, held-out").values, std::vector<double>{3});
        qInfo("%s", qPrintable(bench.state()));
        QVERIFY2(bench.state().startsWith("Step 25 of 40, loss 4.64, 512 tokens/s"), qPrintable(bench.state()));
        QVERIFY(!bench.panel.fields()->isEnabled());
        QVERIFY(!bench.button("Save adapter…")->isVisible());
        bench.goOn();
        bench.settle();
    }

    void theEndStatesTheLossesAndTheWarnings() {
        Bench bench;
        QSignalSpy notices(&bench.document, &Document::noticed);
        bench.press("Train the pruned model");
        bench.settle();
        QVERIFY(bench.recovery.state() == State::done);
        QCOMPARE(bench.state().section('\n', 0, 0),
                 "Held-out loss: dense 3.00, pruned 5.00, recovered 4.00 (perplexity 20.1, 148, 54.6).");
        QCOMPARE(bench.state().section('\n', 1), "40 steps, 512 tokens/s.");
        QCOMPARE(notices.takeFirst().first().toString(), "2 rows were skipped");
        QVERIFY(bench.button("Save adapter…")->isVisible());
        bench.recovery.save("/somewhere/adapter");
        bench.settle();
        QCOMPARE(bench.training.saved, std::vector<std::string>{"/somewhere/adapter sha256:run"});
        QCOMPARE(notices.takeFirst().first().toString(), "Saved the adapter to /somewhere/adapter.");
        // The same run once more begins again.
        bench.press("Train the pruned model");
        bench.settle();
        QVERIFY(bench.training.requests.back().startsAnew);
    }

    void aPausedRunGoesOnFromItsStep() {
        Bench bench;
        bench.startAndWait(15);
        bench.press("Pause");
        QTRY_VERIFY(bench.recovery.state() == State::paused);
        QVERIFY2(bench.state().startsWith("Paused at step 15. "), qPrintable(bench.state()));
        QVERIFY(bench.button("Save adapter…")->isVisible());
        bench.goOn();
        bench.press("Resume");
        bench.settle();
        QVERIFY(bench.recovery.state() == State::done);
        QVERIFY(!bench.training.requests.back().startsAnew);
        QCOMPARE(bench.recovery.curve().records.size(), std::size_t{FakeTraining::steps});
        for (std::size_t i = 0; i < bench.recovery.curve().records.size(); ++i)
            QCOMPARE(bench.recovery.curve().records[i].lossNats, 5 - static_cast<double>(i) / FakeTraining::steps);
    }

    void aCancelledRunKeepsItsBestAdapter() {
        Bench bench;
        bench.startAndWait(15);
        bench.press("Cancel");
        QTRY_VERIFY(bench.recovery.state() == State::cancelled);
        QCOMPARE(bench.state(), "Cancelled at step 15. Held-out loss: dense 3.00, pruned 5.00, recovered 4.75 "
                                "(perplexity 20.1, 148, 116).");
        QVERIFY(bench.button("Save adapter…")->isVisible());
        QVERIFY(bench.button("Train the pruned model")->isVisible());
        QVERIFY(bench.panel.fields()->isEnabled());
        bench.goOn();
        bench.press("Train the pruned model");
        bench.settle();
        QVERIFY(bench.training.requests.back().startsAnew);
    }

    void aPausedRunCanBeCancelled() {
        Bench bench;
        bench.startAndWait(5);
        bench.press("Pause");
        QTRY_VERIFY(bench.recovery.state() == State::paused);
        bench.press("Cancel");
        QVERIFY(bench.recovery.state() == State::cancelled);
        QVERIFY(bench.state().startsWith("Cancelled at step 5. Held-out loss: dense 3.00, pruned 5.00 (perplexity"));
    }

    void anErrorIsShownInOneSentence() {
        Bench bench;
        bench.training.problem = "line 3 has no text";
        QSignalSpy failures(&bench.document, &Document::failed);
        bench.press("Train the pruned model");
        bench.settle();
        QVERIFY(bench.recovery.state() == State::failed);
        QCOMPARE(bench.state(), failures.first().first().toString());
        QVERIFY2(bench.state().contains("line 3 has no text"), qPrintable(bench.state()));
        QVERIFY(bench.panel.fields()->isEnabled());
        QVERIFY(!bench.button("Save adapter…")->isVisible());
        bench.training.problem.clear();
        bench.press("Train the pruned model");
        bench.settle();
        QVERIFY(bench.recovery.state() == State::done);
    }

    void aChangedMaskLeavesTheRun() {
        Bench bench;
        const PruningMask trained = bench.document.masks()->mask();
        bench.startAndWait(5);
        bench.document.masks()->setHeadsCut({{1, 2}}, true);
        bench.goOn();
        bench.settle();
        QVERIFY(bench.recovery.state() == State::done);
        QCOMPARE(bench.recovery.request().mask.mask, trained);
    }

    void anotherModelEndsTheRun() {
        Bench bench;
        bench.startAndWait(5);
        bench.open("other.gguf");
        QVERIFY(bench.recovery.state() == State::none);
        QVERIFY(bench.recovery.curve().records.empty());
        QVERIFY(bench.panel.fields()->isEnabled());
        QVERIFY(!bench.button("Save adapter…")->isVisible());
    }

    void aRealModelRecovers() {
        if (realData().isEmpty())
            QSKIP("SECATEUR_TEST_DATA is not set");
        QTemporaryDir state;
        QTemporaryDir out;
        qputenv("XDG_STATE_HOME", state.path().toUtf8());
        RealRun run;
        auto* options = run.panel.findChild<QToolButton*>();
        options->click();
        run.picture("before");
        options->click();
        QTRY_VERIFY_WITH_TIMEOUT(run.state().contains("Takes about 1"), 60'000); // ten minutes, and the held-out scores
        qInfo("%s", qPrintable(run.state()));
        QTRY_VERIFY_WITH_TIMEOUT(run.evaluation(false), 60'000);
        QVERIFY(!run.evaluation(true));
        run.start(60);
        const auto& forecast = *run.window.findChild<RecoveryForecast*>();
        const auto expected = forecast.of(run.panel.fields()->settings(), run.panel.fields()->data());
        QTRY_VERIFY_WITH_TIMEOUT(run.recovery.curve().records.size() >= 30, 120'000);
        run.picture("running");
        run.recovery.pause();
        QTRY_VERIFY(run.recovery.state() == State::paused);
        const std::size_t paused = run.recovery.curve().records.size();
        QVERIFY(paused < 60);
        run.window.setTheme("dark");
        run.picture("paused_dark");
        run.recovery.resume();
        run.settle();
        QVERIFY2(run.recovery.state() == State::done, qPrintable(run.recovery.failure()));
        QCOMPARE(run.recovery.curve().records.size(), std::size_t{60});
        run.picture("done_dark");
        run.window.setTheme("light");
        run.picture("done");
        const TrainingCurve& curve = run.recovery.curve();
        qInfo("dense %.3f, pruned %.3f, recovered %.3f, paused at %zu", *curve.denseNats, curve.scores.front().lossNats,
              curve.best()->lossNats, paused);
        QVERIFY(*curve.denseNats < curve.best()->lossNats);
        QVERIFY(curve.best()->lossNats < curve.scores.front().lossNats - 0.1);
        double seconds = 0;
        for (const StepRecord& record : curve.records)
            seconds += record.seconds;
        qInfo("expected %.1f s, took %.1f s", expected ? expected->seconds : -1, seconds);
        // The adapter is a row of its own, better than the mask without it.
        const Evaluation* adapted = run.evaluation(true);
        QVERIFY(adapted);
        QCOMPARE(adapted->adapter.name, std::string("adapter"));
        QCOMPARE(adapted->text->digest, run.evaluation(false)->text->digest);
        QVERIFY(adapted->text->perplexity.rules == run.evaluation(false)->text->perplexity.rules);
        QVERIFY(adapted->text->perplexity.lossNats < run.evaluation(false)->text->perplexity.lossNats - 0.1);
        const auto& rows = *run.window.findChild<EvaluationsPanel*>()->table()->model();
        QCOMPARE(rows.rowCount(), 3);
        QStringList names;
        for (int row = 0; row < 3; ++row)
            names << rows.index(row, 1).data().toString();
        QCOMPARE(names, (QStringList{"dense", names[1], names[1] + " + adapter"}));
        const double difference = compared(run.document.session(), *adapted).text->reference->difference.nats;
        QCOMPARE(rows.index(2, 5).data(Qt::UserRole).toDouble(), difference);
        run.recovery.save(out.filePath("adapter"));
        run.settle();
        // The saved adapter is the same one. Another mask is on screen, but the adapter brings its own.
        const std::string digest = adapted->adapter.digest;
        run.document.masks()->setAttention({1, 2, 3}, AttentionCut::drop);
        QTRY_COMPARE_WITH_TIMEOUT(rows.rowCount(), 4, 60'000);
        run.settle();
        run.window.findChild<AdapterEvaluation*>()->evaluateFolder(out.filePath("adapter"));
        run.settle();
        QCOMPARE(rows.rowCount(), 4);
        run.document.masks()->setAttention({3}, AttentionCut::keep);
        QCOMPARE(run.evaluation(true)->adapter.digest, digest);
        for (const char* file : {"adapter_config.json", "adapter_model.safetensors", "mask.json", "training.csv"})
            QVERIFY2(QFile::exists(out.filePath("adapter/") + file), file);
    }

    void aRunGoesOnAfterTheModelWasOpenedAgain() {
        if (realData().isEmpty())
            QSKIP("SECATEUR_TEST_DATA is not set");
        QTemporaryDir state;
        qputenv("XDG_STATE_HOME", state.path().toUtf8());
        RealRun run;
        run.start(40);
        QTRY_VERIFY_WITH_TIMEOUT(run.recovery.curve().records.size() >= 10, 120'000);
        run.recovery.pause();
        QTRY_VERIFY(run.recovery.state() == State::paused);
        const std::vector<StepRecord> before = run.recovery.curve().records;
        run.open();
        QVERIFY(run.recovery.state() == State::none);
        run.start(40);
        run.settle();
        const std::vector<StepRecord>& records = run.recovery.curve().records;
        QCOMPARE(records.size(), std::size_t{40});
        for (std::size_t i = 0; i < before.size(); ++i) {
            QCOMPARE(records[i].lossNats, before[i].lossNats);
            QCOMPARE(records[i].seconds, before[i].seconds); // stored, not trained again
        }
    }

    /// A trained compensation becomes that of a mask in the list, whose evaluation is that of the run.
    void aTrainedCompensationIsListed() {
        if (realData().isEmpty())
            QSKIP("SECATEUR_TEST_DATA is not set");
        QTemporaryDir state;
        QTemporaryDir out;
        qputenv("XDG_STATE_HOME", state.path().toUtf8());
        RealRun run;
        run.start(30, "compensation", "0.5");
        QVERIFY2(run.panel.fields()->settings().teacherWeight == 0.5, "no teacher");
        QTRY_VERIFY_WITH_TIMEOUT(run.recovery.curve().records.size() >= 10, 120'000);
        run.recovery.pause();
        QTRY_VERIFY(run.recovery.state() == State::paused);
        const QDir kept(state.filePath("secateur/recover"));
        QCOMPARE(kept.entryList({"*.teacher"}, QDir::Dirs).size(), 1);
        run.recovery.resume();
        run.settle();
        QVERIFY2(run.recovery.state() == State::done, qPrintable(run.recovery.failure()));
        QVERIFY(kept.entryList({"*.teacher"}, QDir::Dirs).isEmpty());
        const NamedMask& mask = run.document.masks()->state().edited();
        QVERIFY2(mask.name.ends_with(", trained"), mask.name.c_str());
        QVERIFY(mask.record->mask.isCompensated());
        QVERIFY(mask.record->provenance && mask.record->provenance->notes.back().find("trained in") != std::string::npos);
        const TrainingCurve& curve = run.recovery.curve();
        qInfo("dense %.3f, pruned %.3f, recovered %.3f", *curve.denseNats, curve.scores.front().lossNats,
              curve.best()->lossNats);
        QVERIFY(curve.best()->lossNats < curve.scores.front().lossNats);
        const Evaluation* trained = run.evaluation(false);
        QVERIFY(trained);
        QVERIFY(!run.evaluation(true));
        QVERIFY(!run.recovery.hasAdapter());
        run.picture("compensation");
        run.recovery.save(out.filePath("mask"));
        run.settle();
        QVERIFY(QFile::exists(out.filePath("mask/mask.json")));
        QVERIFY(!QFile::exists(out.filePath("mask/adapter_config.json")));
    }

    void otherWeightsCanBeTrained() {
        Bench bench;
        const auto box = [&](const char* text) {
            for (QCheckBox* found : bench.panel.findChildren<QCheckBox*>())
                if (found->text() == text)
                    return found;
            qFatal("no %s", text);
        };
        QVERIFY(box("LoRA")->isChecked());
        QVERIFY(!box("Classifier")->isEnabled()); // a decoder
        box("LoRA")->setChecked(false);
        QVERIFY2(bench.state().contains("weights to train") || !bench.button("Train the pruned model")->isEnabled(),
                 qPrintable(bench.state()));
        box("Norms")->setChecked(true);
        box("Compensation")->setChecked(true);
        box("Dense model")->setChecked(true);
        bench.field<QDoubleSpinBox>("Weight of the teacher")->setValue(0.25);
        const TrainingSettings settings = bench.panel.fields()->settings();
        QVERIFY(settings.targets.empty() && settings.trainsNorms && settings.trainsCompensation && !settings.trainsHead);
        QCOMPARE(settings.teacherWeight, 0.25);
        QVERIFY2(bench.state().contains("Norms, compensation with the dense model as teacher"), qPrintable(bench.state()));
        bench.press("Train the pruned model");
        bench.settle();
        TrainingFields other;
        other.restore(bench.document);
        QVERIFY(other.settings() == settings);
    }

    void theSessionKeepsTheFields() {
        Bench bench;
        bench.chooseRecipe("amp");
        bench.field<QDoubleSpinBox>("Duration of the training")->setValue(0.5);
        bench.field<QDoubleSpinBox>("Learning rate")->setValue(2e-4);
        const TrainingSettings settings = bench.panel.fields()->settings();
        bench.press("Train the pruned model");
        bench.settle();
        TrainingFields other;
        QVERIFY(other.settings() != settings);
        other.restore(bench.document);
        QVERIFY(other.settings() == settings);
        bench.open("other.gguf");
        QCOMPARE(bench.field<QComboBox>("Recipe of the training")->currentText(), "quick");
    }
};

SECATEUR_SUITE(TestRecoverPanel)
#include "tst_recover_panel.moc"
