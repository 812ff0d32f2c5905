// The mask panel and the table of evaluations, operated with keyboard and mouse events.
#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/fake_services.h"
#endif

#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/evaluations/evaluations_panel.h"

#include "widgets/evaluations/live_evaluation.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/masks/cut_box.h"
#include "widgets/masks/mask_panel.h"

#include <QAbstractProxyModel>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QDoubleSpinBox>
#include <QGuiApplication>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QSlider>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QToolTip>

#include <limits>
#include <memory>
#include <tuple>

using namespace secateur;
using namespace secateur::test;

namespace {

template <typename Widget>
Widget* named(const QWidget& parent, const QString& accessibleName) {
    for (Widget* widget : parent.findChildren<Widget*>())
        if (widget->accessibleName() == accessibleName)
            return widget;
    qFatal("no %s", qPrintable(accessibleName));
}

struct Bench {
    QTemporaryDir folder;
    FakeServices services;
    JobRunner jobs;
    Document document{services.services(), &jobs};
    LiveEvaluation live{&document, &jobs};
    MaskPanel panel{&document, &jobs, &live};
    EvaluationsPanel evaluations{&document, &live};

    std::shared_ptr<const FakeModel> model;

    Bench() {
        model = services.addModel(folder.filePath("small.gguf").toStdString(), 3);
        document.files()->open(folder.filePath("small.gguf"));
        settle();
        panel.show();
        evaluations.show();
    }
    void settle() { QTRY_VERIFY(jobs.isIdle()); }
    MaskEditor& masks() { return *document.masks(); }
    QString text(const char* name) { return named<QLabel>(panel, name)->text(); }
    void chooseMetric(const char* id) {
        auto* metrics = named<QComboBox>(panel, "Metric to cut by");
        metrics->setCurrentIndex(metrics->findData(id));
        emit metrics->activated(metrics->currentIndex());
    }

    /// Adds a made-up evaluation of the current mask on two windows. Its loss per token is `worse` nats above that of
    /// the dense model.
    void measured(double worse) {
        Evaluation evaluation;
        evaluation.mask.name = masks().state().edited().name;
        evaluation.dtype = "float32";
        TextEvaluation text;
        text.source = "a text";
        text.digest = "sha256:text";
        text.windows = 2;
        text.perplexity = perplexityOf({TextProtocol::tokenPpl, BosMode::firstOnly, 8},
                                       {{7 * (2 + worse), 7, 0, 0}, {7 * (3 + worse), 7, 0, 1}}, {});
        evaluation.text = text;
        document.addEvaluation(evaluation, *masks().state().edited().record);
    }
};

} // namespace

class TestMaskPanel : public QObject {
    Q_OBJECT

private slots:
    void saysWhatIsCutAndSaved();
    void saysThatAMaskIsCompensated();
    void amountIsShownBeforeItIsCut();
    void namesOfUnitsAreNotClipped();
    void theMetricStaysWhileItIsMeasuredAgain();
    void sliderCutsWhenItIsLetGo();
    void protectedHeadsAreNotChosen();
    void tooMuchIsSaid();
    void masksAreRenamedAndChosen();
    void targetsThatHoldTheMaskAreNamed();
    void everyMeasuredMaskIsARow();
    void doubleClickOrEnterBringsAMaskBack();
    void rowsAreCopiedInTheOrderSeen();
    void rowsStayWhileOthersCome();
    void aPointChoosesItsRow();
    void aRowsCommandIsWanted();
};

void TestMaskPanel::saysWhatIsCutAndSaved() {
    Bench bench;
    QVERIFY(bench.text("Cut units").startsWith("Nothing is cut."));
    bench.masks().setHeadsCut({{0, 0}, {1, 3}}, true);
    bench.masks().setMlpCut({2}, true);
    QCOMPARE(bench.text("Cut units"), "1 MLP · 2 heads · 16 neurons");
    QVERIFY2(bench.text("parameters").startsWith("−"), qPrintable(bench.text("parameters")));
    QVERIFY(bench.text("KV heads without savings").startsWith("2 KV heads"));
    bench.masks().undoStack()->undo();
    bench.masks().undoStack()->undo();
    QVERIFY(bench.text("Cut units").startsWith("Nothing is cut."));
}

