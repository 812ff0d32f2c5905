#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/fake_services.h"
#endif

#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/document/measurements.h"
#include "widgets/jobs/job_runner.h"

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <thread>

using namespace secateur;
using namespace secateur::test;

namespace {

/// A document with the objects that it depends on. They are destroyed in the same order as in the program.
struct Bench {
    QTemporaryDir folder;
    FakeServices services;
    JobRunner jobs;
    Document document{services.services(), &jobs};
    QSignalSpy opened{&document, &Document::opened};
    QSignalSpy failed{&document, &Document::failed};
    QSignalSpy noticed{&document, &Document::noticed};

    std::string path(const char* name) const { return folder.filePath(name).toStdString(); }
    void open(const std::string& path) { document.files()->open(QString::fromStdString(path)); }
    void settle() { QTRY_VERIFY(jobs.isIdle()); }
};

} // namespace

class TestDocument : public QObject {
    Q_OBJECT

private slots:
    void openedModelIsMeasuredByItself();
    void layersArriveAsTheyAreDone();
    void failureKeepsWhatWasOpen();
    void laterOpeningAbandonsTheFirst();
    void resultsOfTheModelBeforeAreDropped();
    void cancelledMeasurementLeavesNothing();
    void runningMeasurementIsNotStartedTwice();
    void variantsComeAfterTheirMetric();
    void sessionStandsWithoutItsCheckpoint();
    void sessionFindsItsCheckpoint_data();
    void sessionFindsItsCheckpoint();
    void sessionRefusesAnotherCheckpoint();
    void locatedModelMustHaveTheFingerprint();
    void savingWritesWhatWasThereWhenAsked();
    void failedSavingKeepsTheMark();
    void savingDoesNotWaitForAJob();
    void anotherModelCancelsTheJobsOfTheFirst();
    void exportThatIsCancelledIsSaid();
    void masksAndProtectionComeBack();
    void protectionThatCannotBeReadIsSaid();
    void closingWhileMeasuringIsQuick();
};

void TestDocument::openedModelIsMeasuredByItself() {
    Bench bench;
    const auto model = bench.services.addModel(bench.path("small.gguf"), 3);
    model->layersFree = 0;
    QVERIFY(!bench.document.isOpen());
    QSignalSpy started(&bench.jobs, &JobRunner::started);
    bench.open(bench.path("small.gguf"));
    QVERIFY(bench.document.files()->isOpening());
    QVERIFY(bench.opened.wait());
    QVERIFY(bench.document.model());
    QCOMPARE(bench.document.measurements()->state("gate_norm"), MetricState::computing);
    model->layersFree = 3;
    bench.settle();
    for (const char* id : {"gate_norm", "gate_norm_headwise", "gate_norm_head", "gate_norm_group", "mag_sp_neuron"}) {
        QCOMPARE(bench.document.measurements()->state(id), MetricState::done);
        const MetricResult* result = bench.document.measurements()->result(id);
        QCOMPARE(result->measurement.fingerprint, "sha256:fake");
        QVERIFY(std::isfinite(result->values(2, 0)));
    }
    QCOMPARE(bench.document.session().model.fingerprint, "sha256:fake");
    bench.document.measurements()->measure(parseMetricRequests("gate_norm,gate_norm_head:fold_norm=true"));
    bench.settle();
    QStringList titles;
    for (const QList<QVariant>& job : started)
        titles << job.at(1).toString();
    // Many metrics would leave no room for the progress.
    QCOMPARE(titles, (QStringList{"Opening small.gguf", "Measuring 6 metrics",
                                  "Measuring gate-norm, gate-norm per head, fold_norm"}));
    QVERIFY(!bench.document.isModified()); // results that are quickly measured again do not count as unsaved changes
    QVERIFY(bench.failed.isEmpty());
}

