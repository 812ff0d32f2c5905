// A team of threads: every thread runs every job once, loops give all their tasks, and exceptions arrive.

#ifndef Q_MOC_RUN // moc cannot read ATen's headers
#include "backends/kernels/parallel_loops.h"
#include "backends/kernels/thread_team.h"
#include <ATen/Parallel.h>
#include <omp.h>
#endif

#include "backends/base/runtime.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace secateur;

namespace {

struct Failure {};

constexpr int threads = 3;

int teamSize() {
    return std::min(threads, omp_get_num_procs());
}

/// Runs a loop over tasks, and checks that each ran once.
template <typename Loop>
bool runsEachOnce(const Loop& loop) {
    std::vector<std::atomic<int>> runs(100);
    loop(std::ssize(runs), [&](std::int64_t task) { ++runs[static_cast<std::size_t>(task)]; });
    return std::ranges::all_of(runs, [](const std::atomic<int>& count) { return count == 1; });
}

} // namespace

class TestThreadTeam : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() {
        initialiseRuntime(threads);
        if (teamSize() == 1)
            QSKIP("a team needs two processors");
    }
    void cleanup() { at::set_num_threads(threads); }

    void everyThreadRunsEveryJob() {
        QVERIFY(!ThreadTeam::current());
        std::array<std::atomic<int>, ThreadTeam::mostThreads> calls{};
        constexpr int jobs = 2000;
        int size = 0;
        ThreadTeam::during([&] {
            ThreadTeam& team = *ThreadTeam::current();
            size = team.size();
            const std::vector<std::byte> memory(1 << 16);
            for (int job = 0; job < jobs; ++job) {
                for (int thread = 1; thread < size; ++thread)
                    team.prefetch(thread, memory);
                if (job % 500 == 0) // the others sleep meanwhile
                    std::this_thread::sleep_for(std::chrono::milliseconds(5));
                team.each([&](int thread) { ++calls[static_cast<std::size_t>(thread)]; });
            }
        });
        QVERIFY(!ThreadTeam::current());
        QCOMPARE(size, teamSize());
        for (int thread = 0; thread < ThreadTeam::mostThreads; ++thread)
            QCOMPARE(calls[static_cast<std::size_t>(thread)].load(), thread < size ? jobs : 0);
    }

    void loopsRunEachTaskOnce() {
        const auto check = [] {
            QVERIFY(runsEachOnce([](std::int64_t tasks, const auto& body) {
                forEachTask(tasks, 4, [&](std::int64_t task, float* scratch) {
                    scratch[3] = 1;
                    body(task);
                });
            }));
            QVERIFY(runsEachOnce([](std::int64_t tasks, const auto& body) { forEachInRuns(tasks, body); }));
            QVERIFY(runsEachOnce([](std::int64_t tasks, const auto& body) { forEachRow(tasks, 1 << 14, body); }));
            QVERIFY(runsEachOnce([](std::int64_t tasks, const auto& body) { // a loop within a loop
                forEachInRuns(tasks / 10, [&](std::int64_t ten) {
                    forEachInRuns(10, [&](std::int64_t one) { body(10 * ten + one); });
                });
            }));
        };
        check();
        ThreadTeam::during(check);
        for (const int count : {1, 2, 8}) {
            at::set_num_threads(count);
            ThreadTeam::during(check);
        }
    }

    void exceptionsArrive() {
        QVERIFY_EXCEPTION_THROWN(ThreadTeam::during([] { throw Failure(); }), Failure);
        for (int failing = 0; failing < teamSize(); ++failing) {
            int jobs = 0;
            ThreadTeam::during([&] {
                const auto fail = [&](int thread) {
                    if (thread == failing)
                        throw Failure();
                };
                QVERIFY_EXCEPTION_THROWN(ThreadTeam::current()->each(fail), Failure);
                QVERIFY(ThreadTeam::current());
                ThreadTeam::current()->each([&](int thread) { jobs += thread == 0; });
            });
            QCOMPARE(jobs, 1);
        }
    }

    void aTeamOfOneThreadIsNone() {
        at::set_num_threads(1);
        bool isNone = false;
        ThreadTeam::during([&] { isNone = !ThreadTeam::current(); });
        QVERIFY(isNone);
    }

    void teamsOfTwoThreadsDoNotMeet() {
        std::atomic<int> calls = 0;
        const auto work = [&] {
            for (int i = 0; i < 50; ++i)
                ThreadTeam::during([&] { ThreadTeam::current()->each([&](int) { ++calls; }); });
        };
        std::thread other(work);
        work();
        other.join();
        QCOMPARE(calls.load(), 2 * 50 * teamSize());
    }
};

SECATEUR_SUITE(TestThreadTeam)
#include "tst_thread_team.moc"
