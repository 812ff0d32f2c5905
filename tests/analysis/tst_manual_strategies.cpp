// The manual's table of strategies equals the one generated from the program's table of strategies.
#ifndef Q_MOC_RUN
#include "analysis/strategies/strategy.h"
#include "tests/support/suite.h"
#endif

#include <QFile>
#include <QtTest>

using namespace secateur;

class TestManualStrategies : public QObject {
    Q_OBJECT

private slots:
    void theTableIsThatOfTheRows() {
        QFile manual(SECATEUR_SOURCE_DIR "/resources/manual/strategies.md");
        QVERIFY(manual.open(QIODevice::ReadOnly));
        const QString text = QString::fromUtf8(manual.readAll());
        const QString table = text.section("<!-- table -->\n", 1).section("<!-- /table -->", 0, 0);
        const QString expected = QString::fromStdString(strategyTable());
        QVERIFY2(table == expected, qPrintable("between the markers of strategies.md belongs:\n" + expected));
    }
};

SECATEUR_SUITE(TestManualStrategies)
#include "tst_manual_strategies.moc"
