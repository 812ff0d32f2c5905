// Residual streams in memory and in a file.

#ifndef Q_MOC_RUN
#include <ATen/ATen.h>

#include "analysis/running/stream_store.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <vector>

using namespace secateur;
using namespace secateur::test;

class TestStreamStore : public QObject {
    Q_OBJECT

private slots:
    void streamsComeBackAsTheyWere() {
        constexpr std::int64_t bytes = 2 * 3 * 5 * 4; // of a stream
        for (const std::int64_t most : {std::int64_t{0}, 2 * bytes, 100 * bytes}) {
            constexpr std::size_t batches = 5;
            StreamStore store(batches, most);
            std::vector<at::Tensor> streams;
            for (int layer = 0; layer < 3; ++layer)
                for (std::size_t batch = 0; batch < batches; ++batch) {
                    if (layer > 0)
                        QVERIFY(store.take(batch).equal(streams[batch]));
                    else
                        streams.emplace_back();
                    streams[batch] = at::rand({2, 5, 3}).transpose(1, 2); // not contiguous
                    store.put(batch, streams[batch]);
                }
            const std::int64_t inMemory = std::min<std::int64_t>(most / bytes, batches);
            QCOMPARE(store.bytesInFile(), (batches - inMemory) * bytes);
        }
    }

    void aFolderThatIsMissingIsNamed() {
        const Scratch scratch;
        const QByteArray before = qgetenv("TMPDIR");
        qputenv("TMPDIR", scratch.path("none").toUtf8());
        StreamStore store(1, 0);
        const QString said = scratch.refusal([&] { store.put(0, at::zeros({4})); });
        before.isEmpty() ? qunsetenv("TMPDIR") : qputenv("TMPDIR", before);
        QVERIFY2(said.contains("cannot hold a temporary file") && said.contains("No such file or directory"),
                 qPrintable(said));
    }
};

SECATEUR_SUITE(TestStreamStore)
#include "tst_stream_store.moc"
