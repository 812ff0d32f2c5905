// Safetensors files built byte by byte. The tensors of a valid file are listed; an invalid file is refused with an
// Error.

#ifndef Q_MOC_RUN
#include "backends/engine/open_model.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

using namespace secateur;
using namespace secateur::test;
using namespace secateur::test::safetensors;

class TestSafetensors : public QObject {
    Q_OBJECT

private:
    Scratch m_scratch;

private slots:
    void aWellFormedFileIsListedByName() {
        const QByteArray header = R"({"__metadata__":{"format":"pt"},
            "b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},
            "a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},
            "none":{"dtype":"F16","shape":[0,7],"data_offsets":[16,16]},
            "mask":{"dtype":"BOOL","shape":[5],"data_offsets":[16,21]}})";
        const auto list = listTensors(m_scratch.write("good.safetensors", fileOf(header, 21)));
        QCOMPARE(list.size(), std::size_t{4});
        QCOMPARE(list[0].name, "a");
        QVERIFY(list[0].shape.empty());
        QCOMPARE(list[1].name, "b");
        QCOMPARE(list[1].dtype, "BF16");
        QCOMPARE(list[1].bytes, 12);
        QCOMPARE(list[1].shape, (std::vector<std::int64_t>{2, 3}));
        QCOMPARE(list[2].dtype, "BOOL");
        QCOMPARE(list[3].bytes, 0);
        QCOMPARE(list[3].file, "good.safetensors");
    }

    void aFileCutShortAnywhereIsRefused() {
        const QByteArray whole = fileOf(oneTensor("F32", "[2]", "[0,8]"), 8);
        for (int size = 0; size < whole.size(); ++size) {
            const std::string path = m_scratch.write("cut.safetensors", whole.left(size));
            QVERIFY(m_scratch.refusal([&] { listTensors(path); }) != "accepted");
        }
    }
};

SECATEUR_SUITE(TestSafetensors)
#include "tst_safetensors.moc"