void TestDocument::layersArriveAsTheyAreDone() {
    Bench bench;
    const auto model = bench.services.addModel(bench.path("small.gguf"), 4);
    model->layersFree = 2;
    bench.open(bench.path("small.gguf"));
    QTRY_VERIFY(bench.document.measurements()->result("gate_norm_head"));
    QTRY_VERIFY(std::isfinite(bench.document.measurements()->result("gate_norm_head")->values(1, 3)));
    QVERIFY(std::isnan(bench.document.measurements()->result("gate_norm_head")->values(2, 0)));
    QCOMPARE(bench.document.measurements()->state("gate_norm_head"), MetricState::computing);
    model->layersFree = 100;
    bench.settle();
    QVERIFY(std::isfinite(bench.document.measurements()->result("gate_norm_head")->values(3, 3)));
    QCOMPARE(bench.document.measurements()->state("gate_norm_head"), MetricState::done);
}

void TestDocument::failureKeepsWhatWasOpen() {
    Bench bench;
    bench.services.addModel(bench.path("good.gguf"), 3);
    bench.open(bench.path("good.gguf"));
    bench.settle();
    bench.open(bench.path("bad.gguf"));
    bench.settle();
    QCOMPARE(bench.failed.count(), 1);
    const QString message = bench.failed.first().first().toString();
    QVERIFY2(message.contains("bad.gguf: is no model. Choose another file"), qPrintable(message));
    QCOMPARE(bench.document.session().model.name, "good.gguf");
    QCOMPARE(bench.document.measurements()->state("gate_norm"), MetricState::done);
    QVERIFY(bench.document.model());
    QCOMPARE(bench.opened.count(), 1);
}

void TestDocument::laterOpeningAbandonsTheFirst() {
    Bench bench;
    bench.services.addModel(bench.path("first.gguf"), 3);
    bench.services.addModel(bench.path("second.gguf"), 3);
    bench.services.opensSlowly = true;
    bench.open(bench.path("first.gguf"));
    bench.open(bench.path("second.gguf"));
    QTest::qWait(50);
    bench.services.opensSlowly = false;
    bench.settle();
    QCOMPARE(bench.opened.count(), 1);
    QCOMPARE(bench.document.session().model.name, "second.gguf");
    QVERIFY(bench.failed.isEmpty());
}

void TestDocument::resultsOfTheModelBeforeAreDropped() {
    Bench bench;
    const auto slow = bench.services.addModel(bench.path("slow.gguf"), 5);
    bench.services.addModel(bench.path("quick.gguf"), 2);
    slow->layersFree = 1;
    bench.open(bench.path("slow.gguf"));
    QTRY_VERIFY(bench.document.measurements()->result("gate_norm"));
    bench.open(bench.path("quick.gguf"));
    QTRY_COMPARE(bench.opened.count(), 2);
    // Results of the previous model are dropped as soon as the new one is open.
    QVERIFY(!bench.document.measurements()->result("gate_norm"));
    slow->layersFree = 100;
    bench.settle();
    QCOMPARE(bench.document.session().results.size(), parseMetricRequests("weights").size());
    QCOMPARE(bench.document.measurements()->result("gate_norm")->values.rows(), 2U);
}

void TestDocument::cancelledMeasurementLeavesNothing() {
    Bench bench;
    const auto model = bench.services.addModel(bench.path("small.gguf"), 4);
    model->layersFree = 2;
    bench.open(bench.path("small.gguf"));
    QTRY_VERIFY(bench.document.measurements()->result("gate_norm"));
    bench.jobs.cancelAll();
    model->layersFree = 100;
    bench.settle();
    QCOMPARE(bench.document.measurements()->state("gate_norm"), MetricState::notComputed);
    QVERIFY(!bench.document.measurements()->result("gate_norm"));
    QVERIFY(bench.document.session().results.empty());
    QVERIFY(bench.failed.isEmpty());
}

void TestDocument::runningMeasurementIsNotStartedTwice() {
    Bench bench;
    const auto model = bench.services.addModel(bench.path("small.gguf"), 2);
    model->layersFree = 0;
    QSignalSpy started(&bench.jobs, &JobRunner::started);
    bench.open(bench.path("small.gguf"));
    QVERIFY(bench.opened.wait());
    QCOMPARE(started.count(), 2); // one job that opens the model and one that measures it
    bench.document.measurements()->measure(parseMetricRequests("gate_norm"));
    QCOMPARE(started.count(), 2);
    model->layersFree = 100;
    bench.settle();
}

