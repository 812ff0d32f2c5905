// The Gradients tab, and cutting heads by gnorm with repeated measurements, operated with mouse and keyboard events.
// tst_greedy tests the values.
#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/fake_services.h"
#endif

#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"
#include "widgets/heads/gradient_view.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/masks/cut_box.h"
#include "widgets/plot/figure_widget.h"

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QStackedWidget>
#include <QTemporaryDir>
#include <QTest>

#include <fstream>

using namespace secateur;
using namespace secateur::test;

namespace {

/// A document with a model of three layers and a session that has a gnorm result.
struct Bench {
    QTemporaryDir folder;
    FakeServices services;
    JobRunner jobs;
    Document document{services.services(), &jobs};
    Selection selection;
    GradientView view{&document, &jobs, &selection};
    CutBox cut{&document};

    Bench() {
        const std::string model = folder.filePath("model.gguf").toStdString();
        services.models[model] = std::make_shared<FakeModel>(model, 3);
        std::ofstream(model) << "a model";
        Session session;
        session.model = services.models[model]->card();
        session.model.fingerprint = services.models[model]->fingerprint();
        MetricResult result;
        result.request = parseMetricRequests("gnorm").front();
        result.values = Matrix(3, 4, 1);
        result.seconds = 2;
        result.measurement.fingerprint = session.model.fingerprint;
        session.results.push_back(result);
        const std::string path = folder.filePath("made.h5").toStdString();
        std::ofstream(path) << "a session";
        services.sessions[path] = session;
        view.resize(800, 600);
        view.show();
        cut.show();
        document.files()->open(QString::fromStdString(path));
        settle();
    }
    void settle() {
        QTRY_VERIFY(jobs.isIdle());
        QTest::qWait(30);
    }
    QPushButton* button() const { return view.findChild<QPushButton*>(); }
    QComboBox* combo(const char* name) const {
        for (QComboBox* each : view.findChildren<QComboBox*>())
            if (each->accessibleName() == name)
                return each;
        return nullptr;
    }
    void choose(QComboBox* box, int index) const {
        box->setCurrentIndex(index);
        emit box->activated(index);
    }
    QCheckBox* box(const char* text) const {
        for (QCheckBox* each : cut.findChildren<QCheckBox*>())
            if (each->text().contains(text))
                return each;
        return nullptr;
    }
    QString said() const {
        for (const QLabel* label : cut.findChildren<QLabel*>())
            if (label->accessibleName() == "What would be cut")
                return label->text();
        return {};
    }
};

} // namespace

