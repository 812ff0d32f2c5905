#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/fake_services.h"
#endif

#include "analysis/base/text.h"
#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/layers/layers_plot.h"
#include "widgets/neurons/layer_neurons.h"
#include "widgets/neurons/neuron_values.h"
#include "widgets/neurons/neurons_view.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/results/scale_combo.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QMouseEvent>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>

using namespace secateur;
using namespace secateur::test;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// A session with a neuron metric. The values grow with the layer, and a few are much larger than the others.
Session session(int layers, int ffn) {
    Session made;
    made.model.name = "model";
    made.model.path = "model.gguf";
    LayerSpec layer;
    layer.heads = layer.kvHeads = 4;
    layer.headDim = 8;
    layer.ffn = ffn;
    made.model.spec.layers.assign(static_cast<std::size_t>(layers), layer);
    MetricResult result;
    result.request = parseMetricRequests("mag_sp_neuron").front();
    result.values = Matrix(static_cast<std::size_t>(layers), static_cast<std::size_t>(ffn));
    std::mt19937 random(3);
    std::lognormal_distribution<double> draw(0, 0.3);
    for (std::size_t row = 0; row < result.values.rows(); ++row)
        for (double& value : result.values.row(row))
            value = draw(random) * (1 + 0.1 * static_cast<double>(row));
    made.results.push_back(std::move(result));
    return made;
}

/// Measures CPU time in milliseconds, because other work on the machine would distort wall time.
class ProcessorTime {
public:
    double elapsed() const { return 1000.0 * static_cast<double>(std::clock() - m_begin) / CLOCKS_PER_SEC; }
    void restart() { m_begin = std::clock(); }

private:
    std::clock_t m_begin = std::clock();
};

/// A neurons view on a document with a session in memory.
struct Bench {
    QTemporaryDir folder;
    FakeServices services;
    JobRunner jobs;
    Document document{services.services(), &jobs};
    Selection selection;
    NeuronsView view{&document, &selection};

    Bench() {
        view.resize(900, 640);
        view.show();
    }
    void open(const Session& made) {
        const std::string path = folder.filePath("made.h5").toStdString();
        services.sessions[path] = made;
        document.files()->open(QString::fromStdString(path));
        settle();
    }
    void settle() {
        QTRY_VERIFY(jobs.isIdle());
        QTest::qWait(60);
    }
    void click(int layer) { QTest::mouseClick(view.plot(), Qt::LeftButton, {}, view.plot()->position(layer)); }
    void press(Qt::Key key) { QTest::keyClick(view.plot(), key); }
    QString cell(int row, int column) {
        return view.layerNeurons()->table()->model()->index(row, column).data().toString();
    }
    bool isLayerOpen() const { return view.layerNeurons()->isVisible(); }
};

} // namespace

class TestNeuronsView : public QObject {
    Q_OBJECT

private slots:
    void nothingOpenIsHarmless() {
        Bench bench;
        bench.press(Qt::Key_Right);
        bench.press(Qt::Key_Return);
        bench.view.copyValues();
        QVERIFY(bench.view.currentFigure().series.empty());
        QVERIFY(!bench.isLayerOpen());
    }

    void everyLayerIsSummarised() {
        Bench bench;
        const Session made = session(6, 50);
        bench.open(made);
        const Figure figure = bench.view.currentFigure();
        QCOMPARE(figure.series.size(), bandPercents.size());
        const auto row = made.results[0].values.row(4);
        QCOMPARE(figure.series.front().values[4], *std::ranges::min_element(row));
        QCOMPARE(figure.series.back().values[4], *std::ranges::max_element(row));
        QCOMPARE(QString::fromStdString(figure.command),
                 QString("secateur-cli plot %1 --figure neurons:metric=mag_sp_neuron:scale=auto --out figure.pdf")
                     .arg(bench.document.sessionPath()));
        bench.view.figureActions()->copyCsv();
        QVERIFY(QApplication::clipboard()->text().startsWith("layer,min,p1,p10,p25,median"));
        QCOMPARE(QApplication::clipboard()->text().count('\n'), 7);
    }

    void savedFiguresHaveTheCutsOnScreen() {
        Bench bench;
        bench.open(session(6, 50));
        QVERIFY(!bench.view.currentFigure().mask);
        bench.document.masks()->setMlpCut({2}, true);
        QVERIFY(bench.view.currentFigure().mask && !bench.view.currentFigure().mask->layer(2).mlp);
    }

