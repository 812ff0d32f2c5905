// Opens every corrupt file of tests/corruptions. Each must be refused with one sentence that says what is wrong.

#ifndef Q_MOC_RUN
#include "tests/corruptions/corruptions.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <set>

using namespace secateur::test;

namespace {

const Corruptions& all() {
    static const Corruptions rows = fileCorruptions() + safetensorsCorruptions() + indexCorruptions() +
                                    configCorruptions() + ggufCorruptions() + splitCorruptions() + maskCorruptions() +
                                    compensationCorruptions() + pytorchCorruptions() + sessionCorruptions() +
                                    sessionRunCorruptions() + sessionCurveCorruptions() + predictionCorruptions() +
                                    tokenizerCorruptions();
    return rows;
}

} // namespace

class TestCorruption : public QObject {
    Q_OBJECT

private slots:
    void theTableIsLongAndNamesNothingTwice() {
        std::set<QString> names;
        for (const Corruption& row : all())
            QVERIFY2(names.insert(row.reader + row.name).second, qPrintable(row.reader + ": " + row.name));
        QVERIFY(all().size() >= 90);
        qInfo() << all().size() << "corruptions";
    }

    void whatIsWrongIsRefusedByOneSentence_data() {
        QTest::addColumn<int>("row");
        for (int i = 0; i < all().size(); ++i)
            QTest::newRow(qPrintable(all()[i].reader + ", " + all()[i].name)) << i;
    }
    void whatIsWrongIsRefusedByOneSentence() {
        QFETCH(int, row);
        const Corruption& corruption = all()[row];
        const Scratch scratch;
        const QString said = corruption.said(scratch);
        qInfo().noquote() << corruption.reader << "|" << corruption.name << "|" << said;
        QCOMPARE(said, corruption.sentence);
    }
};

SECATEUR_SUITE(TestCorruption)
#include "tst_corruption.moc"
