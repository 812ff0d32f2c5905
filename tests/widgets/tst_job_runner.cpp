#include "analysis/base/error.h"
#include "widgets/jobs/job_runner.h"

#include <QElapsedTimer>
#include <QMap>
#include <QSignalSpy>
#include <QTest>
#include <QThread>

#include <atomic>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>

using namespace secateur;
using Priority = JobRunner::Priority;

namespace {

/// Work for a job: reports progress and counts a step every millisecond until `enough` is true or the job is cancelled.
JobRunner::Work endless(std::shared_ptr<std::atomic<int>> steps, std::shared_ptr<std::atomic<bool>> enough = {}) {
    return [steps, enough](const Progress& progress) -> std::function<void()> {
        while (!enough || !*enough) {
            progress.report(0.5, "working");
            ++*steps;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return {};
    };
}

auto counter() {
    return std::make_shared<std::atomic<int>>(0);
}

} // namespace

class TestJobRunner : public QObject {
    Q_OBJECT

private slots:
    void resultIsDeliveredOnTheRunnersThread();
    void deliveriesComeInTheOrderOfTheirStarts();
    void progressIsThrottledAndItsLastWordArrives();
    void timeLeftIsEstimatedFromTheFraction();
    void failureBecomesASentence_data();
    void failureBecomesASentence();
    void cancelledJobDeliversNothing();
    void jobCancelledInTheQueueNeverRuns();
    void resultThatWaitsForDeliveryIsDroppedByCancel();
    void interactiveJobOvertakesBackground();
    void pausedBackgroundJobCanBeCancelled();
    void savingWaitsForNothing();
    void waitingJobsSayForWhat();
    void cancelBelowSparesFiles();
    void failedDeliveryIsAFailure();
    void destructionWhileBothLanesWorkTakesLessThanHalfASecond();
    void destructionDropsWaitingDeliveries();
};

void TestJobRunner::resultIsDeliveredOnTheRunnersThread() {
    JobRunner jobs;
    QSignalSpy started(&jobs, &JobRunner::started);
    QSignalSpy finished(&jobs, &JobRunner::finished);
    auto value = std::make_shared<int>(0);
    QThread* workedOn = nullptr;
    QThread* deliveredOn = nullptr;
    const auto id = jobs.start("adding", Priority::background, [&](const Progress&) {
        workedOn = QThread::currentThread();
        return [&, sum = 40 + 2] {
            *value = sum;
            deliveredOn = QThread::currentThread();
            QCOMPARE(finished.count(), 0);
        };
    });
    QVERIFY(!jobs.isIdle());
    QVERIFY(finished.wait());
    QCOMPARE(*value, 42);
    QCOMPARE(deliveredOn, thread());
    QVERIFY(workedOn != thread());
    QCOMPARE(started.first().at(1).toString(), "adding");
    QCOMPARE(finished.first().at(0).toULongLong(), id);
    QVERIFY(jobs.isIdle());
}

void TestJobRunner::deliveriesComeInTheOrderOfTheirStarts() {
    JobRunner jobs;
    auto order = std::make_shared<std::vector<int>>();
    for (int i = 0; i < 50; ++i)
        jobs.start("step", Priority::background,
                   [order, i](const Progress&) { return [order, i] { order->push_back(i); }; });
    QTRY_VERIFY(jobs.isIdle());
    QCOMPARE(order->size(), 50U);
    QVERIFY(std::is_sorted(order->begin(), order->end()));
}

void TestJobRunner::progressIsThrottledAndItsLastWordArrives() {
    JobRunner jobs;
    QSignalSpy progressed(&jobs, &JobRunner::progressed);
    auto enough = std::make_shared<std::atomic<bool>>(false);
    jobs.start("counting", Priority::background, [enough](const Progress& progress) -> std::function<void()> {
        for (int i = 0; i <= 20000; ++i)
            progress.report(i / 20000.0, std::to_string(i));
        while (!*enough)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return {};
    });
    QTRY_VERIFY(!progressed.isEmpty() && progressed.last().at(2).toString() == "20000");
    QCOMPARE(progressed.last().at(1).toDouble(), 1.0);
    QVERIFY2(progressed.count() < 200, qPrintable(QString::number(progressed.count())));
    *enough = true;
    QTRY_VERIFY(jobs.isIdle());
}

void TestJobRunner::timeLeftIsEstimatedFromTheFraction() {
    JobRunner jobs;
    QSignalSpy progressed(&jobs, &JobRunner::progressed);
    jobs.start("half", Priority::interactive, [](const Progress& progress) -> std::function<void()> {
        progress.report(0.5, "early");
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
        progress.report(0.0, "later");
        std::this_thread::sleep_for(std::chrono::milliseconds(450));
        progress.report(0.75, "late");
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        return {};
    });
    QTRY_VERIFY(jobs.isIdle());
    QCOMPARE(progressed.count(), 3);
    QVERIFY(progressed.at(0).at(3).toDouble() < 0);
    QVERIFY(progressed.at(1).at(3).toDouble() < 0);
    // Estimated after 0.6 s, with a quarter of the work left: about 0.2 s.
    const double left = progressed.at(2).at(3).toDouble();
    QVERIFY2(left > 0.19 && left < 0.6, qPrintable(QString::number(left)));
}

void TestJobRunner::failureBecomesASentence_data() {
    QTest::addColumn<int>("kind");
    QTest::addColumn<QString>("message");
    QTest::newRow("error") << 0 << "model.gguf: is truncated. Fetch it again";
    QTest::newRow("exception") << 1 << "something broke";
    QTest::newRow("memory") << 2 << "Not enough memory";
    QTest::newRow("anything") << 3 << "Failed with an unknown error";
}

void TestJobRunner::failureBecomesASentence() {
    QFETCH(int, kind);
    QFETCH(QString, message);
    JobRunner jobs;
    QSignalSpy failed(&jobs, &JobRunner::failed);
    QSignalSpy finished(&jobs, &JobRunner::finished);
    jobs.start("failing", Priority::background, [kind](const Progress&) -> std::function<void()> {
        switch (kind) {
        case 0:
            throw Error("is truncated", "model.gguf", "Fetch it again");
        case 1:
            throw std::runtime_error("something broke");
        case 2:
            throw std::bad_alloc();
        default:
            throw 3;
        }
    });
    QVERIFY(failed.wait());
    QCOMPARE(failed.first().at(1).toString(), message);
    QVERIFY(finished.isEmpty());
    QVERIFY(jobs.isIdle());
}

void TestJobRunner::cancelledJobDeliversNothing() {
    JobRunner jobs;
    QSignalSpy cancelled(&jobs, &JobRunner::cancelled);
    auto steps = counter();
    const auto id = jobs.start("endless", Priority::background, endless(steps));
    QTRY_VERIFY(*steps > 3);
    QElapsedTimer clock;
    clock.start();
    jobs.cancel(id);
    jobs.cancel(id);
    jobs.cancel(id + 7);
    QVERIFY(cancelled.wait());
    QVERIFY(clock.elapsed() < 500);
    QCOMPARE(cancelled.count(), 1);
    QVERIFY(jobs.isIdle());
}

void TestJobRunner::jobCancelledInTheQueueNeverRuns() {
    JobRunner jobs;
    QSignalSpy cancelled(&jobs, &JobRunner::cancelled);
    auto steps = counter();
    auto enough = std::make_shared<std::atomic<bool>>(false);
    jobs.start("first", Priority::background, endless(steps, enough));
    auto never = counter();
    const auto second = jobs.start("second", Priority::background, endless(never));
    jobs.cancel(second);
    QVERIFY(cancelled.wait()); // cancelled immediately, although the first job is still running
    QVERIFY(!jobs.isIdle());
    *enough = true;
    QTRY_VERIFY(jobs.isIdle());
    QCOMPARE(never->load(), 0);
}

void TestJobRunner::resultThatWaitsForDeliveryIsDroppedByCancel() {
    JobRunner jobs;
    QSignalSpy cancelled(&jobs, &JobRunner::cancelled);
    auto worked = counter();
    auto delivered = counter();
    const auto id = jobs.start("quick", Priority::interactive, [worked, delivered](const Progress&) {
        ++*worked;
        return [delivered] { ++*delivered; };
    });
    while (*worked == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    // Long enough for the job to finish. Its result is not delivered yet, because no events are processed here.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    jobs.cancel(id);
    QVERIFY(cancelled.wait());
    QCOMPARE(delivered->load(), 0);
}

void TestJobRunner::interactiveJobOvertakesBackground() {
    JobRunner jobs;
    auto background = counter();
    auto interactive = counter();
    auto enough = std::make_shared<std::atomic<bool>>(false);
    jobs.start("sweep", Priority::background, endless(background));
    QTRY_VERIFY(*background > 3);
    jobs.start("edit", Priority::interactive, endless(interactive, enough));
    QTRY_VERIFY(*interactive > 3);
    const int paused = *background;
    QTest::qWait(100);
    QVERIFY(*background <= paused + 1);
    *enough = true;
    QTRY_VERIFY(*background > paused + 3);
}

void TestJobRunner::pausedBackgroundJobCanBeCancelled() {
    JobRunner jobs;
    QSignalSpy cancelled(&jobs, &JobRunner::cancelled);
    auto background = counter();
    auto interactive = counter();
    const auto id = jobs.start("sweep", Priority::background, endless(background));
    QTRY_VERIFY(*background > 3);
    jobs.start("edit", Priority::interactive, endless(interactive));
    QTRY_VERIFY(*interactive > 30);
    jobs.cancel(id);
    QVERIFY(cancelled.wait(500));
}

void TestJobRunner::savingWaitsForNothing() {
    JobRunner jobs;
    for (const Priority lane : {Priority::background, Priority::interactive, Priority::immediate, Priority::opening}) {
        auto steps = counter();
        jobs.start("long", lane, endless(steps));
        jobs.start("waiting", lane, endless(counter()));
        QTRY_VERIFY(*steps > 3);
        auto saved = counter();
        QElapsedTimer clock;
        clock.start();
        jobs.start("save", Priority::files, [saved](const Progress&) { return [saved] { ++*saved; }; });
        QTRY_COMPARE(saved->load(), 1);
        QVERIFY2(clock.elapsed() < 200, qPrintable(QString::number(clock.elapsed())));
    }
}

void TestJobRunner::waitingJobsSayForWhat() {
    JobRunner jobs;
    QMap<quint64, QStringList> said;
    connect(&jobs, &JobRunner::waiting, &jobs, [&](quint64 id, const QString& title) { said[id] << title; });
    auto steps = counter();
    auto enough = std::make_shared<std::atomic<bool>>(false);
    const auto first = jobs.start("gradients", Priority::background, endless(steps));
    const auto second = jobs.start("ablation", Priority::background, endless(counter()));
    QTRY_COMPARE(said[second], QStringList("gradients"));
    QVERIFY(!said.contains(first));
    jobs.start("edit", Priority::interactive, endless(counter(), enough));
    QTRY_COMPARE(said[first], QStringList("edit"));
    QTRY_COMPARE(said[second].last(), QString("edit"));
    *enough = true;
    QTRY_COMPARE(said[first].last(), QString()); // it goes on
    QTRY_COMPARE(said[second].last(), QString("gradients"));
    jobs.cancel(first);
    QTRY_COMPARE(said[second].last(), QString());
}

void TestJobRunner::cancelBelowSparesFiles() {
    JobRunner jobs;
    QSignalSpy cancelled(&jobs, &JobRunner::cancelled);
    QSignalSpy finished(&jobs, &JobRunner::finished);
    auto steps = counter();
    auto enough = std::make_shared<std::atomic<bool>>(false);
    jobs.start("gradients", Priority::background, endless(counter()));
    jobs.start("edit", Priority::interactive, endless(counter()));
    jobs.start("map", Priority::immediate, endless(counter()));
    const auto saving = jobs.start("save", Priority::files, endless(steps, enough));
    QTRY_VERIFY(*steps > 3);
    jobs.cancelBelow(Priority::opening);
    QTRY_COMPARE(cancelled.count(), 3);
    *enough = true;
    QTRY_VERIFY(jobs.isIdle());
    QCOMPARE(finished.count(), 1);
    QCOMPARE(finished.first().first().toULongLong(), saving);
}

void TestJobRunner::failedDeliveryIsAFailure() {
    JobRunner jobs;
    QSignalSpy failed(&jobs, &JobRunner::failed);
    QSignalSpy finished(&jobs, &JobRunner::finished);
    const auto id = jobs.start("first", Priority::background,
                               [](const Progress&) { return [] { throw Error("cannot be shown", "gate_norm"); }; });
    jobs.start("second", Priority::background, [](const Progress&) { return [] {}; });
    QTRY_COMPARE(finished.count(), 1);
    QCOMPARE(failed.count(), 1);
    QCOMPARE(failed.first().at(0).toULongLong(), id);
    QCOMPARE(failed.first().at(1).toString(), QString("gate_norm: cannot be shown"));
    QVERIFY(jobs.isIdle());
}

void TestJobRunner::destructionWhileBothLanesWorkTakesLessThanHalfASecond() {
    auto jobs = std::make_unique<JobRunner>();
    auto background = counter();
    auto interactive = counter();
    auto never = counter();
    jobs->start("sweep", Priority::background, endless(background));
    jobs->start("next", Priority::background, endless(never));
    QTRY_VERIFY(*background > 3);
    jobs->start("edit", Priority::interactive, endless(interactive));
    QTRY_VERIFY(*interactive > 3);
    QElapsedTimer clock;
    clock.start();
    jobs.reset();
    QVERIFY2(clock.elapsed() < 500, qPrintable(QString::number(clock.elapsed())));
    QCOMPARE(never->load(), 0);
}

void TestJobRunner::destructionDropsWaitingDeliveries() {
    auto worked = counter();
    auto delivered = counter();
    {
        JobRunner jobs;
        jobs.start("quick", Priority::interactive, [worked, delivered](const Progress&) {
            ++*worked;
            return [delivered] { ++*delivered; };
        });
        while (*worked == 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    QTest::qWait(20);
    QCOMPARE(delivered->load(), 0);
}

QTEST_GUILESS_MAIN(TestJobRunner)
#include "tst_job_runner.moc"