    void layersAppearAsTheyAreMeasured() {
        Bench bench;
        const auto model = bench.services.addModel(bench.folder.filePath("small.gguf").toStdString(), 8);
        model->layersFree = 3;
        bench.document.files()->open(bench.folder.filePath("small.gguf"));
        const auto measured = [&] {
            const Figure figure = bench.view.currentFigure();
            return figure.series.empty()
                       ? std::ptrdiff_t(0)
                       : std::ranges::count_if(figure.series[4].values, [](double v) { return std::isfinite(v); });
        };
        QTRY_VERIFY(measured() > 0);
        QVERIFY(measured() <= 3);
        bench.view.openLayer(7);
        model->layersFree = 100;
        bench.settle();
        QCOMPARE(measured(), 8);
        QVERIFY(bench.isLayerOpen());
        QCOMPARE(bench.view.layerNeurons()->table()->model()->rowCount(), 16);
        QVERIFY(bench.cell(0, NeuronTable::valueColumn) != "–");
    }

    void aClickOpensTheLayerAndArrowsMoveOn() {
        Bench bench;
        const Session made = session(6, 50);
        bench.open(made);
        QVERIFY(!bench.isLayerOpen());
        bench.click(3);
        QVERIFY(bench.isLayerOpen());
        QCOMPARE(bench.selection.active(), (HeadId{3, 0}));
        QCOMPARE(bench.selection.heads().size(), 4U);
        const auto row = made.results[0].values.row(3);
        const auto least = std::ranges::min_element(row);
        QCOMPARE(bench.cell(0, NeuronTable::neuronColumn).toLongLong(), least - row.begin());
        QCOMPARE(bench.cell(0, NeuronTable::valueColumn), QString::fromStdString(significant(*least)));
        QCOMPARE(bench.cell(0, NeuronTable::percentileColumn), "0.0");
        QCOMPARE(bench.cell(49, NeuronTable::percentileColumn), "100.0");
        bench.press(Qt::Key_Right);
        QCOMPARE(bench.cell(0, NeuronTable::valueColumn),
                 QString::fromStdString(significant(std::ranges::min(made.results[0].values.row(4)))));
        // Simulates a selection in another view.
        bench.selection.select({{0, 2}}, Selection::Mode::replace, HeadId{0, 2});
        QCOMPARE(bench.document.session().view.at("neurons.layer"), "0");
    }

    void enterOpensAndEscapeCloses() {
        Bench bench;
        bench.open(session(6, 50));
        bench.press(Qt::Key_End);
        QVERIFY(!bench.isLayerOpen());
        bench.press(Qt::Key_Return);
        QVERIFY(bench.isLayerOpen());
        QTest::keyClick(bench.view.layerNeurons()->table(), Qt::Key_Escape);
        QVERIFY(!bench.isLayerOpen());
        bench.press(Qt::Key_Enter);
        QVERIFY(bench.isLayerOpen());
        bench.settle();
        QVERIFY(bench.view.layerNeurons()->height() > 150); // the panel has its previous height
        QTest::mouseClick(bench.view.layerNeurons()->findChild<QToolButton*>(), Qt::LeftButton);
        QVERIFY(!bench.isLayerOpen());
    }

    void layersWithoutHeadsOpenToo() {
        Session made = session(4, 20);
        made.model.spec.layers[2].heads = made.model.spec.layers[2].kvHeads = 0;
        made.model.spec.layers[2].attention = AttentionKind::none;
        made.model.spec.layers[1].ffn = 0;
        std::ranges::fill(made.results[0].values.row(1), missing);
        Bench bench;
        bench.open(made);
        bench.click(2);
        QVERIFY(bench.isLayerOpen());
        QVERIFY(bench.selection.heads().empty());
        QCOMPARE(bench.view.layerNeurons()->table()->model()->rowCount(), 20);
        bench.press(Qt::Key_Left); // moves from the layer without heads to the previous one
        QCOMPARE(bench.selection.active(), (HeadId{1, 0}));
        QCOMPARE(bench.view.layerNeurons()->table()->model()->rowCount(), 0);
        bench.press(Qt::Key_Right);
        bench.press(Qt::Key_Right);
        QCOMPARE(bench.selection.active(), (HeadId{3, 0}));
    }