void TestMaskPanel::saysThatAMaskIsCompensated() {
    Bench bench;
    bench.masks().setHeadsCut({{0, 0}}, true);
    PruningMask mask = bench.masks().mask();
    for (const int layer : {0, 1}) {
        LayerMask own = mask.layer(layer);
        LayerCompensation made;
        made.headScale.assign(own.heads.size(), 2.F);
        made.neuronScale.assign(own.neurons.size(), 3.F);
        own.compensation = std::make_shared<const LayerCompensation>(made);
        mask.setLayer(layer, own);
    }
    bench.masks().replaceMask(mask, "compensate");
    QCOMPARE(bench.text("Cut units"), "1 head · compensated");
    // Undo and redo carry the compensation. An edit removes that of the edited sublayer only.
    bench.masks().undoStack()->undo();
    QCOMPARE(bench.text("Cut units"), "1 head");
    bench.masks().undoStack()->redo();
    QVERIFY(bench.masks().mask() == mask);
    bench.masks().setHeadsCut({{0, 0}}, false);
    QCOMPARE(bench.text("Cut units"), "Nothing is cut · compensated");
    QVERIFY(compensationOf(bench.masks().mask().layer(0)).headScale.empty());
    QVERIFY(!compensationOf(bench.masks().mask().layer(0)).neuronScale.empty());
    QVERIFY(bench.masks().mask().layer(1) == mask.layer(1));
    bench.masks().undoStack()->undo();
    QVERIFY(bench.masks().mask() == mask);
}

void TestMaskPanel::amountIsShownBeforeItIsCut() {
    Bench bench;
    bench.chooseMetric("gate_norm_head");
    auto* amount = named<QDoubleSpinBox>(bench.panel, "How many to cut");
    amount->setFocus();
    amount->selectAll();
    QTest::keyClicks(amount, "5");
    QVERIFY(bench.masks().preview());
    QVERIFY(bench.masks().mask().keepsAll());
    QCOMPARE(bench.text("Cut units"), "5 heads");
    for (QPushButton* button : bench.panel.findChildren<QPushButton*>())
        if (button->text() == "C&ut")
            QTest::mouseClick(button, Qt::LeftButton);
    QVERIFY(!bench.masks().preview());
    int cut = 0;
    for (int layer = 0; layer < 3; ++layer)
        cut += 4 - bench.masks().mask().layer(layer).keptHeads();
    QCOMPARE(cut, 5);
    QCOMPARE(bench.masks().undoStack()->undoText(), "Cut the lowest 5 heads by gate_norm_head");
    QCOMPARE(bench.masks().state().edited().record->provenance->strategy, "by_metric");
    QCOMPARE(amount->value(), 0.0);
}

void TestMaskPanel::namesOfUnitsAreNotClipped() {
    Bench bench;
    auto* units = named<QComboBox>(bench.panel, "What is counted");
    auto* amount = named<QDoubleSpinBox>(bench.panel, "How many to cut");
    for (const char* id : {"gate_norm", "gate_norm_head"}) {
        bench.chooseMetric(id);
        for (const int width : {bench.panel.minimumSizeHint().width(), 220, 400}) {
            bench.panel.resize(width, 700);
            QTest::qWait(1); // for the layout
            QVERIFY2(units->width() >= units->sizeHint().width(), qPrintable(units->currentText()));
            QVERIFY(amount->width() >= amount->minimumWidth() && amount->geometry().right() < units->geometry().left());
        }
    }
}

void TestMaskPanel::theMetricStaysWhileItIsMeasuredAgain() {
    Bench bench;
    bench.chooseMetric("gate_norm_head");
    const auto chosen = [&] { return named<QComboBox>(bench.panel, "Metric to cut by")->currentData().toString(); };
    bench.model->layersFree = 1; // the second layer waits
    bench.document.measurements()->measure(parseMetricRequests("gate_norm_head"));
    QCOMPARE(chosen(), QString("gate_norm_head"));
    named<QDoubleSpinBox>(bench.panel, "How many to cut")->setValue(5);
    QVERIFY(bench.masks().preview()); // by the values of the first measurement
    QCOMPARE(bench.text("Cut units"), "5 heads");
    bench.model->layersFree = std::numeric_limits<int>::max();
    bench.settle();
    QCOMPARE(chosen(), QString("gate_norm_head"));
}

void TestMaskPanel::sliderCutsWhenItIsLetGo() {
    Bench bench;
    bench.chooseMetric("gate_norm");
    auto* slider = named<QSlider>(bench.panel, "How many to cut, by sliding");
    QCOMPARE(slider->maximum(), 3); // the three layers have attention
    slider->setSliderDown(true);
    slider->setValue(2);
    QVERIFY(bench.masks().preview());
    QVERIFY(bench.masks().mask().keepsAll());
    slider->setSliderDown(false);
    QCOMPARE(bench.text("Cut units"), "2 attention layers · 8 heads");
    QCOMPARE(slider->value(), 0);
}

void TestMaskPanel::protectedHeadsAreNotChosen() {
    Bench bench;
    bench.masks().setProtected({{0, 2}, {}}, "Protect");
    QCOMPARE(bench.text("What is protected"), "2 layers protected");
    bench.chooseMetric("gate_norm");
    named<QDoubleSpinBox>(bench.panel, "How many to cut")->setValue(1);
    QVERIFY(bench.masks().preview());
    QCOMPARE(bench.masks().preview()->layer(1).attention, AttentionCut::drop);
}

