// "Copy as command line": the copied commands must run in a shell and give the results that the window shows.
#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "app/window/window_services.h"
#include "tests/support/command_line.h"
#include "tests/support/files.h"

#include "backends/base/runtime.h"
#include "backends/session/mask_json.h"
#endif

#include "tests/support/suite.h"
#include "widgets/document/calibration.h"
#include "widgets/document/commands.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/document/measurements.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/heads/heads_threshold.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/masks/cut_box.h"
#include "widgets/neurons/neuron_threshold.h"

#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QDoubleSpinBox>
#include <QFileInfo>
#include <QGuiApplication>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include <cmath>

using namespace secateur;
using test::Outcome;
using test::Scratch;
using Json = nlohmann::json;

namespace {

const QString sources = SECATEUR_TEST_SOURCES "/";

/// Runs commands in a shell with `folder` as working directory.
Outcome inShell(const QString& commands, const QString& folder) {
    QProcess shell;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("PATH", QFileInfo(SECATEUR_CLI).absolutePath() + ":" + environment.value("PATH"));
    shell.setProcessEnvironment(environment);
    shell.setWorkingDirectory(folder);
    shell.start("/bin/sh", {"-c", commands});
    if (!shell.waitForFinished(60'000))
        qFatal("%s", qPrintable(commands));
    return {shell.exitCode(), shell.readAllStandardOutput(), QString::fromUtf8(shell.readAllStandardError())};
}

struct Bench {
    Scratch folder;
    JobRunner jobs;
    Document document{windowServices(), &jobs};
    LiveEvaluation live{&document, &jobs};
    CommandCopier copier{&document, &jobs};
    QSignalSpy copied{&copier, &CommandCopier::copied};

    Bench() {
        QDir().mkdir(folder.path("a model"));
        for (const QString& file :
             {sources + "forward/llama-gqa/config.json", sources + "forward/llama-gqa/model.safetensors",
              sources + "perplexity/adds-bos/tokenizer.json", sources + "perplexity/adds-bos/tokenizer_config.json"})
            QFile::copy(file, folder.path("a model/" + QFileInfo(file).fileName()));
        EvaluationChoice choice = live.choice();
        choice.text.path = (sources + "perplexity/articles.raw").toStdString();
        choice.text.rules.window = 16;
        choice.tokens = 300;
        choice.isAutomatic = false;
        live.choose(choice);
        document.files()->open(folder.path("a model"));
        settle();
        masks().renameMask("cut"); // which names the files of the mask
    }

    void settle() { QTRY_VERIFY_WITH_TIMEOUT(document.isOpen() && jobs.isIdle(), 30'000); }
    MaskEditor& masks() { return *document.masks(); }
    void save(const QString& name) {
        document.files()->saveSession(folder.path(name));
        settle();
    }
    Evaluation measured() {
        live.evaluate();
        settle();
        return document.session().evaluations.back();
    }
    QString text() {
        if (copied.isEmpty())
            copied.wait();
        copied.clear();
        return QGuiApplication::clipboard()->text();
    }
    Json run(const QString& commands) { return inShell(commands + " --json", folder.path()).json(); }
    /// Runs commands that write mask.mask.json, and returns this mask.
    PruningMask made(const QString& commands) {
        const Outcome outcome = inShell(commands, folder.path());
        if (outcome.status != 0)
            qFatal("%s: %s", qPrintable(commands), qPrintable(outcome.error));
        return readMask(folder.path("cut.mask.json").toStdString(), document.spec(), {}).record.mask;
    }
    /// Chooses the calibration text, and compensates the current mask.
    void calibrate() {
        MeasureChoice choice;
        choice.text = (sources + "perplexity/articles.raw").toStdString();
        choice.tokens = 600;
        document.measurements()->chooseMeasuring(choice, false);
        document.calibration()->prepare();
        settle();
    }
    void compensate() {
        document.maskJobs()->compensate(CompensationMode::weights, document.calibration()->known()->text);
        settle();
        QVERIFY(masks().mask().isCompensated());
    }
    /// Copies the command for the current mask, which was made by a strategy. Returns whether the command makes the
    /// same mask.
    bool isMadeAgain() {
        copier.copyMask();
        const QString commands = text();
        qInfo("%s", qPrintable(commands));
        return commands.contains(" prune ") && made(commands) == masks().mask();
    }
};

} // namespace

class TestCommandCopier : public QObject {
    Q_OBJECT

private slots:
    void anEvaluationIsMeasuredAgain();
    void theDenseModelNeedsNoMask();
    void aMetricIsMeasuredAgain();
    void cutsByAMetricAreMadeAgain();
    void thresholdsAreMadeAgain();
    void sharesOfNeuronsAreMadeAgain();
    void searchesAndCompensationsAreMadeAgain();
    void compensationsOfHandMadeMasksAreMadeAgain();
    void handMadeMasksAreShownFromWhereThePersonPutsThem();
    void exportsAreWrittenAgain();
    void evaluationsAreDrawnFromTheSession();
    void filesOfOtherMasksStay();
    void openedMasksAreNamedWhereTheyLie();
};

void TestCommandCopier::anEvaluationIsMeasuredAgain() {
    Bench bench;
    bench.save("my session.h5");
    bench.masks().setHeadsCut({{1, 0}, {1, 2}}, true);
    const Evaluation evaluation = compared(bench.document.session(), bench.measured());
    const TextEvaluation& shown = evaluation.text.value();
    bench.copier.copyEvaluation(evaluation);
    const QString commands = bench.text();
    qInfo("%s", qPrintable(commands));
    QVERIFY(commands.contains("my session-cut.mask.json"));
    const Json text = bench.run(commands).at("text");
    const double loss = text.at("loss_nats").get<double>() - shown.perplexity.lossNats;
    const double delta = text.at("delta_nats").get<double>() - shown.reference->difference.nats;
    qInfo("loss differs by %g of %g, its rise by %g of %g", loss, shown.perplexity.lossNats, delta,
          shown.reference->difference.nats);
    QVERIFY(std::abs(loss) < 1e-6 * shown.perplexity.lossNats);
    QVERIFY(std::abs(delta) < 1e-6 * shown.perplexity.lossNats);
    QCOMPARE(text.at("digest").get<std::string>(), shown.digest);
    QCOMPARE(text.at("windows").get<std::size_t>(), shown.windows);
}

void TestCommandCopier::theDenseModelNeedsNoMask() {
    Bench bench;
    const Evaluation evaluation = bench.measured();
    bench.copier.copyEvaluation(evaluation);
    const QString commands = bench.text();
    QVERIFY2(!commands.contains("--mask"), qPrintable(commands));
    const double loss = bench.run(commands).at("text").at("loss_nats").get<double>();
    QVERIFY(std::abs(loss - evaluation.text->perplexity.lossNats) < 1e-6 * loss);
}

void TestCommandCopier::aMetricIsMeasuredAgain() {
    Bench bench;
    bench.document.measurements()->measure(parseMetricRequests("gate_norm_head:fold_norm=true"));
    bench.settle();
    bench.copier.copyMeasuring({"gate_norm_head:fold_norm=true"});
    const QString commands = bench.text();
    qInfo("%s", qPrintable(commands));
    const Json values = bench.run(commands).at("metrics").at("gate_norm_head:fold_norm=true").at("values");
    const Matrix& shown = bench.document.measurements()->result("gate_norm_head:fold_norm=true")->values;
    for (std::size_t layer = 0; layer < shown.rows(); ++layer)
        for (std::size_t head = 0; head < shown.columns(); ++head)
            QCOMPARE(values.at(layer).at(head).get<double>(), shown(layer, head));
}

void TestCommandCopier::cutsByAMetricAreMadeAgain() {
    Bench bench;
    CutBox box(&bench.document);
    const auto cut = [&](const char* metric, int end, int counted, double amount) {
        bench.masks().clearMask();
        box.showMetric(metric);
        const auto combos = box.findChildren<QComboBox*>();
        for (QComboBox* combo : combos)
            if (combo->accessibleName() == "Which end to cut")
                combo->setCurrentIndex(end);
            else if (combo->accessibleName() == "What is counted") {
                combo->setCurrentIndex(counted);
                emit combo->activated(counted);
            }
        box.findChild<QDoubleSpinBox*>()->setValue(amount);
        for (QPushButton* button : box.findChildren<QPushButton*>())
            if (button->text() == "C&ut")
                button->click();
        return !bench.masks().mask().keepsAll();
    };
    QVERIFY(cut("gate_norm_head", 0, 0, 3));
    QVERIFY(bench.isMadeAgain());
    QVERIFY(cut("gate_norm_head", 1, 1, 40));
    QVERIFY(bench.isMadeAgain());
    bench.masks().setProtected(Protection::parse("0.1,1.2", bench.document.spec()), "protect");
    QVERIFY(cut("mag_sp_head", 0, 0, 4));
    QVERIFY(bench.isMadeAgain());
}

void TestCommandCopier::thresholdsAreMadeAgain() {
    Bench bench;
    bench.masks().setProtected(Protection::parse("1.3", bench.document.spec()), "protect");
    HeadsThreshold threshold(&bench.masks(), nullptr);
    for (const char* metric : {"gate_norm_head", "gate_norm_group"}) {
        bench.masks().clearMask();
        const MetricResult* result = bench.document.measurements()->result(metric);
        threshold.setResult(result);
        threshold.step(2);
        QVERIFY(!bench.masks().mask().keepsAll());
        QVERIFY2(bench.isMadeAgain(), metric);
    }
}

void TestCommandCopier::sharesOfNeuronsAreMadeAgain() {
    Bench bench;
    const MetricResult* result = bench.document.measurements()->result("mag_sp_neuron");
    NeuronThreshold threshold(&bench.masks(), nullptr);
    threshold.setValues(&result->values, result->request);
    const auto cut = [&](auto preview) {
        bench.masks().clearMask();
        preview();
        threshold.apply();
        return !bench.masks().mask().keepsAll() && bench.isMadeAgain();
    };
    QVERIFY(cut([&] { threshold.previewShare({}, 30); }));
    QVERIFY(cut([&] { threshold.previewShare(1, 12.5); }));
    QVERIFY(cut([&] { threshold.previewBound(0, result->values(0, 3)); }));
    bench.masks().setProtected(Protection::parse("0", bench.document.spec()), "protect");
    QVERIFY(cut([&] { threshold.previewShare({}, 50); }));
    QCOMPARE(bench.masks().mask().layer(0).keptNeurons(), 29);
}

void TestCommandCopier::searchesAndCompensationsAreMadeAgain() {
    Bench bench;
    bench.calibrate();
    PruneRequest request;
    request.strategy = parseStrategyRequest("search:units=heads/neurons");
    request.budget = {15, true, BudgetOf::layerParameters};
    bench.document.maskJobs()->prune(request, "search", {}, bench.document.calibration()->known()->choice.tokens);
    bench.settle();
    QVERIFY(bench.masks().mask().isCompensated());
    QVERIFY(bench.isMadeAgain());
    bench.compensate();
    bench.masks().renameMask("cut");
    QVERIFY(bench.isMadeAgain());
}

void TestCommandCopier::compensationsOfHandMadeMasksAreMadeAgain() {
    Bench bench;
    bench.save("s.h5");
    bench.calibrate();
    bench.masks().setHeadsCut({{0, 1}, {1, 2}}, true);
    bench.compensate();
    bench.copier.copyMask();
    const QString commands = bench.text();
    qInfo("%s", qPrintable(commands));
    QVERIFY(commands.contains(" compensate ") && !commands.contains(" prune "));
    QVERIFY(bench.made(commands) == bench.masks().mask());
}

void TestCommandCopier::handMadeMasksAreShownFromWhereThePersonPutsThem() {
    Bench bench;
    QSignalSpy placeWanted(&bench.copier, &CommandCopier::placeWanted);
    bench.masks().setHeadsCut({{0, 0}, {1, 3}}, true);
    bench.copier.copyMask();
    QVERIFY(placeWanted.wait());
    QCOMPARE(placeWanted.front().front().toString(), QString("cut.mask.json"));
    QVERIFY(bench.copied.isEmpty());
    bench.copier.place(bench.folder.path("of mine.json"));
    QVERIFY(bench.copied.wait());
    QCOMPARE(bench.copied.front().back().toString(),
             QString("The mask was written to %1.").arg(bench.folder.path("of mine.json")));
    QCOMPARE(bench.run(bench.text()).at("removed").at("heads").get<int>(), 2);
    // The mask now has a file, so copying again does not ask where to write it.
    bench.copier.copyMask();
    QVERIFY(bench.text().contains("of mine.json"));
    QCOMPARE(placeWanted.size(), 1);
}

void TestCommandCopier::exportsAreWrittenAgain() {
    Bench bench;
    bench.save("s.h5");
    bench.masks().setHeadsCut({{0, 1}}, true);
    bench.copier.copyExport();
    const QString commands = bench.text();
    qInfo("%s", qPrintable(commands));
    const Json done = bench.run(commands);
    QVERIFY(done.at("verified").at("max_logit_difference").get<double>() < 1e-4);
    const std::string mask = bench.folder.path("a-model-cut/model.mask.json").toStdString();
    QVERIFY(readMask(mask, bench.document.spec(), {}).record.mask == bench.masks().mask());
}

void TestCommandCopier::evaluationsAreDrawnFromTheSession() {
    Bench bench;
    bench.masks().setHeadsCut({{0, 1}}, true);
    bench.measured();
    bench.save("s.h5");
    const QString plot = "secateur-cli plot %1 --figure evaluations:mask=cut --out e.csv";
    const Outcome drawn = inShell(plot.arg(bench.folder.path("s.h5")), bench.folder.path());
    QVERIFY2(drawn.status == 0, qPrintable(drawn.error));
    QFile csv(bench.folder.path("e.csv"));
    QVERIFY(csv.open(QIODevice::ReadOnly));
    const QByteArray lines = csv.readAll();
    QVERIFY2(lines.contains("\r\ndense,dense,") && lines.contains("\r\nthis mask,cut,"), lines);
    const Outcome ofModel = inShell(plot.arg("'a model'"), bench.folder.path());
    QCOMPARE(ofModel.status, 1);
    QVERIFY2(ofModel.error.contains("holds no mask"), qPrintable(ofModel.error));
}

void TestCommandCopier::filesOfOtherMasksStay() {
    Bench bench;
    bench.save("s.h5");
    bench.folder.write("s-cut.mask.json", "notes");
    bench.masks().setHeadsCut({{0, 1}}, true);
    bench.copier.copyMask();
    QVERIFY(bench.text().contains("s-cut-2.mask.json"));
    bench.masks().setHeadsCut({{0, 2}}, true);
    bench.copier.copyMask();
    QVERIFY(bench.text().contains("s-cut-3.mask.json"));
    bench.masks().undoStack()->undo();
    bench.copier.copyMask();
    QVERIFY(bench.text().contains("s-cut-2.mask.json"));
    QFile notes(bench.folder.path("s-cut.mask.json"));
    QVERIFY(notes.open(QIODevice::ReadOnly));
    QCOMPARE(notes.readAll(), QByteArray("notes"));
}

void TestCommandCopier::openedMasksAreNamedWhereTheyLie() {
    Bench bench;
    MaskRecord record;
    record.mask = PruningMask(bench.document.spec());
    setHeads(record.mask, std::array{HeadId{1, 1}}, false);
    writeMask(bench.folder.path("given.json").toStdString(), record);
    bench.document.maskJobs()->openMask(bench.folder.path("given.json"));
    bench.settle();
    bench.copier.copyExport();
    QVERIFY(bench.text().contains("given.json"));
}

SECATEUR_SUITE(TestCommandCopier)
#include "tst_command_copier.moc"
