// Masks and evaluations in session files: none is lost when a session is written, and none is stored twice.

#include "analysis/base/error.h"
#include "analysis/session/session.h"
#include "backends/session/session_hdf5.h"
#include "tests/support/evaluated_session.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <cmath>
#include <optional>

using namespace secateur;
using namespace secateur::test;

namespace {

/// Whether two numbers are equal; NaN is equal to NaN.
bool same(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

void compare(const Perplexity& a, const Perplexity& b) {
    QVERIFY(a.rules == b.rules);
    QCOMPARE(a.windows.size(), b.windows.size());
    for (std::size_t i = 0; i < a.windows.size(); ++i) {
        QCOMPARE(a.windows[i].index, b.windows[i].index);
        QCOMPARE(a.windows[i].page, b.windows[i].page);
        QCOMPARE(a.windows[i].tokens, b.windows[i].tokens);
        QVERIFY(same(a.windows[i].nats, b.windows[i].nats));
    }
    QCOMPARE(a.pages.size(), b.pages.size());
    QCOMPARE(a.tokens, b.tokens);
    QCOMPARE(a.words(), b.words());
    QCOMPARE(a.bytes(), b.bytes());
    QVERIFY(same(a.lossNats, b.lossNats));
    QVERIFY(same(a.standardError, b.standardError));
}

void compare(const TaskRun& a, const TaskRun& b) {
    QCOMPARE(a.kind, b.kind);
    QCOMPARE(a.shots, b.shots);
    QCOMPARE(a.questions.size(), b.questions.size());
    for (std::size_t i = 0; i < a.questions.size(); ++i) {
        const AnsweredQuestion& x = a.questions[i];
        const AnsweredQuestion& y = b.questions[i];
        QVERIFY(x.line == y.line && x.subject == y.subject && x.gold == y.gold && x.byTotal == y.byTotal &&
                x.byCodePoints == y.byCodePoints && x.byBytes == y.byBytes);
        QCOMPARE(x.scores.size(), y.scores.size());
        for (std::size_t option = 0; option < x.scores.size(); ++option)
            QVERIFY(x.scores[option].logProbability == y.scores[option].logProbability &&
                    x.scores[option].isGreedy == y.scores[option].isGreedy);
    }
    QCOMPARE(a.written.size(), b.written.size());
    for (std::size_t i = 0; i < a.written.size(); ++i) {
        const WrittenAnswer& x = a.written[i];
        const WrittenAnswer& y = b.written[i];
        QVERIFY(x.line == y.line && x.text == y.text && x.compared == y.compared && x.isExact == y.isExact &&
                x.f1 == y.f1);
    }
    QCOMPARE(a.scores.count, b.scores.count);
    QCOMPARE(a.scores.metrics.size(), b.scores.metrics.size());
    for (std::size_t i = 0; i < a.scores.metrics.size(); ++i) {
        QCOMPARE(a.scores.metrics[i].id, b.scores.metrics[i].id);
        QVERIFY(same(a.scores.metrics[i].value, b.scores.metrics[i].value));
        QVERIFY(same(a.scores.metrics[i].standardError, b.scores.metrics[i].standardError));
    }
    QCOMPARE(a.scores.subjects.size(), b.scores.subjects.size());
}

void compare(const TaskEvaluation& a, const TaskEvaluation& b) {
    QVERIFY(a.name == b.name && a.source == b.source && a.formatId == b.formatId && a.questions == b.questions &&
            a.digest == b.digest && a.classNames == b.classNames);
    QVERIFY(a.rules.shots.count == b.rules.shots.count && a.rules.shots.choice == b.rules.shots.choice &&
            a.rules.shots.seed == b.rules.shots.seed && a.rules.limit == b.rules.limit &&
            a.rules.seed == b.rules.seed && a.rules.tokens.bos == b.rules.tokens.bos &&
            a.rules.batchTokens == b.rules.batchTokens);
    compare(a.run, b.run);
}

void compare(const std::optional<PrefillTiming>& a, const std::optional<PrefillTiming>& b) {
    QCOMPARE(a.has_value(), b.has_value());
    if (!a)
        return;
    QCOMPARE(a->timing.seconds, b->timing.seconds);
    QCOMPARE(a->bySublayer.has_value(), b->bySublayer.has_value());
    if (a->bySublayer)
        QVERIFY(a->bySublayer->attention == b->bySublayer->attention && a->bySublayer->mlp == b->bySublayer->mlp &&
                a->bySublayer->rest == b->bySublayer->rest &&
                a->bySublayer->attentionRuns == b->bySublayer->attentionRuns &&
                a->bySublayer->mlpRuns == b->bySublayer->mlpRuns);
}

void compareSpeedups(const std::optional<Speedup>& a, const std::optional<Speedup>& b) {
    QCOMPARE(a.has_value(), b.has_value());
    if (a)
        QVERIFY(a->ratio == b->ratio && a->p10 == b->p10 && a->p90 == b->p90);
}

void compareTimes(const Evaluation& a, const Evaluation& b) {
    QVERIFY(a.timedAgainst.name == b.timedAgainst.name && a.timedAgainst.digest == b.timedAgainst.digest);
    QCOMPARE(a.latency.has_value(), b.latency.has_value());
    if (a.latency) {
        const LatencyRules& rules = a.latency->rules;
        const LatencyRules& others = b.latency->rules;
        QVERIFY(rules.promptTokens == others.promptTokens && rules.newTokens == others.newTokens &&
                rules.warmup == others.warmup && rules.runs == others.runs);
        QCOMPARE(a.latency->run.seconds, b.latency->run.seconds);
        QCOMPARE(a.latency->reference.has_value(), b.latency->reference.has_value());
        if (a.latency->reference)
            QCOMPARE(a.latency->reference->seconds, b.latency->reference->seconds);
        compareSpeedups(a.latency->speedup, b.latency->speedup);
    }
    QCOMPARE(a.pooled.has_value(), b.pooled.has_value());
    if (a.pooled) {
        const PooledDistance& x = a.pooled->distance;
        const PooledDistance& y = b.pooled->distance;
        QVERIFY(a.pooled->source == b.pooled->source && a.pooled->digest == b.pooled->digest &&
                a.pooled->sequenceLength == b.pooled->sequenceLength && a.pooled->mostTokens == b.pooled->mostTokens &&
                a.pooled->reference.digest == b.pooled->reference.digest);
        QVERIFY(x.hasPooler == y.hasPooler && x.sequences == y.sequences && x.tokens == y.tokens);
        QVERIFY(same(x.relative.value, y.relative.value) && same(x.relative.standardError, y.relative.standardError));
        QVERIFY(same(x.cosine.value, y.cosine.value) && same(x.cosine.standardError, y.cosine.standardError));
    }
    QCOMPARE(a.prefills.size(), b.prefills.size());
    for (std::size_t i = 0; i < a.prefills.size(); ++i) {
        QCOMPARE(a.prefills[i].tokens, b.prefills[i].tokens);
        compare(std::optional(a.prefills[i].run), std::optional(b.prefills[i].run));
        compare(a.prefills[i].reference, b.prefills[i].reference);
        compareSpeedups(a.prefills[i].speedup, b.prefills[i].speedup);
    }
    QCOMPARE(a.continuations.size(), b.continuations.size());
    for (std::size_t i = 0; i < a.continuations.size(); ++i) {
        const PromptContinuation& x = a.continuations[i];
        const PromptContinuation& y = b.continuations[i];
        QVERIFY(x.prompt == y.prompt && x.text == y.text && x.continuation.tokens == y.continuation.tokens &&
                x.continuation.end == y.continuation.end);
    }
}

void compare(const Evaluation& a, const Evaluation& b) {
    QCOMPARE(a.mask.name, b.mask.name);
    QCOMPARE(a.mask.digest, b.mask.digest);
    QVERIFY(a.dtype == b.dtype && a.device == b.device && a.created == b.created && a.seconds == b.seconds &&
            a.warnings == b.warnings);
    QCOMPARE(a.text.has_value(), b.text.has_value());
    if (a.text) {
        QVERIFY(a.text->source == b.text->source && a.text->digest == b.text->digest);
        QCOMPARE(a.text->windows, b.text->windows);
        compare(a.text->perplexity, b.text->perplexity);
    }
    QCOMPARE(a.tasks.size(), b.tasks.size());
    for (std::size_t i = 0; i < a.tasks.size(); ++i)
        compare(a.tasks[i], b.tasks[i]);
    compareTimes(a, b);
}

void compare(const Session& a, const Session& b) {
    QCOMPARE(a.masks.size(), b.masks.size());
    for (std::size_t i = 0; i < a.masks.size(); ++i) {
        QCOMPARE(a.masks[i].name, b.masks[i].name);
        QCOMPARE(a.masks[i].digest, b.masks[i].digest);
        QVERIFY(a.masks[i].record == b.masks[i].record);
    }
    QCOMPARE(a.evaluations.size(), b.evaluations.size());
    for (std::size_t i = 0; i < a.evaluations.size(); ++i) {
        compare(a.evaluations[i], b.evaluations[i]);
        if (QTest::currentTestFailed())
            return;
    }
}

std::int64_t versionOf(const std::string& path) {
    return hdf5::readInteger(hdf5::openImage(bytesOf(contents(path))), "version");
}

Session runsOf(const Session& whole, std::vector<Evaluation> evaluations, std::vector<SessionMask> masks = {}) {
    Session session;
    session.model = whole.model;
    session.evaluations = std::move(evaluations);
    session.masks = std::move(masks);
    return session;
}

} // namespace

class TestSessionRuns : public QObject {
    Q_OBJECT

private slots:
    void everyRunComesBackToTheLastBit() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        const Session written = evaluatedSession();
        writeSession(written, path);
        compare(readSession(path), written);
        QCOMPARE(versionOf(path), 5);
        const std::string copy = scratch.path("copy.h5").toStdString();
        addToSession(written, copy);
        addToSession(written, copy); // nothing changes, because the file already has everything
        compare(readSession(copy), written);
    }