void TestMaskPanel::tooMuchIsSaid() {
    Bench bench;
    bench.masks().setProtected({{0, 2}, {}}, "Protect");
    bench.chooseMetric("gate_norm");
    named<QDoubleSpinBox>(bench.panel, "How many to cut")->setValue(2);
    QVERIFY2(bench.text("What would be cut").contains("1"), qPrintable(bench.text("What would be cut")));
    QVERIFY(!bench.masks().preview());
}

void TestMaskPanel::masksAreRenamedAndChosen() {
    Bench bench;
    bench.masks().setHeadsCut({{0, 0}}, true);
    auto* names = named<QComboBox>(bench.panel, "Mask");
    names->lineEdit()->selectAll();
    QTest::keyClicks(names->lineEdit(), "sinks");
    QTest::keyClick(names->lineEdit(), Qt::Key_Return);
    QCOMPARE(bench.masks().state().edited().name, "sinks");
    bench.masks().duplicateMask();
    bench.masks().setHeadsCut({{0, 1}}, true);
    QCOMPARE(names->count(), 2);
    names->setCurrentIndex(0);
    emit names->activated(0);
    QVERIFY(!bench.masks().isCut({0, 1}));
}

void TestMaskPanel::targetsThatHoldTheMaskAreNamed() {
    Bench bench;
    bench.masks().setHeadsCut({{0, 0}}, true);
    QVERIFY(bench.panel.exports()->button()->isEnabled());
    QVERIFY(bench.text("Targets that can hold the mask").startsWith("masked"));
    bench.masks().setAttention({1}, AttentionCut::bypassQk, 0.5);
    QVERIFY(!bench.text("Targets that can hold the mask").contains("masked"));
    QSignalSpy wanted(bench.panel.exports(), &ExportBox::exportWanted);
    QTest::mouseClick(bench.panel.exports()->button(), Qt::LeftButton);
    QCOMPARE(wanted.count(), 1);
}

void TestMaskPanel::everyMeasuredMaskIsARow() {
    Bench bench;
    auto* table = bench.evaluations.table();
    QCOMPARE(table->model()->rowCount(), 0);
    bench.masks().setHeadsCut({{0, 0}}, true);
    bench.measured(0.25);
    bench.masks().clearMask();
    bench.measured(0);
    QCOMPARE(table->model()->rowCount(), 2);
    // The dense model is the first row, although it was evaluated last.
    QCOMPARE(table->model()->index(0, 1).data().toString(), "dense");
    QCOMPARE(table->model()->index(1, 2).data().toString(), "11");
    QCOMPARE(table->model()->index(1, 5).data().toString(), "+0.250");
}

void TestMaskPanel::doubleClickOrEnterBringsAMaskBack() {
    Bench bench;
    bench.masks().setHeadsCut({{0, 0}}, true);
    bench.measured(0.25);
    bench.masks().setHeadsCut({{2, 2}}, true);
    bench.measured(0.5);
    auto* table = bench.evaluations.table();
    emit table->doubleClicked(table->model()->index(0, 1));
    QVERIFY(bench.masks().isCut({0, 0}));
    QVERIFY(!bench.masks().isCut({2, 2}));
    bench.masks().undoStack()->undo();
    QVERIFY(bench.masks().isCut({2, 2}));
    table->setCurrentIndex(table->model()->index(0, 1));
    QTest::keyClick(table, Qt::Key_Return);
    QVERIFY(!bench.masks().isCut({2, 2}));
}

void TestMaskPanel::rowsAreCopiedInTheOrderSeen() {
    Bench bench;
    bench.measured(0);
    bench.masks().setHeadsCut({{0, 0}}, true);
    bench.measured(0.25);
    bench.evaluations.table()->sortByColumn(4, Qt::DescendingOrder);
    bench.evaluations.copyRows();
    const QStringList lines = QGuiApplication::clipboard()->text().split("\r\n");
    QCOMPARE(lines.size(), 4); // the header, two rows, and an empty string after the last break
    QVERIFY2(lines[1].startsWith("1,L0.H0,11,"), qPrintable(lines[1]));
    QVERIFY2(lines[2].startsWith("0,dense,12,"), qPrintable(lines[2]));
}

