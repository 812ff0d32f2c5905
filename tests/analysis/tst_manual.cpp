// The tables in the manual are equal to those generated from the program's own tables.
#ifndef Q_MOC_RUN
#include "analysis/metrics/metric.h"
#include "tests/support/suite.h"
#endif

#include <QFile>
#include <QtTest>

using namespace secateur;

namespace {

/// The lines of a page of the manual between <!-- table --> and <!-- /table -->.
QString tableOf(const QString& page) {
    QFile file(QString(SECATEUR_SOURCE_DIR "/resources/manual/") + page);
    if (!file.open(QIODevice::ReadOnly))
        qFatal("no page %s", qPrintable(page));
    const QString text = QString::fromUtf8(file.readAll());
    const QString begin = "<!-- table -->\n";
    const qsizetype from = text.indexOf(begin) + begin.size();
    return text.mid(from, text.indexOf("<!-- /table -->") - from);
}

} // namespace

class TestManual : public QObject {
    Q_OBJECT

private slots:
    void metricsAreListed() {
        const QString generated = QString::fromStdString(markdownTable());
        QVERIFY2(tableOf("metrics.md") == generated,
                 qPrintable("resources/manual/metrics.md should hold this table:\n" + generated));
    }
};

SECATEUR_SUITE(TestManual)
#include "tst_manual.moc"