    void runsWithAnAdapterAreApart() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        const Session whole = evaluatedSession();
        Session session = runsOf(whole, {}, {whole.masks[0]});
        const EvaluatedMask mask{whole.masks[0].name, whole.masks[0].digest};
        add(session, drawnEvaluation({}, drawnRun(TextProtocol::tokenPpl, 20, 10)));
        add(session, drawnEvaluation(mask, drawnRun(TextProtocol::tokenPpl, 30, 10), {drawnChoice(1)}));
        Evaluation adapted = drawnEvaluation(mask, drawnRun(TextProtocol::tokenPpl, 25, 10));
        adapted.adapter = {"é", "sha256:adapter"};
        add(session, adapted);
        Evaluation other = drawnEvaluation({}, drawnRun(TextProtocol::tokenPpl, 22, 10), {drawnChoice(2)});
        other.adapter = {"é", "sha256:other"};
        other.adapter = named(session, other.adapter);
        QCOMPARE(other.adapter.name, std::string("é (2)"));
        QCOMPARE(named(session, {"x", "sha256:adapter"}).name, std::string("é"));
        add(session, other);
        QCOMPARE(session.evaluations.size(), 4);

        writeSession(session, path);
        const Session read = readSession(path);
        compare(read, session);
        addToSession(runsOf(session, session.evaluations, session.masks), path); // replaces each run by itself
        compare(readSession(path), session);
        QCOMPARE(read.evaluations[2].adapter.digest, adapted.adapter.digest);
        QCOMPARE(shownName(read.evaluations[2].mask, read.evaluations[2].adapter), mask.name + " + é");
        QCOMPARE(shownName(read.evaluations[3].mask, read.evaluations[3].adapter), std::string("dense + é (2)"));
        QVERIFY(!read.evaluations[1].adapter.isPresent());

