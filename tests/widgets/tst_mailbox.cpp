#include "tests/support/suite.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/jobs/mailbox.h"

#include <QTest>

#include <memory>
#include <thread>
#include <vector>

using namespace secateur;

class TestMailbox : public QObject {
    Q_OBJECT

private slots:
    void takingEmptiesTheBox();
    void nothingIsLostBetweenThreads();
    void outlivesTheReceiver();
    void jobFillsItWhileItRuns();
};

void TestMailbox::takingEmptiesTheBox() {
    Mailbox<std::vector<int>> box;
    QVERIFY(box.take().empty());
    box.put([](std::vector<int>& values) { values.push_back(1); });
    box.put([](std::vector<int>& values) { values.push_back(2); });
    QCOMPARE(box.take(), (std::vector<int>{1, 2}));
    QVERIFY(box.take().empty());

    Mailbox<int> number;
    QCOMPARE(number.take(), 0);
}

void TestMailbox::nothingIsLostBetweenThreads() {
    constexpr int count = 20'000;
    Mailbox<std::vector<int>> box;
    std::jthread worker([&box] {
        for (int i = 0; i < count; ++i)
            box.put([i](std::vector<int>& values) { values.push_back(i); });
    });
    std::vector<int> taken;
    while (taken.size() < count)
        for (const int value : box.take())
            taken.push_back(value);
    for (int i = 0; i < count; ++i)
        QCOMPARE(taken[static_cast<std::size_t>(i)], i);
}

void TestMailbox::outlivesTheReceiver() {
    auto box = std::make_shared<Mailbox<std::vector<int>>>();
    const std::weak_ptr<Mailbox<std::vector<int>>> watched = box;
    std::jthread worker([box] { box->put([](std::vector<int>& values) { values.push_back(1); }); });
    box.reset();
    worker.join();
    worker = {};
    QVERIFY(watched.expired());
}

void TestMailbox::jobFillsItWhileItRuns() {
    JobRunner jobs;
    const auto box = std::make_shared<Mailbox<std::vector<int>>>();
    std::vector<int> seen;
    const auto look = [&] {
        for (const int value : box->take())
            seen.push_back(value);
    };
    connect(&jobs, &JobRunner::progressed, this, look);
    const auto work = [&, box](const Progress& progress) {
        for (int i = 0; i < 5; ++i) {
            box->put([i](std::vector<int>& values) { values.push_back(i); });
            progress.report(i / 5.0, "working");
        }
        return look;
    };
    jobs.start("fills", JobRunner::Priority::background, work);
    QTRY_VERIFY(jobs.isIdle());
    QCOMPARE(seen, (std::vector<int>{0, 1, 2, 3, 4}));
}

SECATEUR_SUITE(TestMailbox)
#include "tst_mailbox.moc"
