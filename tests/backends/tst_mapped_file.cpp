// Memory-mapped files that are truncated while they are open: the lost part reads as zeros, and the truncation is
// reported.

#ifndef Q_MOC_RUN
#include "backends/base/mapped_file.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <QProcess>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

using namespace secateur;
using test::Scratch;

namespace {

constexpr int fileBytes = 1 << 20;

/// The sum of the last byte of every 512, read from the end of the file. Every page is read, so the test fails if only
/// the first lost page is replaced by zeros.
int sum(std::span<const std::byte> bytes) {
    constexpr std::size_t step = 512;
    int total = 0;
    for (std::size_t i = bytes.size(); i >= step; i -= step)
        total += std::to_integer<int>(*const_cast<const volatile std::byte*>(&bytes[i - 1]));
    return total;
}

std::atomic<int> othersSignals = 0;
constexpr int secondSignal = 42; ///< exit status of the process after its second SIGBUS signal

} // namespace

class TestMappedFile : public QObject {
    Q_OBJECT

private slots:
    void aFileThatStaysIsWhole() {
        const Scratch scratch;
        const auto file = MappedFile::open(scratch.write("f", QByteArray(fileBytes, '\x01')));
        QCOMPARE(sum(file->bytes()), fileBytes / 512);
        QCOMPARE(scratch.refusal([&] { file->checkWhole(); }), "accepted");
    }

    void aFileThatShrinksReadsAsZerosOnEveryThread() {
        const Scratch scratch;
        const std::string path = scratch.write("f", QByteArray(fileBytes, '\x01'));
        const auto file = MappedFile::open(path);
        const auto untouched = MappedFile::open(scratch.write("g", QByteArray(fileBytes, '\x01')));
        QCOMPARE(sum(file->bytes()), fileBytes / 512);
        QCOMPARE(::truncate(path.c_str(), 10'000), 0);
        std::atomic<int> total = 0;
        {
            std::vector<std::jthread> readers;
            for (int i = 0; i < 8; ++i)
                readers.emplace_back([&] { total += sum(file->bytes()); });
        }
        // All bytes of the file are 1 and the first 10,000 remain. Each of the 8 threads adds up one byte of every 512.
        QCOMPARE(total.load(), 8 * (10'000 / 512));
        const QString sentence = "f: was cut short while it was open: it had 1048576 bytes and has 10000. Open it "
                                 "again when it is complete";
        QCOMPARE(scratch.refusal([&] { file->checkWhole(); }), sentence);
        QCOMPARE(scratch.refusal([&] { untouched->checkWhole(); }), "accepted");
        qInfo() << "8 threads read on;" << sentence;
    }

    void aLossIsToldEvenWhenTheFileIsLongAgain() {
        const Scratch scratch;
        const std::string path = scratch.write("f", QByteArray(fileBytes, '\x01'));
        const auto file = MappedFile::open(path);
        QCOMPARE(::truncate(path.c_str(), 0), 0);
        QCOMPARE(sum(file->bytes()), 0);
        QCOMPARE(::truncate(path.c_str(), fileBytes), 0);
        QCOMPARE(scratch.refusal([&] { file->checkWhole(); }),
                 "f: could not be read completely: it changed, or its disk failed, while it was open. Open it again");
        QCOMPARE(scratch.refusal([&] { MappedFile::open(path)->checkWhole(); }), "accepted");
    }

    void aFileThatIsReplacedStaysWhole() {
        const Scratch scratch;
        const auto file = MappedFile::open(scratch.write("f", QByteArray(fileBytes, '\x01')));
        scratch.write("new", "short");
        QVERIFY(QFile::remove(scratch.path("f")) && QFile::rename(scratch.path("new"), scratch.path("f")));
        QCOMPARE(sum(file->bytes()), fileBytes / 512);
        QCOMPARE(scratch.refusal([&] { file->checkWhole(); }), "accepted");
    }

    void bytesInMemoryPassForAFile() {
        const auto file = MappedFile::inMemory("f", {std::byte{1}, std::byte{2}});
        QCOMPARE(file->path(), "f");
        QCOMPARE(file->bytes().size(), std::size_t{2});
        file->checkWhole();
        const Scratch scratch;
        QCOMPARE(scratch.refusal([] { MappedFile::inMemory("f", {}); }), "f: is empty");
    }

    void mappingsComeAndGoWhileOthersLoseTheirPages() {
        const Scratch scratch;
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&scratch, i] {
                for (int round = 0; round < 50; ++round) {
                    const std::string path =
                        scratch.write(QString::number(i), QByteArray(i % 2 == 0 ? fileBytes : 20'000, '\x01'));
                    const auto file = MappedFile::open(path);
                    if (::truncate(path.c_str(), i % 2 == 0 ? 4096 : 20'000) != 0 ||
                        sum(file->bytes()) != (i % 2 == 0 ? 8 : 39))
                        qFatal("a mapping took another's loss");
                }
            });
    }

    void anotherBusErrorGoesToWhomItBelongs() {
        if (qEnvironmentVariableIsEmpty("SECATEUR_TEST_ALONE")) {
            // The test runs in a process of its own, because it must install its signal handler before any file is
            // mapped.
            qputenv("SECATEUR_TEST_ALONE", "1");
            const QStringList arguments{"mapped_file", "-nocrashhandler", QTest::currentTestFunction()};
            const int status = QProcess::execute(QFileInfo("/proc/self/exe").symLinkTarget(), arguments);
            qunsetenv("SECATEUR_TEST_ALONE");
            QCOMPARE(status, secondSignal);
            return;
        }
        const Scratch scratch;
        const std::string path = scratch.write("f", QByteArray(10'000, 'x'));
        std::signal(SIGBUS, [](int) {
            if (++othersSignals == 2)
                _exit(secondSignal);
        });
        const auto guarded = MappedFile::open(path);
        QCOMPARE(std::raise(SIGBUS), 0);
        QCOMPARE(othersSignals.load(), 1);
        const int descriptor = ::open(path.c_str(), O_RDONLY);
        void* unguarded = ::mmap(nullptr, 10'000, PROT_READ, MAP_SHARED, descriptor, 0);
        QCOMPARE(::truncate(path.c_str(), 0), 0);
        QCOMPARE(sum(guarded->bytes()), 0);
        QCOMPARE(sum({static_cast<const std::byte*>(unguarded), 10'000}), 0);
        QFAIL("the unguarded mapping read as zeros");
    }
};

SECATEUR_SUITE(TestMappedFile)
#include "tst_mapped_file.moc"
