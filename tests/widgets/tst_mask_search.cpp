// The panel Search: its fields and cost, the growing mask as the preview, and how a search ends.
#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "tests/support/calibrated_model.h"
#include "tests/support/expected.h"
#endif

#include "analysis/strategies/budget.h"
#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/masks/mask_search.h"
#include "widgets/masks/search_panel.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

using namespace secateur;
using namespace secateur::test;
using Outcome = MaskSearch::Outcome;

namespace {

PruneResult onDrawnText(const Model& model, const PruneRequest& request, const PruneWatch& watch,
                        const Progress& progress) {
    const SequenceText text = drawnSequences(model);
    PruneInputs inputs;
    inputs.text = CalibrationText{.sequences = text.set.sequences, .data = text.data, .digest = text.digest};
    inputs.watch = watch;
    return prune(model, request, inputs, progress);
}

struct Bench {
    std::atomic<std::size_t> stepsFree = std::numeric_limits<std::size_t>::max(); ///< a search waits after this step
    JobRunner jobs;
    Document document{services(), &jobs};
    MaskSearch search{&document, &jobs};
    SearchPanel panel{&document, &search};

    Bench() {
        document.files()->open(data().filePath("forward/llama-gqa"));
        settle();
        panel.show();
        settle();
    }

    Services services() {
        Services services = calibratedServices();
        services.prune = [this](const Model& model, const PruneRequest& request, const MeasureChoice&,
                                const PruneWatch& watch, const Progress& progress) {
            PruneWatch slow = watch;
            slow.made = [&](const PruneStep& step) {
                watch.made(step);
                do {
                    progress.report(0.5, "a step");
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                } while (step.steps >= stepsFree);
            };
            return onDrawnText(model, request, slow, progress);
        };
        return services;
    }
    void settle() { QTRY_VERIFY_WITH_TIMEOUT(document.isOpen() && jobs.isIdle(), 60'000); }
    MaskEditor& masks() { return *document.masks(); }
    PruneResult expected(const PruneRequest& request) { return onDrawnText(*document.model(), request, {}, {}); }
    double saved(const PruningMask& mask, const PruningMask& base) {
        return Savings(document.session().model, base, 1024).percentage(mask, BudgetOf::layerParameters);
    }
    QString text(const char* name) {
        for (const QLabel* label : panel.findChildren<QLabel*>())
            if (label->accessibleName() == name)
                return label->text();
        qFatal("no %s", name);
    }
    QString state() { return text("Cost and state of the search"); }
    void press(const char* name) {
        for (QPushButton* button : panel.findChildren<QPushButton*>())
            if (button->text().remove('&') == name)
                return QTest::mouseClick(button, Qt::LeftButton);
        qFatal("no %s", name);
    }
    QComboBox* combo(const char* name) {
        for (QComboBox* box : panel.findChildren<QComboBox*>())
            if (box->accessibleName() == name)
                return box;
        qFatal("no %s", name);
    }
    void choose(const char* name, int index) {
        combo(name)->setCurrentIndex(index);
        emit combo(name)->activated(index);
    }
    /// Unchecks what saves much in one step.
    void cutOnlyHeadsAndNeurons() {
        for (QCheckBox* box : panel.findChildren<QCheckBox*>())
            if (box->objectName() != "heads" && box->objectName() != "neurons")
                box->click();
    }
    void setBudget(double percent) { panel.findChild<QDoubleSpinBox*>()->setValue(percent); }
    /// Starts a search that waits after its first step.
    void startAndWait() {
        stepsFree = 1;
        press("Find a mask");
        QTRY_VERIFY_WITH_TIMEOUT(search.step() && masks().preview(), 30'000);
    }
    void goOn() { stepsFree = std::numeric_limits<std::size_t>::max(); }
};

} // namespace

class TestMaskSearch : public QObject {
    Q_OBJECT

private slots:
    void fieldsFollowTheRowOfTheStrategy() {
        Bench bench;
        QStringList units;
        for (const QCheckBox* box : bench.panel.findChildren<QCheckBox*>())
            units << box->objectName();
        QCOMPARE(units.join('/'), "heads/neurons/attention/mlps/blocks/bypass");
        QStringList layouts;
        const QComboBox* layout = bench.combo("Layout of an export that must hold the mask");
        for (int i = 0; i < layout->count(); ++i)
            layouts << layout->itemData(i).toString();
        QCOMPARE(layouts.join(' '), "none native per_layer decilm deci openelm");
        QVERIFY(bench.panel.request().strategy.options.empty()); // all defaults
        for (QCheckBox* box : bench.panel.findChildren<QCheckBox*>())
            if (box->objectName() != "heads" && box->objectName() != "mlps")
                box->click();
        bench.choose("Layout of an export that must hold the mask", 2);
        bench.choose("What is saved", 2);
        const PruneRequest request = bench.panel.request();
        QCOMPARE(request.strategy.resultId(), std::string("search:for=per_layer:units=heads/mlps"));
        QCOMPARE(budgetText(request.budget), std::string("kv:20%"));
    }

    void theCostIsShownBefore() {
        Bench bench;
        qInfo("%s", qPrintable(bench.state()));
        QVERIFY2(bench.state().startsWith("On 384 tokens of the built-in text, "), qPrintable(bench.state()));
        for (QCheckBox* box : bench.panel.findChildren<QCheckBox*>())
            box->click();
        QCOMPARE(bench.state(), "Choose what may be cut.");
    }

    void theMaskGrowsInTheViewsAndIsOneStep() {
        Bench bench;
        bench.cutOnlyHeadsAndNeurons();
        const PruningMask before = bench.masks().mask();
        const PruneResult expected = bench.expected(bench.panel.request());
        QSignalSpy previews(&bench.masks(), &MaskEditor::previewChanged);
        bench.startAndWait();
        QVERIFY(bench.masks().mask() == before);
        QVERIFY(*bench.masks().preview() == bench.search.step()->mask);
        QCOMPARE(bench.text("Steps of the search"), "1");
        qInfo("saved %s, loss %s", qPrintable(bench.text("Saved by the search")),
              qPrintable(bench.text("Cost on the held-out text")));
        QVERIFY(bench.text("Saved by the search").endsWith(" of 20.0 %"));
        bench.goOn();
        bench.settle();
        QVERIFY(bench.search.outcome() == Outcome::done);
        QVERIFY(bench.masks().mask() == expected.mask);
        QVERIFY(!bench.masks().preview());
        QCOMPARE(bench.masks().undoStack()->index(), 1);
        const double saved = bench.saved(bench.masks().mask(), before);
        qInfo("%lld previews, %s steps, %.2f %% saved", static_cast<long long>(previews.size()),
              qPrintable(bench.text("Steps of the search")), saved);
        QVERIFY(saved >= 20 - 1e-9);
        QCOMPARE(bench.masks().state().edited().record->provenance->strategy, std::string("search"));
        bench.masks().undoStack()->undo();
        QVERIFY(bench.masks().mask() == before);
    }

    void aStoppedSearchIsKeptWithWhatItSaved() {
        Bench bench;
        bench.cutOnlyHeadsAndNeurons();
        bench.startAndWait();
        bench.press("Stop and keep");
        QVERIFY(bench.search.outcome() == Outcome::stopping);
        bench.goOn();
        bench.settle();
        QVERIFY(bench.search.outcome() == Outcome::done);
        const MaskRecord& record = *bench.masks().state().edited().record;
        const Budget budget = record.provenance->budget.value();
        qInfo("budget %s", budgetText(budget).c_str());
        QVERIFY(budget.amount > 0 && budget.amount < 20);
        PruneRequest again = bench.panel.request();
        again.budget = budget;
        QVERIFY(bench.expected(again).mask == record.mask);
    }

    void aCancelledSearchLeavesTheMask() {
        Bench bench;
        bench.masks().setHeadsCut({{0, 1}}, true);
        const PruningMask before = bench.masks().mask();
        bench.startAndWait();
        bench.press("Cancel");
        bench.settle();
        QVERIFY(bench.search.outcome() == Outcome::cancelled);
        QVERIFY(bench.masks().mask() == before);
        QVERIFY(!bench.masks().preview());
        QCOMPARE(bench.text("Steps of the search"), QString("–"));
        QVERIFY(bench.state().startsWith("On 384 tokens"));
    }

    void aMaskThatChangedMeanwhileStays() {
        Bench bench;
        bench.startAndWait();
        bench.masks().setHeadsCut({{0, 1}}, true);
        const PruningMask edited = bench.masks().mask();
        bench.goOn();
        bench.settle();
        QCOMPARE(bench.masks().state().masks.size(), std::size_t{2});
        QVERIFY(bench.masks().state().masks[0].record->mask == edited);
        QCOMPARE(bench.masks().state().edited().name, std::string("search"));
    }

    void itContinuesFromTheMaskAndSparesWhatIsProtected() {
        Bench bench;
        bench.masks().setHeadsCut({{0, 1}}, true);
        const PruningMask base = bench.masks().mask();
        bench.masks().setProtected({{1}, {}}, "Protect");
        bench.setBudget(10);
        bench.choose("Where the search starts", 1);
        bench.press("Find a mask");
        bench.settle();
        const PruningMask& found = bench.masks().mask();
        QVERIFY(!found.layer(0).heads[1] || found.layer(0).attention == AttentionCut::drop || !found.layer(0).block);
        QVERIFY(found.layer(1).keepsAll());
        qInfo("%.2f %% beyond the start", bench.saved(found, base));
        QVERIFY(bench.saved(found, base) >= 10 - 1e-9);
        QCOMPARE(bench.masks().undoStack()->undoText(), "Find a mask that saves 10 % of the layers' parameters");
        // From the whole model, the cut head counts no more than others.
        bench.choose("Where the search starts", 0);
        QVERIFY(!bench.panel.request().base);
    }

    void aPreviewOfTheUserStays() {
        Bench bench;
        PruningMask own = bench.masks().mask();
        setHeads(own, std::array{HeadId{1, 3}}, false);
        bench.masks().setPreview(own);
        bench.stepsFree = 1;
        bench.press("Find a mask");
        QTRY_VERIFY_WITH_TIMEOUT(bench.search.step(), 30'000);
        QVERIFY(*bench.masks().preview() == own);
        bench.press("Cancel");
        bench.settle();
        QVERIFY(*bench.masks().preview() == own);
    }
};

SECATEUR_SUITE(TestMaskSearch)
#include "tst_mask_search.moc"
