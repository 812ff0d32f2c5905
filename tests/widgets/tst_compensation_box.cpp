// The compensation of the current mask in the mask panel: its cost, fits of all modes, their gain, undo and edits.
#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "analysis/compensation/fit_compensation.h"
#include "tests/support/calibrated_model.h"
#include "tests/support/expected.h"
#endif

#include "analysis/base/shown_number.h"
#include "tests/support/suite.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/masks/compensation_box.h"

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QTest>

#include <array>

using namespace secateur;
using namespace secateur::test;

namespace {

struct Bench {
    JobRunner jobs;
    Document document{calibratedServices(), &jobs};
    LiveEvaluation live{&document, &jobs};
    CompensationBox box{&document, &jobs, &live};

    Bench() {
        EvaluationChoice choice = live.choice();
        choice.isAutomatic = false;
        live.choose(choice);
        document.files()->open(data().filePath("forward/llama-gqa"));
        settle();
        box.show();
    }

    void settle() { QTRY_VERIFY_WITH_TIMEOUT(document.isOpen() && jobs.isIdle(), 60'000); }
    MaskEditor& masks() { return *document.masks(); }
    const MaskRecord& record() { return *masks().state().edited().record; }
    QString text(const char* name) {
        for (const QLabel* label : box.findChildren<QLabel*>())
            if (label->accessibleName() == name)
                return label->text();
        qFatal("no %s", name);
    }
    QString effect() { return text("Cost or gain of the compensation"); }
    QString present() { return text("Compensation of the mask"); }
    QPushButton* button() { return box.findChild<QPushButton*>(); }
    QComboBox* modes() { return box.findChild<QComboBox*>(); }
    void choose(const char* mode) {
        modes()->setCurrentIndex(modes()->findText(mode));
        emit modes() -> activated(modes()->currentIndex());
    }
    /// Cuts heads, neurons and a whole attention.
    void cut() {
        masks().setHeadsCut({{0, 1}, {1, 0}}, true);
        masks().setNeuronsCut(0, std::array{0, 1, 2, 3}, true);
        settle();
    }
    void compensate(const char* mode) {
        choose(mode);
        QTest::mouseClick(button(), Qt::LeftButton);
        settle();
    }
};

} // namespace

class TestCompensationBox : public QObject {
    Q_OBJECT

private slots:
    void theCostIsShownBefore() {
        Bench bench;
        QStringList modes;
        for (int i = 0; i < bench.modes()->count(); ++i)
            modes << bench.modes()->itemText(i);
        QCOMPARE(modes.join(' '), "none bias scale both weights");
        QCOMPARE(bench.effect(), "Nothing is cut, so there is nothing to compensate for.");
        QVERIFY(!bench.button()->isEnabled());
        bench.cut();
        for (const char* mode : {"bias", "scale", "both", "weights"}) {
            bench.choose(mode);
            qInfo("%s: %s", mode, qPrintable(bench.effect()));
            QVERIFY2(bench.effect().startsWith("Fits to 384 tokens of the built-in text, "),
                     qPrintable(bench.effect()));
            QVERIFY(bench.button()->isEnabled());
        }
        bench.choose("none");
        QVERIFY(!bench.button()->isEnabled()); // there is nothing to remove
    }

    void droppedSublayersAreNotFitted() {
        Bench bench;
        bench.masks().setMlpCut({0}, true);
        bench.settle();
        bench.choose("weights");
        QCOMPARE(bench.effect(), "Only sublayers that keep some of their units are compensated. This mask has none.");
        QVERIFY(!bench.button()->isEnabled());
    }

    void aFitIsOneStep_data() {
        QTest::addColumn<QByteArray>("mode");
        for (const char* mode : {"bias", "scale", "both", "weights"})
            QTest::newRow(mode) << QByteArray(mode);
    }
    void aFitIsOneStep() {
        QFETCH(QByteArray, mode);
        Bench bench;
        bench.cut();
        const PruningMask before = bench.masks().mask();
        const int steps = bench.masks().undoStack()->index();
        QCOMPARE(bench.present(), "Now: none");
        bench.compensate(mode.constData());
        const SequenceText text = drawnSequences(*bench.document.model());
        const FittedMask expected = fitCompensation(*bench.document.model(), before,
                                                    compensationModeOf(mode.toStdString()), {text.set.sequences}, {});
        const PruningMask after = bench.masks().mask();
        QVERIFY(after.isCompensated());
        QVERIFY(after == expected.mask);
        QCOMPARE(bench.masks().undoStack()->index(), steps + 1);
        QCOMPARE(bench.masks().undoStack()->undoText(), "Compensate by " + mode);
        qInfo("%s; %s", qPrintable(bench.present()), qPrintable(bench.effect()));
        QCOMPARE(bench.present(), "Now: " + mode + ", fitted to 384 tokens of the built-in text");
        QVERIFY(bench.effect().startsWith(QString("Squared error of %1 projections ").arg(expected.parts.size())));
        QCOMPARE(notedFit(*bench.record().provenance)->mode, compensationModeOf(mode.toStdString()));
        bench.masks().undoStack()->undo();
        QVERIFY(bench.masks().mask() == before);
        QVERIFY(bench.effect().startsWith("Fits to"));
        bench.masks().undoStack()->redo();
        QVERIFY(bench.masks().mask() == after);
        QVERIFY(bench.present().startsWith("Now: " + mode));
    }

