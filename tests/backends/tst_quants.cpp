// Dequantisation of blocks, bit for bit as in gguf-py (data/make_format_fixtures.py).

#ifndef Q_MOC_RUN
#include "backends/formats/quants.h"
#include "backends/base/runtime.h"
#include "tests/support/expected.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <QCryptographicHash>

#include <cmath>
#include <limits>

using namespace secateur;
using namespace secateur::test;

namespace {

const StorageType* typeNamed(std::string_view name) {
    for (std::uint32_t number = 0; number < 64; ++number) {
        if (const StorageType* type = ggufType(number); type && type->name == name)
            return type;
    }
    return nullptr;
}

std::span<const std::byte> bytesOf(const QByteArray& bytes) {
    return std::as_bytes(std::span(bytes.constData(), static_cast<std::size_t>(bytes.size())));
}

std::vector<float> unpacked(const StorageType& type, const QByteArray& blocks) {
    std::vector<float> numbers(static_cast<std::size_t>(blocks.size() / type.bytes * type.elements));
    dequantise(type, bytesOf(blocks), numbers);
    return numbers;
}

} // namespace

class TestQuants : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { initialiseRuntime(4); }

    void blocksUnpackToTheBitsOfTheReference_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("blocks");
        QTest::addColumn<QString>("digest");
        QFile file(data().filePath("formats/quants/blocks.bin"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray all = file.readAll();
        const nlohmann::json expected = readJson(data().filePath("formats/quants/expected.json"));
        for (const auto& [name, place] : expected.items())
            QTest::newRow(name.c_str()) << QString::fromStdString(name)
                                        << all.mid(place.at("begin").get<int>(), place.at("bytes").get<int>())
                                        << QString::fromStdString(place.at("sha256").get<std::string>());
    }
    void blocksUnpackToTheBitsOfTheReference() {
        QFETCH(QString, name);
        QFETCH(QByteArray, blocks);
        QFETCH(QString, digest);
        const StorageType* type = typeNamed(name.toStdString());
        QVERIFY(type);
        QCOMPARE(blocks.size() % type->bytes, 0);
        std::vector<float> numbers = unpacked(*type, blocks);
        // All NaN values get the same bits, because the bits that arithmetic produces depend on the processor.
        for (float& number : numbers)
            number = std::isnan(number) ? std::numeric_limits<float>::quiet_NaN() : number;
        const QByteArray bytes(reinterpret_cast<const char*>(numbers.data()),
                               static_cast<int>(numbers.size() * sizeof(float)));
        QCOMPARE(QString(QCryptographicHash::hash(bytes, QCryptographicHash::Sha256).toHex()), digest);
    }

    void everyTypeThatIsUnpackedIsCompared() {
        const nlohmann::json expected = readJson(data().filePath("formats/quants/expected.json"));
        std::size_t compared = 0;
        for (std::uint32_t number = 0; number < 64; ++number) {
            const StorageType* type = ggufType(number);
            if (!type || type->reading != StorageType::Reading::dequantised)
                continue;
            QVERIFY2(expected.contains(type->name), type->name.data());
            ++compared;
        }
        QCOMPARE(compared, expected.size());
    }

    void threadsShareATensorWithoutSeams() {
        // Enough blocks for many parallel tasks. Together they must write the same values as a single thread.
        QFile file(data().filePath("formats/quants/blocks.bin"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray some = file.readAll();
        for (const char* name : {"Q5_1", "Q4_K"}) {
            const StorageType* type = typeNamed(name);
            const auto bytes = static_cast<int>(some.size() / type->bytes * type->bytes);
            const QByteArray blocks = some.left(bytes).repeated(40);
            const std::vector<float> together = unpacked(*type, blocks);
            std::vector<float> alone(together.size());
            type->unpack(bytesOf(blocks).data(), blocks.size() / type->bytes, alone.data());
            QVERIFY(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)) == 0);
        }
    }

    void typesThatCanBeReadAreListedByFormat() {
        QCOMPARE(readableTypes(*ggufType(0)),
                 "F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, I8, I16, I32, "
                 "I64, F64, BF16");
        QCOMPARE(readableTypes(*safetensorsType("F8_E4M3")), "F32, F16, BF16, F64, I64, I32, I16, I8, U8, BOOL");
    }
};

SECATEUR_SUITE(TestQuants)
#include "tst_quants.moc"
