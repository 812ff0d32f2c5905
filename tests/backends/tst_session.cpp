// Session files: a written session reads back equal; a corrupt file or one of another kind is refused with a message
// that says what is wrong.

#include "analysis/session/session.h"
#include "backends/base/atomic_file.h"
#include "backends/base/mapped_file.h"
#include "backends/session/hdf5_io.h"
#include "backends/session/session_hdf5.h"
#include "tests/support/files.h"
#include "tests/support/fixture.h"
#include "tests/support/sessions.h"
#include "tests/support/suite.h"

#include <QtTest>

#include <fcntl.h>
#include <hdf5.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <future>
#include <thread>

using namespace secateur;
using namespace secateur::test;

namespace {

bool same(const Matrix& a, const Matrix& b) {
    const auto equal = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
    return a.rows() == b.rows() && a.columns() == b.columns() &&
           std::equal(a.values().begin(), a.values().end(), b.values().begin(), equal);
}

void compare(const MetricResult& a, const MetricResult& b) {
    QCOMPARE(QString::fromStdString(a.request.resultId()), QString::fromStdString(b.request.resultId()));
    QCOMPARE(a.request.info, b.request.info);
    QVERIFY(same(a.values, b.values));
    QCOMPARE(a.standardError.has_value(), b.standardError.has_value());
    QVERIFY(!a.standardError || same(*a.standardError, *b.standardError));
    QVERIFY(a.measurement == b.measurement);
    QCOMPARE(a.seconds, b.seconds);
    QCOMPARE(a.warnings, b.warnings);
}

void compare(const ModelCard& a, const ModelCard& b) {
    QCOMPARE(a.path, b.path);
    QCOMPARE(a.format, b.format);
    QCOMPARE(a.name, b.name);
    QCOMPARE(a.parameters, b.parameters);
    QCOMPARE(a.bytes, b.bytes);
    QCOMPARE(a.dtype, b.dtype);
    QCOMPARE(a.tokenizer, b.tokenizer);
    QCOMPARE(a.fingerprint, b.fingerprint);
    QCOMPARE(a.warnings, b.warnings);
    QVERIFY(a.spec == b.spec);
}

/// The names of all entries of the folder, including hidden ones.
QStringList listing(const Scratch& scratch) {
    return QDir(scratch.path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
}

} // namespace

class TestSession : public QObject {
    Q_OBJECT

private slots:
    void everyArchitectureComesBack() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        for (const QString& folder : fixtures()) {
            const Session written{fixture(folder)->card(), {}, {}, "2026-11-21T10:00:00Z"};
            writeSession(written, path);
            compare(readSession(path).model, written.model);
            if (QTest::currentTestFailed())
                QFAIL(qPrintable(folder));
        }
    }
    void aSessionOfTheFirstVersionOpens() {
        const Session read = readSession(data().filePath("sessions/version-1.h5").toStdString());
        QCOMPARE(read.model.spec, fixture("mha-f32")->spec());
        QCOMPARE(read.results.size(), std::size_t(2));
        QCOMPARE(read.results[1].values.columns(), std::size_t(3));
    }
    void everythingComesBackInTheOrderItWasMade() {
        const Scratch scratch;
        const Session written = raggedSession();
        const std::string path = scratch.path("s.h5").toStdString();
        writeSession(written, path);
        const Session read = readSession(path);
        compare(read.model, written.model);
        QCOMPARE(read.created, written.created);
        QCOMPARE(read.view, written.view);
        QCOMPARE(read.results.size(), written.results.size());
        for (std::size_t i = 0; i < read.results.size(); ++i)
            compare(read.results[i], written.results[i]);
        compare(*read.latest("gate_norm_head"), written.results[3]);
        QCOMPARE(listing(scratch), QStringList{"s.h5"});
    }

