// Curves in session files: no point is lost when a session is written or grows, and none is stored twice.

#include "analysis/base/error.h"
#include "analysis/session/session.h"
#include "analysis/strategies/budget.h"
#include "backends/json/curves_json.h"
#include "backends/json/result_json.h"
#include "backends/session/session_hdf5.h"
#include "tests/support/evaluated_session.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#include "tests/support/sweeps.h"

#include <nlohmann/json.hpp>

#include <QtTest>

using namespace secateur;
using namespace secateur::test;
using Json = nlohmann::json;

namespace {

/// All fields of the curves of a session, as text.
std::string curvesOf(const Session& session) {
    return Json::parse(sessionJson(session)).at("curves").dump();
}

/// The curves of a session with only one of their points: number `wanted` of all.
std::vector<Curves> onePoint(const std::vector<Curves>& all, std::size_t wanted) {
    std::size_t number = 0;
    for (const Curves& curves : all)
        for (const Curve& curve : curves.curves)
            for (const CurvePoint& point : curve.points)
                if (number++ == wanted) {
                    Curves one = curves;
                    one.curves = {{curve.strategy, {point}}};
                    return {one};
                }
    return {};
}

} // namespace

class TestSessionCurves : public QObject {
    Q_OBJECT

private slots:
    void everyPointComesBackToTheLastBit() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        const Session written = evaluatedSession();
        writeSession(written, path);
        const Session read = readSession(path);
        QCOMPARE(read.curves.size(), std::size_t{2});
        QCOMPARE(bitsOf(read), bitsOf(written));
        QCOMPARE(curvesOf(read), curvesOf(written));
        addToSession(written, path); // nothing changes, because the file already has everything
        QCOMPARE(curvesOf(readSession(path)), curvesOf(written));
    }

    void recoveredPointsAreKept() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        Session session = evaluatedSession();
        CurvePoint recovered = session.curves[0].curves[0].points[0];
        recovered.key.recovered = "quick:steps=5";
        recovered.trainingSeconds = 12.5;
        Curves more{.conditions = session.curves[0].conditions, .dense = session.curves[0].dense};
        more.curves = {{session.curves[0].curves[0].strategy, {recovered}}};
        join(session.curves[0], more);
        writeSession(session, path);
        const Session read = readSession(path);
        QCOMPARE(curvesOf(read), curvesOf(session));
        const CurvePoint* point = read.curves[0].curves[0].point(recovered.key);
        QVERIFY(point);
        QCOMPARE(point->trainingSeconds, 12.5);
    }

    void pointsOfVersionFourHaveNoTraining() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        const Session written = evaluatedSession();
        writeSession(written, path);
        change(path, [](const hdf5::Handle& file) {
            const hdf5::Handle all = hdf5::openGroup(file, "curves");
            for (const std::string& strategy : hdf5::children(all))
                for (const std::string& number : hdf5::children(hdf5::openGroup(all, strategy)))
                    hdf5::remove(hdf5::openGroup(hdf5::openGroup(all, strategy), number), "training_seconds");
            hdf5::writeInteger(file, "version", 4);
        });
        QCOMPARE(curvesOf(readSession(path)), curvesOf(written));
    }

    void aFileThatGrowsByPointsHasAllOfThem() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        const Session whole = evaluatedSession();
        Session more = whole;
        more.masks.clear();
        more.curves.clear();
        writeSession(more, path);
        more.evaluations.clear();
        more.results.clear();
        std::size_t points = 0;
        for (more.curves = onePoint(whole.curves, 0); !more.curves.empty(); more.curves = onePoint(whole.curves, ++points)) {
            more.masks = whole.masks;
            addToSession(more, path);
        }
        QCOMPARE(points, std::size_t{6});
        QCOMPARE(curvesOf(readSession(path)), curvesOf(whole));
        QVERIFY2(QFileInfo(QString::fromStdString(path)).size() < 1'000'000, "the file grows too fast");
    }

    void laterNumbersCompleteAPoint() {
        Session session = evaluatedSession();
        Session scored = session;
        CurvePoint& later = scored.curves[0].curves[1].points[0];
        QVERIFY(std::isnan(later.lossNats));
        later.lossNats = 3;
        later.choosingSeconds = missing;
        const double choosing = session.curves[0].curves[1].points[0].choosingSeconds;
        join(session, scored);
        const CurvePoint& joined = session.curves[0].curves[1].points[0];
        QCOMPARE(joined.lossNats, 3.0);
        QCOMPARE(joined.choosingSeconds, choosing);
        QCOMPARE(session.curves[0].curves[1].points.size(), std::size_t{2});
    }

    void aFailureDoesNotUndoANumberButANumberUndoesAFailure() {
        const Session whole = evaluatedSession();
        Session session = whole;
        Session other = whole;
        const auto pointIn = [](Session& all, const char* budget) -> CurvePoint& {
            for (CurvePoint& point : all.curves[0].curves[0].points)
                if (budgetText(point.key.budget) == budget)
                    return point;
            throw Error("has no such point", budget);
        };
        pointIn(other, "2") = {.key = pointIn(other, "2").key, .error = "it failed"};
        pointIn(other, "1.5") = drawnPoint({1.5}, whole.masks[0].digest, 1);
        join(session, other);
        QVERIFY(pointIn(session, "2").error.empty());
        QCOMPARE(pointIn(session, "2").lossNats, 2.3);
        QVERIFY(pointIn(session, "1.5").error.empty());
    }

    void curvesOfOtherTasksOfTheSameNameAreApart() {
        Session session = evaluatedSession();
        Session other = session;
        other.curves.resize(1);
        other.curves[0].tasks[0].digest = "sha256:other rules";
        join(session, other);
        QCOMPARE(session.curves.size(), std::size_t{3});
        other.curves[0].latency = CurveLatency{6, 32};
        join(session, other);
        QCOMPARE(session.curves.size(), std::size_t{4});
    }
};

SECATEUR_SUITE(TestSessionCurves)
#include "tst_session_curves.moc"