    void aMaskThatChangedMeanwhileStays() {
        Bench bench;
        bench.cut();
        bench.choose("weights");
        QTest::mouseClick(bench.button(), Qt::LeftButton);
        bench.masks().setHeadsCut({{1, 3}}, true); // the result is delivered by the event loop only
        const PruningMask edited = bench.masks().mask();
        bench.settle();
        const MaskState& state = bench.masks().state();
        QCOMPARE(state.masks.size(), std::size_t{2});
        QVERIFY(state.masks[0].record->mask == edited);
        QVERIFY(bench.masks().mask().isCompensated());
        QVERIFY2(state.edited().name.ends_with(" compensated"), state.edited().name.c_str());
    }

    void aFitIsCancelled() {
        Bench bench;
        bench.cut();
        const PruningMask before = bench.masks().mask();
        bench.choose("weights");
        QTest::mouseClick(bench.button(), Qt::LeftButton);
        QCOMPARE(bench.button()->text().remove('&'), "Cancel");
        QVERIFY(!bench.modes()->isEnabled());
        QTest::mouseClick(bench.button(), Qt::LeftButton);
        bench.settle();
        QVERIFY(bench.masks().mask() == before);
        QCOMPARE(bench.button()->text().remove('&'), "Compensate");
        QVERIFY(bench.effect().startsWith("Fits to"));
    }

    void editsRemoveWhatTheyTouch() {
        Bench bench;
        bench.cut();
        bench.compensate("weights");
        const PruningMask fitted = bench.masks().mask();
        QVERIFY(compensationOf(fitted.layer(0)).outputWeight);
        QVERIFY(compensationOf(fitted.layer(0)).downWeight);
        bench.masks().setHeadsCut({{0, 2}}, true);
        QVERIFY(!compensationOf(bench.masks().mask().layer(0)).outputWeight);
        QVERIFY(compensationOf(bench.masks().mask().layer(0)).downWeight);
        QVERIFY(bench.masks().mask().layer(1) == fitted.layer(1));
        QCOMPARE(bench.present(), "Now: of an unknown mode");
        bench.masks().undoStack()->undo();
        QVERIFY(bench.masks().mask() == fitted);
        QVERIFY(bench.present().startsWith("Now: weights"));
    }

    void aCompensationIsRemoved() {
        Bench bench;
        bench.cut();
        const PruningMask plain = bench.masks().mask();
        bench.compensate("both");
        const PruningMask fitted = bench.masks().mask();
        bench.choose("none");
        QCOMPARE(bench.button()->text().remove('&'), "Remove");
        QTest::mouseClick(bench.button(), Qt::LeftButton);
        QVERIFY(bench.masks().mask() == plain);
        QCOMPARE(notedFit(*bench.record().provenance)->mode, CompensationMode::none);
        QVERIFY(bench.record().provenance->notes.empty());
        bench.masks().undoStack()->undo();
        QVERIFY(bench.masks().mask() == fitted);
    }

    void theLossBeforeAndAfterIsShown() {
        Bench bench;
        bench.cut();
        bench.live.evaluate();
        bench.settle();
        const double before = bench.live.shown()->run.lossNats;
        bench.compensate("weights");
        QVERIFY2(!bench.effect().contains("loss"), qPrintable(bench.effect())); // not measured yet
        bench.live.evaluate();
        bench.settle();
        const double after = bench.live.shown()->run.lossNats;
        qInfo("%s (%.6f, %.6f)", qPrintable(bench.effect()), before, after);
        const QString loss = QString::fromStdString("loss " + shownNumber(before, 4) + " → " + shownNumber(after, 4));
        QVERIFY(bench.effect().endsWith(loss + " nats."));
    }
};

SECATEUR_SUITE(TestCompensationBox)
#include "tst_compensation_box.moc"