    void writingAgainReplacesTheSession() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        Session session = raggedSession();
        writeSession(session, path);
        session.results.resize(1);
        session.view.clear();
        writeSession(session, path);
        QCOMPARE(readSession(path).results.size(), 1);
        QVERIFY(readSession(path).view.empty());
    }

    void resultsAreAddedAndTheSameMeasurementReplaced() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        const Session first = raggedSession();
        addToSession(first, path); // creates the file
        Session more;
        more.model = first.model;
        // Replaces the result of the same measurement.
        more.results = {result("gate_norm_head", first.model.spec, 9),
                        result("gate_norm_headwise", first.model.spec, 10)}; // added
        more.results[0].measurement.created = "2026-11-22T00:00:00Z";
        addToSession(more, path);

        const Session read = readSession(path);
        QCOMPARE(read.results.size(), 5);
        compare(read.results[2], first.results[3]);
        compare(read.results[3], more.results[0]);
        compare(read.results[4], more.results[1]);
        compare(*read.latest("gate_norm_head"), more.results[0]);
        QCOMPARE(read.view, first.view);
        QCOMPARE(read.created, first.created);
    }

    void standardErrorsComeBackForWhatIsExactToo() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        Session session = raggedSession();
        Matrix errors(3, 1, 0.125);
        errors(1, 0) = 0;
        errors(2, 0) = missing; // the cell has no value and no standard error
        session.results[1].standardError = errors;
        writeSession(session, path);
        const MetricResult read = *readSession(path).latest("gate_norm");
        QVERIFY(same(*read.standardError, errors));
        QCOMPARE(read.errorAt(0, 0), 0.125);
        QCOMPARE(read.errorAt(1, 0), 0.0);
        QCOMPARE(read.errorAt(2, 0), 0.0);
    }

    void aReplacedStandardErrorDoesNotStay() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        Session session = raggedSession();
        writeSession(session, path);
        session.results = {session.results[2]};
        session.results[0].standardError.reset();
        addToSession(session, path);
        QVERIFY(!readSession(path).latest("gate_norm_group:fold_norm=true")->standardError);
    }

    void addingKeepsWhatThisVersionDoesNotKnow() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        writeSession(raggedSession(), path);
        change(path, [](const hdf5::Handle& file) { hdf5::writeText(hdf5::group(file, "notes"), "text", "by hand"); });
        addToSession(raggedSession(), path);
        QCOMPARE(hdf5::readText(hdf5::openGroup(hdf5::openImage(bytesOf(contents(path))), "notes"), "text"), "by hand");
    }

    void aMetricOfAnotherVersionIsKeptWithItsDescription() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        Session session = raggedSession();
        session.results.resize(1);
        writeSession(session, path);
        change(path, [](const hdf5::Handle& file) {
            const hdf5::Handle group = hdf5::openGroup(hdf5::openGroup(file, "metrics"), "gate_norm_head");
            const hdf5::Handle dataset = hdf5::openDataset(group, "0");
            hdf5::writeText(dataset, "result_id", "head_mood:key=3:visible_only=true");
            hdf5::writeText(dataset, "title", "sink score");
            hdf5::writeText(dataset, "needs", "forward");
            hdf5::writeText(dataset, "prune_first", "high");
        });
        const Session read = readSession(path);
        const std::string copy = scratch.path("copy.h5").toStdString();
        writeSession(read, copy);
        const Session again = readSession(copy);
        const MetricResult* sink = again.latest("head_mood:key=3:visible_only=true");
        QVERIFY(sink);
        QCOMPARE(sink->request.info->title, "sink score");
        QCOMPARE(sink->request.info->needs, Needs::forward);
        QCOMPARE(sink->request.info->pruneFirst, PruneFirst::high);
        QCOMPARE(sink->request.info, read.results[0].request.info); // both point to the same row of the metric table
        QVERIFY(same(sink->values, session.results[0].values));
    }

    void aSessionOfAnotherModelIsRefusedAndUnharmed() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        writeSession(raggedSession(), path);
        const QByteArray before = contents(path);
        Session other = raggedSession();
        other.model.name = "Other";
        other.model.fingerprint = "sha256:beef";
        const QString expected = "s.h5: is a session of Ragged é (sha256:feed), not of Other (sha256:beef). Write to "
                                 "another file";
        QCOMPARE(scratch.refusal([&] { addToSession(other, path); }), expected);
        QCOMPARE(scratch.refusal([&] { checkCanAdd(other.model, path); }), expected);
        QCOMPARE(contents(path), before);
        QCOMPARE(listing(scratch), QStringList{"s.h5"});
        QCOMPARE(scratch.refusal([&] { checkCanAdd(raggedModel(), path); }), "accepted");
    }

    void whatIsNoWholeFileIsRefused() {
        const Scratch scratch;
        const auto refusal = [&](const std::string& path) { return scratch.refusal([&] { readSession(path); }); };
        QCOMPARE(refusal(scratch.path("none.h5").toStdString()),
                 "none.h5: cannot be opened: No such file or directory");
        QCOMPARE(refusal(scratch.write("empty.h5", {})), "empty.h5: is empty");
        QCOMPARE(refusal(scratch.write("text.h5", "not a session\n")), "text.h5: is not an HDF5 file");
        QCOMPARE(refusal(scratch.path().toStdString()), "FOLDER: is not a regular file");
        const std::string whole = scratch.path("whole.h5").toStdString();
        writeSession(raggedSession(), whole);
        const QByteArray bytes = contents(whole);
        for (const qsizetype size : {qsizetype{8}, qsizetype{60}, qsizetype{96}, bytes.size() / 2, bytes.size() - 200})
            QCOMPARE(refusal(scratch.write("cut.h5", bytes.first(size))),
                     "cut.h5: cannot be opened as HDF5: it is cut short or damaged");
        QCOMPARE(refusal(scratch.write("cut.h5", bytes.first(7))), "cut.h5: is not an HDF5 file");
    }

    void aFailedWriteLeavesTheOldFile() {
        const Scratch scratch;
        const std::string path = scratch.write("kept.csv", "layer,value\r\n0,1\r\n");
        {
            const AtomicFile abandoned(path, FileKind::csv);
            QFile half(QString::fromStdString(abandoned.path()));
            QVERIFY(half.open(QIODevice::WriteOnly) && half.write("new") == 3);
        }
        QCOMPARE(contents(path), "layer,value\r\n0,1\r\n");
        QCOMPARE(listing(scratch), QStringList{"kept.csv"});
        writeWhole(path, "new", FileKind::csv);
        QCOMPARE(contents(path), "new");
        QCOMPARE(listing(scratch), QStringList{"kept.csv"});
    }

    void aFullDiskLeavesTheOldFile() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        writeSession(raggedSession(), path);
        const QByteArray before = contents(path);
        // A limit on the size of files makes a write fail like on a full disk, as soon as the file would exceed 4096
        // bytes.
        rlimit usual{};
        getrlimit(RLIMIT_FSIZE, &usual);
        const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
        const rlimit tight{4096, usual.rlim_max};
        setrlimit(RLIMIT_FSIZE, &tight);
        const QString session = scratch.refusal([&] { writeSession(raggedSession(), path); });
        const QString text = scratch.refusal([&] { writeWhole(path, std::string(5000, 'x'), FileKind::session); });
        setrlimit(RLIMIT_FSIZE, &usual);
        std::signal(SIGXFSZ, ignored);
        QCOMPARE(session, "s.h5: cannot be written: File too large. Nothing was changed");
        QCOMPARE(text, "s.h5: cannot be written: File too large. Nothing was changed");
        QCOMPARE(contents(path), before);
        QCOMPARE(listing(scratch), QStringList{"s.h5"});
        writeSession(raggedSession(), path); // writing works again without the limit
    }

    void placesThatCannotBeWrittenAreRefusedAtOnce() {
        const Scratch scratch;
        const auto refusal = [&](const QString& name) {
            return scratch.refusal([&] { AtomicFile(scratch.path(name).toStdString(), FileKind::session); });
        };
        QCOMPARE(refusal("no/s.h5"), "no/s.h5: cannot be written: there is no folder no. Make it first");
        QVERIFY(QDir(scratch.path()).mkdir("folder"));
        QCOMPARE(refusal("folder"), "folder: cannot be written: it is a folder. Name a file");
        QCOMPARE(scratch.refusal([] { AtomicFile("/dev/null", FileKind::session); }),
                 "/dev/null: cannot be written: it is not a regular file. Name another file");
        if (geteuid() == 0)
            return; // root may write read-only files, so the rest cannot be tested
        const std::string path = scratch.write("locked.h5", "old");
        QFile::setPermissions(QString::fromStdString(path), QFile::ReadOwner);
        QCOMPARE(refusal("locked.h5"), "locked.h5: cannot be written: Permission denied. Nothing was changed");
    }

    void linksAndPermissionsStayAsTheyWere() {
        const Scratch scratch;
        const std::string path = scratch.write("real.csv", "layer,value\r\n0,1\r\n");
        const auto mode = QFile::ReadOwner | QFile::WriteOwner | QFile::ReadUser | QFile::WriteUser;
        QVERIFY(QFile::setPermissions(QString::fromStdString(path), mode));
        QVERIFY(QFile::link("real.csv", scratch.path("link.csv")));
        writeWhole(scratch.path("link.csv").toStdString(), "new", FileKind::csv);
        QCOMPARE(contents(path), "new");
        QVERIFY(QFileInfo(scratch.path("link.csv")).isSymLink());
        QCOMPARE(QFile::permissions(QString::fromStdString(path)), mode);
    }

    void aSessionThatAnotherProgramWritesIsNamed() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        writeSession(raggedSession(), path);
        const hdf5::Handle other(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose); // as h5py with mode "r+"
        const QString expected = "s.h5: is open for writing in another program. Close it there and try again";
        QCOMPARE(scratch.refusal([&] { readSession(path); }), expected);
        QCOMPARE(scratch.refusal([&] { addToSession(raggedSession(), path); }), expected);
        QCOMPARE(scratch.refusal([&] { checkCanAdd(raggedSession().model, path); }), expected);
        QCOMPARE(scratch.refusal([&] { writeSession(raggedSession(), path); }), expected);
    }

    void onlySessionsAreReplacedBySessions() {
        const Scratch scratch;
        for (const QByteArray& content : {QByteArray("{\"model_type\":\"llama\"}"), QByteArray("notes"),
                                          QByteArray("\x89HDF\r\n\x1a\nweights of Keras")}) {
            const std::string path = scratch.write("there.h5", content);
            const QString expected =
                "there.h5: exists and is not a session. Choose another name, or remove the file before";
            QCOMPARE(scratch.refusal([&] { writeSession(raggedSession(), path); }), expected);
            QCOMPARE(scratch.refusal([&] { addToSession(raggedSession(), path); }), expected);
            QCOMPARE(contents(path), content);
        }
        const std::string empty = scratch.write("there.h5", "");
        writeSession(raggedSession(), empty); // as made by mktemp
        QCOMPARE(readSession(empty).results.size(), 4);
    }

    void writersWaitForEachOther() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        const int other = open(scratch.path(".s.h5.lock").toUtf8().constData(), O_RDWR | O_CREAT, 0600);
        QCOMPARE(flock(other, LOCK_EX), 0);
        auto writing = std::async(std::launch::async, [&] { addToSession(raggedSession(), path); });
        QCOMPARE(writing.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
        QVERIFY(!QFile::exists(QString::fromStdString(path)));
        QVERIFY(QFile::remove(scratch.path(".s.h5.lock")));
        close(other);
        writing.get();
        QCOMPARE(readSession(path).results.size(), 4);
        QCOMPARE(listing(scratch), QStringList{"s.h5"});
    }

    void aWriterThatDoesNotEndIsNamed() {
        const Scratch scratch;
        const std::string path = scratch.write("s.h5", "old");
        const FileLock other(path);
        QCOMPARE(scratch.refusal([&] { FileLock(path, std::chrono::milliseconds(60)); }),
                 "s.h5: is being written by another Secateur. Try again when it is done");
        QVERIFY(QFile::exists(scratch.path(".s.h5.lock"))); // the lock file stays, because `other` still holds the lock
    }

    void manyWritersLoseNothing() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        std::vector<std::jthread> writers;
        for (int i = 0; i < 8; ++i)
            writers.emplace_back([&path, i] {
                Session session = raggedSession();
                session.results.resize(1);
                session.results[0].measurement.dataDigest = std::to_string(i);
                addToSession(session, path);
            });
        writers.clear();
        QCOMPARE(readSession(path).results.size(), 8);
    }

    void everyDamagedByteIsNoticed() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        Session session = raggedSession();
        session.view.erase("layout");
        writeSession(session, path);
        const QByteArray whole = contents(path);
        std::uint32_t state = 1;
        const auto next = [&state] { return state = state * 1664525 + 1013904223; };
        for (int round = 0; round < 300; ++round) {
            QByteArray bytes = whole;
            char& byte = bytes.data()[static_cast<qsizetype>(next() >> 8) % (bytes.size() - sealBytes)];
            byte = static_cast<char>(byte ^ (1 << (round % 8)));
            const std::string damaged = scratch.write("damaged.h5", bytes);
            QCOMPARE(
                scratch.refusal([&] { readSession(damaged); }),
                "damaged.h5: is damaged: its bytes do not match its checksum. Copy it again from where it came from");
        }
        QCOMPARE(scratch.refusal([&] { readSession(scratch.write("bare.h5", whole.chopped(sealBytes))); }), "accepted");
    }

    void noDamageToAFileWithoutItsChecksumHarms() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        Session session = raggedSession();
        session.view.erase("layout");
        writeSession(session, path);
        const QByteArray bare = contents(path).chopped(sealBytes);
        std::uint32_t state = 7;
        const auto next = [&state](qsizetype below) {
            state = state * 1664525 + 1013904223;
            return static_cast<qsizetype>(state >> 8) % below;
        };
        std::map<QString, int> counts;
        const auto count = [&](const QByteArray& bytes) {
            const auto file = MappedFile::inMemory("bare.h5", {bytesOf(bytes).begin(), bytesOf(bytes).end()});
            const QString said = scratch.refusal([&] { readSession(*file); });
            QVERIFY(said == "accepted" || said.startsWith("bare.h5: "));
            const bool ended = said == "bare.h5: is damaged: HDF5 cannot read all of it. Copy it again from its source";
            ++counts[ended ? "crashed or stalled HDF5, refused" : said == "accepted" ? "accepted" : "refused"];
        };
        for (int round = 0; round < 500; ++round) {
            QByteArray bytes = bare;
            char& byte = bytes.data()[next(bytes.size())];
            byte = static_cast<char>(round % 2 == 0 ? byte ^ (1 << (round / 2 % 8)) : next(256));
            count(bytes);
        }
        qInfo() << bare.size() << "bytes without a checksum, one byte changed in 500 ways:" << counts;
        counts.clear();
        for (int round = 0; round < 100; ++round)
            count(bare.first(1 + next(bare.size() - 1)));
        qInfo() << "cut short in 100 ways:" << counts;
        QCOMPARE(counts["accepted"], 0);
    }

    void whatAnotherProgramChangedStillOpens() {
        const Scratch scratch;
        const std::string path = scratch.path("s.h5").toStdString();
        writeSession(raggedSession(), path);
        change(path, [](const hdf5::Handle& file) { hdf5::writeText(file, "created", "2027-01-01T00:00:00Z"); });
        QCOMPARE(readSession(path).created, "2027-01-01T00:00:00Z");
    }
};

SECATEUR_SUITE(TestSession)
#include "tst_session.moc"