class TestGradientView : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        QCoreApplication::setOrganizationName("secateur-test-gradient-view");
        QSettings().clear();
    }

    void nothingRunsBeforeItIsAskedFor() {
        Bench bench;
        QVERIFY(bench.document.model());
        QVERIFY(!bench.button()->isEnabled());
        QVERIFY(bench.view.currentFigure().cells.values().empty());
        bench.selection.select({{1, 2}}, Selection::Mode::replace, HeadId{1, 2});
        QVERIFY(bench.button()->isEnabled());
        QVERIFY(bench.button()->text().contains("L1.H2"));
        QVERIFY(bench.view.currentFigure().cells.values().empty());
    }

    void theActiveHeadIsCutInAllLayersOrOne() {
        Bench bench;
        bench.selection.select({{1, 2}}, Selection::Mode::replace, HeadId{1, 2});
        bench.button()->click();
        bench.settle();
        Figure figure = bench.view.currentFigure();
        QCOMPARE(figure.cells.rows(), std::size_t{12});
        QCOMPARE(figure.cells.columns(), std::size_t{4});
        QCOMPARE(figure.cells(6, 0), -1.0);
        QCOMPARE(figure.y.names.at(6), std::string("L1.H2"));
        QCOMPARE(figure.scale.map, std::string("vik"));
        QVERIFY(figure.caption.find("with L1.H2 cut") != std::string::npos);
        QVERIFY2(figure.command.find("gradient_change:cut=1.2:colours=vik") != std::string::npos,
                 figure.command.c_str());
        QVERIFY(figure.command.ends_with("--max-tokens 10"));
        bench.choose(bench.combo("Layer shown"), 3);
        figure = bench.view.currentFigure();
        QCOMPARE(figure.cells.rows(), std::size_t{4});
        QCOMPARE(figure.cells(0, 0), 0.75);
        // After another head is selected, the figure of the previous head stays until the new one is computed.
        bench.selection.select({{0, 0}}, Selection::Mode::replace, HeadId{0, 0});
        QVERIFY(bench.view.currentFigure().caption.find("L1.H2") != std::string::npos);
    }

    void theMaskIsHeldAgainstTheWholeModel() {
        Bench bench;
        bench.choose(bench.combo("Cut"), 1);
        QVERIFY(!bench.button()->isEnabled()); // the mask has no cuts, so there is nothing to compare
        bench.document.masks()->setHeadsCut({{0, 1}, {2, 3}}, true);
        QVERIFY(bench.button()->isEnabled());
        bench.button()->click();
        bench.settle();
        const Figure figure = bench.view.currentFigure();
        QCOMPARE(figure.cells(1, 0), -1.0);
        QCOMPARE(figure.cells(11, 0), -1.0);
        QVERIFY(figure.command.empty()); // there is no command, because it would need the mask in a file
        // A head that is already cut cannot be chosen to be cut.
        bench.choose(bench.combo("Cut"), 0);
        bench.selection.select({{0, 1}}, Selection::Mode::replace, HeadId{0, 1});
        QVERIFY(!bench.button()->isEnabled());
    }

    void cuttingByGnormMeasuresAgainWhereItIsAskedTo() {
        Bench bench;
        QCheckBox* again = bench.box("measuring again");
        QVERIFY(again && !again->isHidden());
        QVERIFY(bench.box("knee")->isHidden());
        again->click();
        QVERIFY(!bench.box("knee")->isHidden());
        QVERIFY(!bench.box("in each layer")->isEnabled());
        bench.cut.findChild<QDoubleSpinBox*>()->setValue(3);
        // No preview: the heads to cut are known only after the measurements.
        QVERIFY(!bench.document.masks()->preview());
        QVERIFY2(bench.said().contains("about 6 s"), qPrintable(bench.said()));
        bench.box("knee")->click();
        QSignalSpy noticed(&bench.document, &Document::noticed);
        bench.cut.findChild<QPushButton*>()->click();
        bench.settle();
        const MaskRecord& record = *bench.document.masks()->state().edited().record;
        QVERIFY(record.provenance.has_value());
        QCOMPARE(record.provenance->strategy, std::string("gnorm_greedy"));
        QCOMPARE(record.provenance->options.at("stop"), std::string("knee"));
        QCOMPARE(record.provenance->text, std::string("built-in"));
        QVERIFY(record.provenance->history.has_value());
        QVERIFY(record.provenance->budget == (Budget{3, false}));
        QCOMPARE(record.mask.layer(0).keptHeads(), 1);
        QVERIFY2(noticed.at(0).at(0).toString().contains("loss 2.00 -> 2.25 nats/token"),
                 qPrintable(noticed.at(0).at(0).toString()));
        bench.document.masks()->undoStack()->undo();
        QVERIFY(bench.document.masks()->mask().keepsAll());
    }

    void aMaskThatChangedMeanwhileIsKept() {
        Bench bench;
        bench.box("measuring again")->click();
        bench.cut.findChild<QDoubleSpinBox*>()->setValue(2);
        bench.cut.findChild<QPushButton*>()->click();
        bench.document.masks()->setHeadsCut({{2, 2}}, true);
        const PruningMask meanwhile = bench.document.masks()->mask();
        bench.settle();
        const MaskState& state = bench.document.masks()->state();
        QCOMPARE(state.masks.size(), std::size_t{2});
        QVERIFY(state.masks[0].record->mask == meanwhile);
        QCOMPARE(state.masks[1].record->mask.layer(0).keptHeads(), 2);
    }
};

SECATEUR_SUITE(TestGradientView)
#include "tst_gradient_view.moc"