void TestDocument::variantsComeAfterTheirMetric() {
    Bench bench;
    bench.services.addModel(bench.path("small.gguf"), 2);
    bench.open(bench.path("small.gguf"));
    bench.settle();
    bench.document.measurements()->measure(parseMetricRequests("gate_norm:fold_norm=true"));
    bench.settle();
    const std::vector<std::string> expected{"gate_norm",      "gate_norm:fold_norm=true", "gate_norm_headwise",
                                            "gate_norm_head", "gate_norm_group",          "mag_sp_head",
                                            "mag_sp_neuron"};
    QCOMPARE(bench.document.measurements()->resultIds(), expected);
}

void TestDocument::sessionStandsWithoutItsCheckpoint() {
    Bench bench;
    const FakeModel model("/nowhere/at/all.gguf", 3);
    bench.services.addSession(bench.path("work.h5"), model.card());
    bench.open(bench.path("work.h5"));
    QVERIFY(bench.opened.wait());
    QVERIFY(!bench.document.model());
    QCOMPARE(bench.document.measurements()->state("gate_norm_head"), MetricState::done);
    QCOMPARE(bench.document.measurements()->result("gate_norm_head")->values(2, 3), 12.0);
    QCOMPARE(bench.document.sessionPath().toStdString(), bench.path("work.h5"));
    QCOMPARE(bench.noticed.count(), 1);
    QVERIFY(bench.noticed.first().first().toString().contains("/nowhere/at/all.gguf"));
    bench.document.measurements()->measure(parseMetricRequests("gate_norm"));
    QCOMPARE(bench.failed.count(), 1);
    QVERIFY(bench.failed.first().first().toString().contains("Locate model"));
}

void TestDocument::sessionFindsItsCheckpoint_data() {
    QTest::addColumn<QString>("stored");
    QTest::newRow("where it was") << "%1/small.gguf";
    QTest::newRow("from the session's folder") << "small.gguf";
    QTest::newRow("beside the session") << "/elsewhere/small.gguf";
}

void TestDocument::sessionFindsItsCheckpoint() {
    QFETCH(QString, stored);
    Bench bench;
    const auto model = bench.services.addModel(bench.path("small.gguf"), 3);
    ModelCard card = model->card();
    card.path = stored.replace("%1", bench.folder.path()).toStdString();
    bench.services.addSession(bench.path("work.h5"), card);
    bench.open(bench.path("work.h5"));
    bench.settle();
    QVERIFY(bench.document.model());
    QVERIFY(bench.noticed.isEmpty());
    QCOMPARE(bench.document.session().results.size(), 1U); // opening a session does not start measurements
    QVERIFY(!bench.document.isModified());
}

void TestDocument::sessionRefusesAnotherCheckpoint() {
    Bench bench;
    const auto model = bench.services.addModel(bench.path("small.gguf"), 3, "sha256:other");
    bench.services.addSession(bench.path("work.h5"), model->card());
    bench.open(bench.path("work.h5"));
    bench.settle();
    QVERIFY(bench.document.isOpen());
    QVERIFY(!bench.document.model());
    QVERIFY(bench.noticed.first().first().toString().contains("small.gguf is not the checkpoint"));
}

void TestDocument::locatedModelMustHaveTheFingerprint() {
    Bench bench;
    const auto right = bench.services.addModel(bench.path("right.gguf"), 3);
    bench.services.addModel(bench.path("wrong.gguf"), 3, "sha256:other");
    ModelCard card = right->card();
    card.path = "/elsewhere/moved.gguf";
    bench.services.addSession(bench.path("work.h5"), card);
    bench.open(bench.path("work.h5"));
    bench.settle();
    bench.document.files()->locateModel(QString::fromStdString(bench.path("wrong.gguf")));
    bench.settle();
    QCOMPARE(bench.failed.count(), 1);
    QVERIFY(!bench.document.model());
    QSignalSpy located(&bench.document, &Document::modelLocated);
    bench.document.files()->locateModel(QString::fromStdString(bench.path("right.gguf")));
    bench.settle();
    QCOMPARE(located.count(), 1);
    QVERIFY(bench.document.model());
    QCOMPARE(bench.document.session().model.path, bench.path("right.gguf"));
    QVERIFY(bench.document.isModified()); // the path of the checkpoint, which the session stores, has changed
}