        // Runs are found by both digests, and compared with runs without an adapter.
        const Evaluation& first = read.evaluations[0];
        QCOMPARE(sameText(read, first, mask.digest), &read.evaluations[1]);
        QCOMPARE(sameText(read, first, mask.digest, "sha256:adapter"), &read.evaluations[2]);
        QCOMPARE(sameText(read, first, "dense", "sha256:other"), &read.evaluations[3]);
        QVERIFY(!sameText(read, first, "dense", "sha256:adapter"));
        for (const std::size_t row : {2, 3}) {
            const Evaluation found = compared(read, read.evaluations[row]);
            QCOMPARE(found.text->reference->perplexity.lossNats, first.text->perplexity.lossNats);
        }
        QVERIFY(!compared(read, first).text->reference);
        QCOMPARE(sameTask(read, first, other.tasks[0], mask.digest), &read.evaluations[1].tasks[0]);
        QVERIFY(!sameTask(read, first, other.tasks[0], mask.digest, "sha256:adapter"));
        QVERIFY(!sameTask(read, first, other.tasks[0], "dense"));
    }

    void olderVersionsOpenAndGrow() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        Session old = evaluatedSession();
        const Session whole = old;
        old.masks.clear();
        old.evaluations.clear();
        old.curves.clear();
        writeSession(old, path);
        change(path, [](const hdf5::Handle& file) {
            for (const char* group : {"masks", "evaluations"})
                hdf5::remove(file, group);
            hdf5::writeInteger(file, "version", 2);
        });
        QVERIFY(readSession(path).evaluations.empty());
        addToSession(old, path);
        QCOMPARE(versionOf(path), 2); // a session without masks and evaluations stays a file of version 2
        addToSession(whole, path);
        QCOMPARE(versionOf(path), 5);
        compare(readSession(path), whole);
        QCOMPARE(readSession(path).results.size(), 1);

        const std::string first = scratch.write("first.h5", contents(SECATEUR_TEST_SOURCES "/sessions/version-1.h5"));
        const Session before = readSession(first);
        Session more = runsOf(before, {drawnEvaluation({}, drawnRun(TextProtocol::tokenPpl, 20, 10))});
        addToSession(more, first);
        const Session after = readSession(first);
        QVERIFY(after.model.spec == before.model.spec);
        QCOMPARE(after.results.size(), before.results.size());
        QCOMPARE(after.evaluations.size(), 1);
        QCOMPARE(versionOf(first), 5);
    }

    void evaluationsWithoutTimesAreThoseOfVersionThree() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        Session old = evaluatedSession();
        const Session whole = old;
        for (Evaluation& evaluation : old.evaluations) {
            evaluation.latency.reset();
            evaluation.prefills.clear();
            evaluation.continuations.clear();
        }
        writeSession(old, path);
        change(path, [](const hdf5::Handle& file) { hdf5::writeInteger(file, "version", 3); });
        compare(readSession(path), old);
        addToSession(runsOf(whole, whole.evaluations, whole.masks), path);
        QCOMPARE(versionOf(path), 5);
        compare(readSession(path), whole);
    }

    void timesAndContinuationsAreKeptOnce() {
        Session session = evaluatedSession();
        session.evaluations.pop_back(); // it has the same mask as evaluation 1, so the times would be added to it
        const Session before = session;
        Evaluation times = drawnEvaluation(session.evaluations[1].mask, {});
        addDrawnTimes(times);
        times.latency->run.seconds = {0.25};
        times.prefills.resize(1);
        times.continuations = {drawnContinuation("Once é", " more")};
        add(session, times);
        QCOMPARE(session.evaluations.size(), before.evaluations.size());
        const Evaluation& row = session.evaluations[1];
        QCOMPARE(row.latency->run.seconds, std::vector{0.25});
        QCOMPARE(row.prefills.size(), 2);
        QCOMPARE(row.continuations.size(), 1);
        QCOMPARE(row.continuations.front().text, " more");
        // Times for another number of new tokens are a separate measurement. So are times relative to another reference
        // mask.
        times.continuations.clear();
        times.latency->rules.newTokens = 64;
        add(session, times);
        QCOMPARE(session.evaluations.size(), before.evaluations.size() + 1);
        times.timedAgainst = {"other.json", "sha256:other"};
        times.latency->rules.newTokens = 16;
        add(session, times);
        QCOMPARE(session.evaluations.size(), before.evaluations.size() + 2);
        QCOMPARE(session.evaluations.back().timedAgainst.name, "other.json");
    }

    void theSameRunIsKeptOnce() {
        Session session = evaluatedSession();
        const Session before = session;
        Evaluation again = drawnEvaluation({}, drawnRun(TextProtocol::tokenPpl, 19, 10));
        again.created = "2026-11-22T00:00:00Z";
        add(session, again);
        QCOMPARE(session.evaluations.size(), before.evaluations.size());
        compare(session.evaluations[0].text->perplexity, again.text->perplexity);
        QCOMPARE(session.evaluations[0].tasks.size(), 2);
        QCOMPARE(session.evaluations[0].created, again.created);
        // A run in another number type gets a row of its own.
        again.dtype = "bfloat16";
        add(session, again);
        QCOMPARE(session.evaluations.size(), before.evaluations.size() + 1);
        again.text->digest = "sha256:other";
        add(session, again);
        QCOMPARE(session.evaluations.size(), before.evaluations.size() + 2);
        // A result for the same task and questions replaces the older one, in whichever evaluation of the mask that is.
        Evaluation asked = drawnEvaluation(session.evaluations[1].mask, {}, {drawnChoice(1.25)});
        add(session, asked);
        QCOMPARE(session.evaluations.size(), before.evaluations.size() + 2);
        QCOMPARE(sameTask(session, asked, asked.tasks[0], asked.mask.digest)->run.questions[0].scores[0].logProbability,
                 -1.25);
    }

    void whatCameFurtherStays() {
        Session session = evaluatedSession();
        Evaluation stopped = session.evaluations[2];
        stopped.pooled.reset(); // only the text was run again
        QVERIFY(!stopped.text->isComplete());
        stopped.text = drawnRun(TextProtocol::tokenPpl, 22, 2);
        add(session, stopped);
        QCOMPARE(session.evaluations[2].text->perplexity.windows.size(), 4);
        stopped.text = drawnRun(TextProtocol::tokenPpl, 22, 10);
        add(session, stopped);
        QCOMPARE(session.evaluations.size(), 4);
        QVERIFY(session.evaluations[2].text->isComplete());
        QCOMPARE(session.evaluations[2].seconds, 3.0); // the run times of both parts are added up
    }

    void masksOfOneNameAreToldApart() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        const Session session = evaluatedSession();
        writeSession(session, path);
        const SessionMask other = drawnMask("cut.json", session.model.spec, 5);
        const EvaluatedMask mask{"cut.json", other.digest};
        const Evaluation run = drawnEvaluation(mask, drawnRun(TextProtocol::tokenPpl, 25, 10));
        for (int i = 0; i < 2; ++i)
            addToSession(runsOf(session, {run}, {other}), path);
        const Session read = readSession(path);
        QCOMPARE(read.masks.size(), 3);
        QCOMPARE(read.masks[2].name, "cut.json (2)");
        QCOMPARE(read.mask(other.digest)->name, "cut.json (2)");
        QCOMPARE(read.evaluations.size(), 5);
        QCOMPARE(read.evaluations[4].mask.name, "cut.json (2)");
    }

    void aMaskThatKeepsAllIsTheDenseModel() {
        Session session = evaluatedSession();
        add(session, drawnEvaluation({"none.json", "dense"}, drawnRun(TextProtocol::tokenPpl, 20, 10)));
        QCOMPARE(session.evaluations.size(), 4);
        QVERIFY(session.evaluations[0].mask.name.empty());
    }

    void runsAreComparedWithTheDenseModelsOwn() {
        const Session session = evaluatedSession();
        const Evaluation cut = compared(session, session.evaluations[1]);
        const LossDifference& difference = cut.text->reference->difference;
        QCOMPARE(difference.count, 10);
        QVERIFY(std::abs(difference.nats - 1.0 / 15) < 1e-12);
        QVERIFY(cut.tasks[0].reference);
        QVERIFY(!cut.tasks[1].reference); // the dense model has no result for this task
        const Evaluation stopped = compared(session, session.evaluations[2]);
        QCOMPARE(stopped.text->reference->difference.count, 4); // the four windows that the stopped run scored too
        QVERIFY(!compared(session, session.evaluations[3]).text->reference);
        QVERIFY(!compared(session, session.evaluations[0]).text->reference);
        const Evaluation against = compared(session, session.evaluations[2], cut.mask.digest);
        QCOMPARE(against.text->reference->mask.name, "cut.json");
    }

    void sessionsOfOneModelJoin() {
        Session first = evaluatedSession();
        Session second = evaluatedSession();
        second.view = {{"colours", "viridis"}};
        second.results[0].measurement.created = "2026-11-22T00:00:00Z";
        const Session before = first;
        join(first, second);
        compare(first, before);
        QCOMPARE(first.results.size(), 1);
        QCOMPARE(first.view, before.view);
        second.model.fingerprint = "sha256:beef";
        QCOMPARE(Scratch().refusal([&] { join(first, second); }),
                 "is a session of Ragged é (sha256:beef), not of Ragged é (sha256:feed)");
    }

    void growingTouchesOnlyWhatChanges() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        const Session session = evaluatedSession();
        writeSession(session, path);
        change(path, [](const hdf5::Handle& file) {
            for (const char* group : {"masks", "evaluations"})
                hdf5::writeText(hdf5::openGroup(hdf5::openGroup(file, group), "0"), "remark", "by hand");
        });
        const qsizetype before = contents(path).size();
        for (int i = 0; i < 20; ++i)
            addToSession(runsOf(session, {session.evaluations[2]}, {session.masks[0]}), path);
        const Session read = readSession(path);
        QCOMPARE(read.evaluations.size(), 4);
        const QByteArray after = contents(path);
        qInfo() << before << "bytes, and" << after.size() << "after one of four evaluations came 20 more times";
        QVERIFY(after.size() < 2 * before);
        const hdf5::Handle file = hdf5::openImage(bytesOf(after));
        for (const char* group : {"masks", "evaluations"})
            QCOMPARE(hdf5::readText(hdf5::openGroup(hdf5::openGroup(file, group), "0"), "remark"), "by hand");
    }
};

SECATEUR_SUITE(TestSessionRuns)
#include "tst_session_runs.moc"
