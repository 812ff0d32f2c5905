// Exceptions that leave slots and event handlers: the event loop goes on, and the user is told.
#include "analysis/base/usage_error.h"
#include "tests/support/suite.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/window/guarded_application.h"

#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QTimer>

#include <algorithm>

using namespace secateur;

class TestGuardedApplication : public QObject {
    Q_OBJECT

private slots:
    void exceptionOfASlotBecomesAMessage();
    void exceptionOfAnEventHandlerBecomesAMessage();
    void otherJobsEndAlthoughASlotThrows();

private:
    GuardedApplication* application() { return qobject_cast<GuardedApplication*>(QCoreApplication::instance()); }
};

void TestGuardedApplication::exceptionOfASlotBecomesAMessage() {
    QSignalSpy caught(application(), &GuardedApplication::caught);
    QTimer::singleShot(0, this, [] { throw UsageError("unknown metric", "gate_nrm"); });
    QTRY_COMPARE(caught.count(), 1);
    QCOMPARE(caught.first().first().toString(), QString("The last action failed: gate_nrm: unknown metric"));
    QTimer::singleShot(0, this, [] { throw 7; });
    QTRY_COMPARE(caught.count(), 2);
    QCOMPARE(caught.last().first().toString(), QString("The last action failed: unknown error"));
}

void TestGuardedApplication::exceptionOfAnEventHandlerBecomesAMessage() {
    QSignalSpy caught(application(), &GuardedApplication::caught);
    struct Broken : QWidget {
        void paintEvent(QPaintEvent*) override { throw Error("cannot be drawn", "figure"); }
    } broken;
    broken.show();
    QTRY_VERIFY(caught.count() > 0);
    QPushButton button;
    connect(&button, &QPushButton::clicked, this, [] { throw Error("was refused", "click"); });
    button.show();
    QTest::mouseClick(&button, Qt::LeftButton);
    const auto refusals = [&] {
        return std::ranges::count_if(
            caught, [](const QList<QVariant>& said) { return said.first().toString().contains("click: was refused"); });
    };
    QTRY_COMPARE(refusals(), 1);
    QTest::mouseClick(&button, Qt::LeftButton); // the button still works
    QTRY_COMPARE(refusals(), 2);
}

void TestGuardedApplication::otherJobsEndAlthoughASlotThrows() {
    QSignalSpy caught(application(), &GuardedApplication::caught);
    JobRunner jobs;
    QSignalSpy finished(&jobs, &JobRunner::finished);
    connect(&jobs, &JobRunner::finished, this, [](quint64 id) {
        if (id == 1)
            throw Error("broke", "slot");
    });
    for (int i = 0; i < 3; ++i)
        jobs.start("quick", JobRunner::Priority::background, [](const Progress&) { return [] {}; });
    QTRY_VERIFY(jobs.isIdle());
    QCOMPARE(finished.count(), 3);
    QTRY_COMPARE(caught.count(), 1);
}

SECATEUR_SUITE(TestGuardedApplication)
#include "tst_guarded_application.moc"