void TestDocument::savingWritesWhatWasThereWhenAsked() {
    Bench bench;
    bench.services.addModel(bench.path("small.gguf"), 3);
    bench.open(bench.path("small.gguf"));
    bench.settle();
    QSignalSpy saved(bench.document.files(), &DocumentFiles::saved);
    const QString file = QString::fromStdString(bench.path("work.h5"));
    bench.document.files()->saveSession(file);
    QVERIFY(bench.document.files()->isSaving());
    bench.settle();
    QVERIFY(!bench.document.files()->isSaving());
    QCOMPARE(saved.first().first().toString(), file);
    QCOMPARE(bench.document.sessionPath(), file);
    QCOMPARE(bench.services.written.at(bench.path("work.h5")).results.size(), parseMetricRequests("weights").size());
    QCOMPARE(bench.services.written.at(bench.path("work.h5")).model.fingerprint, "sha256:fake");

    bench.document.measurements()->measure(parseMetricRequests("gate_norm:fold_norm=true"));
    bench.settle();
    QVERIFY(bench.document.isModified());
    bench.document.files()->saveSession(file);
    bench.settle();
    QVERIFY(!bench.document.isModified());
    QCOMPARE(bench.services.written.at(bench.path("work.h5")).results.size(),
             parseMetricRequests("weights").size() + 1);
}

void TestDocument::failedSavingKeepsTheMark() {
    Bench bench;
    const auto model = bench.services.addModel(bench.path("small.gguf"), 3);
    bench.services.addSession(bench.path("work.h5"), model->card());
    bench.open(bench.path("work.h5"));
    bench.settle();
    bench.document.measurements()->measure(parseMetricRequests("gate_norm"));
    bench.settle();
    QVERIFY(bench.document.isModified());
    bench.services.diskIsFull = true;
    bench.document.files()->saveSession(bench.document.sessionPath());
    bench.settle();
    QCOMPARE(bench.failed.count(), 1);
    QVERIFY(bench.document.isModified());
    QVERIFY(!bench.document.files()->isSaving());
}