    void rowsAreSortedAndCopied() {
        Bench bench;
        const Session made = session(3, 30);
        bench.open(made);
        bench.click(1);
        QTableView* table = bench.view.layerNeurons()->table();
        table->sortByColumn(NeuronTable::valueColumn, Qt::DescendingOrder);
        const auto row = made.results[0].values.row(1);
        QCOMPARE(bench.cell(0, NeuronTable::valueColumn), QString::fromStdString(significant(std::ranges::max(row))));
        table->sortByColumn(NeuronTable::neuronColumn, Qt::AscendingOrder);
        QCOMPARE(bench.cell(7, NeuronTable::neuronColumn), "7");
        table->selectRow(7);
        bench.view.copyValues();
        QCOMPARE(QApplication::clipboard()->text().toDouble(), row[7]);
        bench.view.layerNeurons()->selectAll();
        bench.view.copyValues();
        const QStringList lines = QApplication::clipboard()->text().split("\r\n");
        QCOMPARE(lines.size(), 32);
        QCOMPARE(lines[0], "layer,neuron,mag_sp_neuron");
        QCOMPARE(lines[3], "1,2," + QString::fromStdString(exactly(row[2])));
        bench.view.layerNeurons()->figureActions()->copyCsv();
        QVERIFY(QApplication::clipboard()->text().startsWith("Mag-SP per neuron from,"));
    }

    void hoverTellsTheQuantiles() {
        Bench bench;
        const Session made = session(3, 30);
        bench.open(made);
        QSignalSpy said(&bench.view, &NeuronsView::hoverText);
        const QPoint at = bench.view.plot()->position(2);
        QMouseEvent move(QEvent::MouseMove, at, bench.view.plot()->mapToGlobal(at), Qt::NoButton, {}, {});
        QApplication::sendEvent(bench.view.plot(), &move);
        const QString text = said.back().front().toString();
        QVERIFY2(text.startsWith("L2 · min = " +
                                 QString::fromStdString(significant(std::ranges::min(made.results[0].values.row(2))))),
                 qPrintable(text));
        QVERIFY(text.contains("median = "));
    }

    void viewIsKeptWithItsScale() {
        Bench bench;
        Session made = session(3, 30);
        made.results[0].values(0, 0) = 1e-4;
        bench.open(made);
        auto* scale = bench.view.findChild<ScaleCombo*>();
        scale->choose(ScaleKind::logarithmic);
        emit scale->activated(scale->currentIndex());
        bench.click(1);
        QVERIFY(bench.view.currentFigure().y.logarithmic);
        Bench again;
        again.open(bench.document.session());
        QVERIFY(again.view.currentFigure().y.logarithmic);
        QVERIFY(again.isLayerOpen());
        QCOMPARE(again.document.session().view.at("neurons.layer"), "1");
        made.view["neurons.log"] = "true"; // as version 0.1 kept it
        Bench older;
        older.open(made);
        QVERIFY(older.view.currentFigure().y.logarithmic);
        made.results[0].values(0, 0) = -1;
        Bench below;
        below.open(made);
        QVERIFY(!below.view.currentFigure().y.logarithmic);
    }

    void largeModelsStayQuick_data() {
        QTest::addColumn<int>("layers");
        QTest::addColumn<int>("ffn");
        QTest::newRow("13B") << 40 << 13824;
        QTest::newRow("70B") << 80 << 28672;
    }
    void largeModelsStayQuick() {
        QFETCH(int, layers);
        QFETCH(int, ffn);
        Bench bench;
        bench.open(session(layers, ffn));
        QTRY_VERIFY(std::isfinite(bench.view.currentFigure().series[4].values.back()));
        ProcessorTime timer;
        bench.click(layers / 2);
        QApplication::processEvents();
        qInfo("opening a layer: %.1f ms", timer.elapsed());
        QVERIFY(timer.elapsed() < 100);
        constexpr int frames = 20;
        timer.restart();
        for (int frame = 0; frame < frames; ++frame) {
            bench.press(frame < frames / 2 ? Qt::Key_Right : Qt::Key_Left);
            QApplication::processEvents();
        }
        qInfo("arrow: %.1f ms", timer.elapsed() / frames);
        QVERIFY(timer.elapsed() / frames < 100);
        timer.restart();
        for (int frame = 0; frame < frames; ++frame) {
            const QPoint at = bench.view.plot()->position(frame);
            QMouseEvent move(QEvent::MouseMove, at, bench.view.plot()->mapToGlobal(at), Qt::NoButton, {}, {});
            QApplication::sendEvent(bench.view.plot(), &move);
            QApplication::processEvents();
        }
        qInfo("hover: %.1f ms", timer.elapsed() / frames);
        QVERIFY(timer.elapsed() / frames < 16);
        timer.restart();
        bench.view.resize(800, 600);
        QApplication::processEvents();
        qInfo("resize: %.1f ms", timer.elapsed());
        QVERIFY(timer.elapsed() < 100);
    }
};

SECATEUR_SUITE(TestNeuronsView)
#include "tst_neurons_view.moc"