void TestMaskPanel::rowsStayWhileOthersCome() {
    Bench bench;
    bench.masks().setHeadsCut({{0, 0}}, true);
    bench.masks().renameMask("one");
    bench.measured(0.25);
    QTableView* table = bench.evaluations.table();
    table->sortByColumn(4, Qt::DescendingOrder);
    table->selectRow(0);
    const auto* model = qobject_cast<QAbstractProxyModel*>(table->model())->sourceModel();
    QSignalSpy reset(model, &QAbstractItemModel::modelReset);
    QSignalSpy inserted(model, &QAbstractItemModel::rowsInserted);
    const auto current = [&] { return table->model()->index(table->currentIndex().row(), 1).data().toString(); };
    QCOMPARE(current(), QString("one"));
    bench.masks().setHeadsCut({{2, 2}}, true);
    bench.masks().renameMask("two");
    bench.measured(0.5);
    QCOMPARE(inserted.size(), 1);
    // In descending order, the row with the largest loss is the first.
    QCOMPARE(table->model()->index(0, 1).data().toString(), QString("two"));
    QCOMPARE(current(), QString("one"));
    QVERIFY(table->selectionModel()->isRowSelected(1));
    bench.masks().clearMask();
    bench.measured(0);
    QCOMPARE(inserted.size(), 2);
    QCOMPARE(current(), QString("one"));
    // The difference is known now that the dense model is evaluated.
    QCOMPARE(bench.evaluations.current()->text->reference->difference.nats, 0.25);
    QCOMPARE(table->model()->index(table->currentIndex().row(), 0).data().toString(), QString("1"));
    QSignalSpy removed(model, &QAbstractItemModel::rowsRemoved);
    bench.measured(0); // replaces the equal evaluation and adds no row
    QCOMPARE(inserted.size(), 2);
    QCOMPARE(removed.size(), 0);
    QCOMPARE(reset.size(), 0);
    QCOMPARE(current(), QString("one"));
}

void TestMaskPanel::aPointChoosesItsRow() {
    Bench bench;
    bench.evaluations.resize(900, 300);
    bench.measured(0);
    for (const auto& [name, head, worse] : {std::tuple{"one", HeadId{0, 0}, 0.25}, {"two", HeadId{2, 2}, 0.5}}) {
        bench.masks().setHeadsCut({head}, true);
        bench.masks().renameMask(name);
        bench.measured(worse);
        bench.masks().duplicateMask();
    }
    bench.masks().clearMask();
    PointWidget* scatter = bench.evaluations.scatter();
    QTRY_VERIFY(scatter->isVisible() && scatter->position(2));
    QTest::mouseClick(scatter, Qt::LeftButton, {}, *scatter->position(1));
    QVERIFY(bench.evaluations.current());
    QCOMPARE(bench.evaluations.current()->mask.name, std::string("one"));
    QVERIFY(bench.evaluations.table()->selectionModel()->isRowSelected(1));
    QCOMPARE(scatter->highlighted().value_or(99), std::size_t{1});
    QVERIFY2(QToolTip::text().startsWith("one\n"), qPrintable(QToolTip::text()));
    QVERIFY2(QToolTip::text().contains("nats/token: 0.250"), qPrintable(QToolTip::text()));
    QTest::mouseClick(scatter, Qt::LeftButton, {}, QPoint(2, 2)); // a click that hits no point
    QCOMPARE(bench.evaluations.current()->mask.name, std::string("one"));
    QVERIFY(bench.masks().mask().keepsAll());
    // The point of the row that is selected in the table has a ring in the accent colour.
    const QImage before = scatter->grab().toImage();
    bench.evaluations.table()->selectRow(2);
    QCOMPARE(scatter->highlighted().value_or(99), std::size_t{2});
    QTRY_VERIFY(scatter->grab().toImage() != before);
    QTest::mouseDClick(scatter, Qt::LeftButton, {}, *scatter->position(1));
    QVERIFY(bench.masks().isCut({0, 0}) && !bench.masks().isCut({2, 2}));
}

void TestMaskPanel::aRowsCommandIsWanted() {
    Bench bench;
    bench.measured(0);
    QVERIFY(!bench.evaluations.current());
    bench.evaluations.table()->selectRow(0);
    QSignalSpy wanted(&bench.evaluations, &EvaluationsPanel::commandWanted);
    QTimer::singleShot(100, &bench.evaluations, [] {
        auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
        for (QAction* action : menu ? menu->actions() : QList<QAction*>())
            if (action->text().remove('&') == "Copy as command line")
                action->trigger();
        if (menu)
            menu->close();
    });
    const QPoint place = bench.evaluations.table()->pos() + QPoint(5, 40);
    QContextMenuEvent event(QContextMenuEvent::Keyboard, place, bench.evaluations.mapToGlobal(place));
    QApplication::sendEvent(&bench.evaluations, &event);
    QCOMPARE(wanted.size(), 1);
}

SECATEUR_SUITE(TestMaskPanel)
#include "tst_mask_panel.moc"