/// Work that ends only when it is cancelled.
static std::function<void()> endless(const Progress& progress) {
    while (true) {
        progress.report(0.5, "working");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

void TestDocument::savingDoesNotWaitForAJob() {
    Bench bench;
    bench.services.addModel(bench.path("small.gguf"), 3);
    bench.open(bench.path("small.gguf"));
    bench.settle();
    for (const auto lane : {JobRunner::Priority::background, JobRunner::Priority::interactive})
        bench.jobs.start("long", lane, endless);
    QSignalSpy saved(bench.document.files(), &DocumentFiles::saved);
    bench.document.files()->saveSession(QString::fromStdString(bench.path("work.h5")));
    QVERIFY(saved.wait(1000));
    bench.open(bench.path("work.h5.gguf")); // is missing
    QTRY_COMPARE(bench.failed.count(), 1);  // also at once
    QVERIFY(!bench.jobs.isIdle());
}

void TestDocument::anotherModelCancelsTheJobsOfTheFirst() {
    Bench bench;
    bench.services.addModel(bench.path("first.gguf"), 3);
    bench.services.addModel(bench.path("second.gguf"), 2);
    bench.open(bench.path("first.gguf"));
    bench.settle();
    QSignalSpy cancelled(&bench.jobs, &JobRunner::cancelled);
    bench.jobs.start("gradients", JobRunner::Priority::background, endless);
    bench.jobs.start("ablation", JobRunner::Priority::background, endless);
    bench.jobs.start("task", JobRunner::Priority::interactive, endless);
    bench.services.opensSlowly = true;
    bench.open(bench.path("second.gguf"));
    QTest::qWait(50);
    QCOMPARE(cancelled.count(), 0); // the first model stays whole until the second is read
    bench.services.opensSlowly = false;
    QTRY_COMPARE(cancelled.count(), 3);
    bench.settle();
    QCOMPARE(bench.document.session().model.name, "second.gguf");
    QCOMPARE(bench.document.measurements()->state("gate_norm"), MetricState::done);
}

void TestDocument::exportThatIsCancelledIsSaid() {
    Bench bench;
    bench.services.addModel(bench.path("small.gguf"), 3);
    Services services = bench.services.services();
    services.exportModel = [](const Model&, const ExportTarget&, const ExportRequest&, const Progress& progress) {
        endless(progress);
        return ExportResult();
    };
    Document document(services, &bench.jobs);
    QSignalSpy failed(&document, &Document::failed);
    document.files()->open(QString::fromStdString(bench.path("small.gguf")));
    QTRY_VERIFY(document.isOpen() && bench.jobs.isIdle());
    document.masks()->setAttention({1}, AttentionCut::drop);
    const QString pruned = QString::fromStdString(bench.path("pruned.gguf"));
    document.maskJobs()->exportModel(pruned);
    QTRY_VERIFY(!bench.jobs.isIdle());
    document.files()->open(QString::fromStdString(bench.path("small.gguf")));
    QTRY_COMPARE(failed.count(), 1);
    QCOMPARE(failed.first().first().toString(), QString("The export was cancelled. %1 was not written.").arg(pruned));
}

void TestDocument::masksAndProtectionComeBack() {
    Bench bench;
    bench.services.addModel(bench.path("small.gguf"), 3);
    bench.open(bench.path("small.gguf"));
    bench.settle();
    MaskEditor& masks = *bench.document.masks();
    masks.setHeadsCut({{0, 1}}, true);
    masks.renameMask("sinks");
    masks.duplicateMask();
    masks.clearMask();
    masks.renameMask("empty");
    masks.duplicateMask();
    masks.setHeadsCut({{2, 3}}, true);
    masks.setCurrent(1);
    Protection units;
    units.protectLayer(masks.spec(), 0);
    units.protectHead(masks.spec(), {1, 2});
    masks.setProtected(units, "Protect");
    const MaskState before = masks.state();
    const std::string file = bench.path("work.h5");
    bench.document.files()->saveSession(QString::fromStdString(file));
    bench.settle();
    bench.services.sessions[file] = bench.services.written.at(file);
    bench.open(file);
    QTRY_COMPARE(bench.opened.count(), 2);
    bench.settle();
    QCOMPARE(masks.state().masks.size(), before.masks.size());
    for (std::size_t i = 0; i < before.masks.size(); ++i) {
        QCOMPARE(masks.state().masks[i].name, before.masks[i].name);
        QVERIFY(masks.state().masks[i].record->mask == before.masks[i].record->mask);
    }
    QCOMPARE(masks.state().current, std::size_t{1});
    QVERIFY(masks.isProtected() == units);
    QVERIFY(!bench.document.isModified());
    QVERIFY(!masks.undoStack()->canUndo());
}

void TestDocument::protectionThatCannotBeReadIsSaid() {
    Bench bench;
    const auto model = bench.services.addModel(bench.path("small.gguf"), 3);
    bench.services.addSession(bench.path("work.h5"), model->card());
    bench.services.sessions[bench.path("work.h5")].view["masks.protected"] = "7.1";
    bench.open(bench.path("work.h5"));
    bench.settle();
    QVERIFY(bench.document.isOpen());
    QVERIFY(bench.document.masks()->isProtected().empty());
    QVERIFY(bench.noticed.first().first().toString().startsWith("The session's protected units cannot be read: "));
}

void TestDocument::closingWhileMeasuringIsQuick() {
    auto bench = std::make_unique<Bench>();
    bench->services.addModel(bench->path("large.gguf"), 5000);
    bench->open(bench->path("large.gguf"));
    QTRY_VERIFY(bench->document.measurements()->result("gate_norm"));
    QElapsedTimer clock;
    clock.start();
    bench.reset();
    QVERIFY2(clock.elapsed() < 500, qPrintable(QString::number(clock.elapsed())));
}

SECATEUR_SUITE(TestDocument)
#include "tst_document.moc"
