// Rows are encoded byte for byte as gguf-py encodes them (data/make_encode_fixtures.py), and fast enough for an export.

#ifndef Q_MOC_RUN
#include "backends/formats/encode.h"
#include "tests/support/expected.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <QElapsedTimer>

#include <cstring>
#include <limits>
#include <random>

using namespace secateur;
using namespace secateur::test;

namespace {

QByteArray contentOf(const QString& name) {
    QFile file(data().filePath("formats/encode/" + name));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("cannot read %s", qPrintable(file.fileName()));
    return file.readAll();
}

std::vector<float> numbersOf(const QByteArray& bytes) {
    std::vector<float> numbers(static_cast<std::size_t>(bytes.size()) / sizeof(float));
    std::memcpy(numbers.data(), bytes.constData(), numbers.size() * sizeof(float));
    return numbers;
}

const StorageType* typeNamed(const std::string& name) {
    for (const StorageType* type : encodableTypes()) {
        if (type->name == name)
            return type;
    }
    return nullptr;
}

std::vector<std::byte> encoded(const StorageType& type, std::span<const float> numbers) {
    std::vector<std::byte> bytes(numbers.size() / static_cast<std::size_t>(type.elements) *
                                 static_cast<std::size_t>(type.bytes));
    encodeRow(type, numbers, bytes);
    return bytes;
}

std::vector<float> drawn(std::size_t count) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0.F, 0.05F);
    std::vector<float> numbers(count);
    for (float& number : numbers)
        number = normal(random);
    return numbers;
}

} // namespace

class TestEncode : public QObject {
    Q_OBJECT

private slots:
    void bytesAreThoseOfTheReference() {
        const nlohmann::json expected = readJson(data().filePath("formats/encode/expected.json"));
        const std::vector<float> numbers = numbersOf(contentOf("numbers.bin"));
        const QByteArray all = contentOf("encoded.bin");
        QCOMPARE(expected.size(), encodableTypes().size());
        for (const auto& [name, place] : expected.items()) {
            const StorageType* type = typeNamed(name);
            QVERIFY2(type, name.c_str());
            const std::vector<std::byte> found = encoded(*type, numbers);
            const QByteArray wanted = all.mid(place.at("begin").get<int>(), place.at("bytes").get<int>());
            QCOMPARE(found.size(), static_cast<std::size_t>(wanted.size()));
            int differing = 0;
            for (std::size_t i = 0; i < found.size(); ++i)
                differing += found[i] != static_cast<std::byte>(wanted[static_cast<int>(i)]);
            qInfo("%s: %zu numbers, %zu bytes, %d differ", name.c_str(), numbers.size(), found.size(), differing);
            QCOMPARE(differing, 0);
        }
    }

    void plainTypesOfSafetensorsAreWrittenToo() {
        const std::vector<float> numbers = drawn(64);
        for (const char* name : {"F32", "F16", "BF16"})
            QVERIFY(encoded(*safetensorsType(name), numbers) == encoded(*typeNamed(name), numbers));
        QVERIFY(!canEncode(*safetensorsType("F64")) && !canEncode(*ggufType(12)));
        QCOMPARE(encodableTypeNames(), "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1");
    }

    void infinitiesAndNaNStayOnlyInPlainTypes() {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        const std::vector<float> numbers{infinity, -infinity, std::numeric_limits<float>::quiet_NaN()};
        QVERIFY(encoded(*typeNamed("F32"), numbers) ==
                std::vector(std::as_bytes(std::span(numbers)).begin(), std::as_bytes(std::span(numbers)).end()));
        const std::vector<std::byte> upper = encoded(*typeNamed("BF16"), numbers);
        QCOMPARE(QByteArray(reinterpret_cast<const char*>(upper.data()), 6).toHex(), QByteArray("807f80ffc07f"));
    }

    void numbersWithoutAFiniteFormAreRefused_data() {
        QTest::addColumn<QString>("type");
        QTest::addColumn<float>("number");
        QTest::addColumn<QString>("message");
        constexpr float infinity = std::numeric_limits<float>::infinity();
        constexpr float noNumber = std::numeric_limits<float>::quiet_NaN();
        QTest::newRow("F16 NaN") << "F16" << noNumber << "number 40 of the row is NaN, which the type F16 cannot store";
        QTest::newRow("F16 large") << "F16" << 65520.F << "number 40 of the row, 65520, is too large for the type F16";
        for (const char* type : {"Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"}) {
            QTest::addRow("%s NaN", type)
                << type << noNumber << QString("number 40 of the row is NaN, which the type %1 cannot store").arg(type);
            QTest::addRow("%s infinite", type)
                << type << -infinity
                << QString("number 40 of the row is infinite, which the type %1 cannot store").arg(type);
            QTest::addRow("%s large", type)
                << type << -1e30F << QString("number 40 of the row, -1e+30, is too large for the type %1").arg(type);
        }
    }
    void numbersWithoutAFiniteFormAreRefused() {
        QFETCH(QString, type);
        QFETCH(float, number);
        std::vector<float> numbers = drawn(64);
        numbers[40] = number;
        QTEST(Scratch().refusal([&] { encoded(*typeNamed(type.toStdString()), numbers); }), "message");
    }

    void rowsThatFitNothingAreRefused() {
        const std::vector<float> numbers(33);
        std::vector<std::byte> target(34);
        const Scratch scratch;
        QCOMPARE(scratch.refusal([&] { encodeRow(*typeNamed("Q8_0"), numbers, target); }),
                 "a row of 33 numbers does not fit 34 bytes of the type Q8_0");
        QCOMPARE(scratch.refusal([&] { encodeRow(*typeNamed("F16"), numbers, target); }),
                 "a row of 33 numbers does not fit 34 bytes of the type F16");
        QCOMPARE(scratch.refusal([&] { encodeRow(*ggufType(12), numbers, target); }),
                 "the type Q4_K cannot be written; supported are F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1");
    }

    void aCoreEncodes300MegabytesPerSecond() {
        const std::vector<float> numbers = drawn(1 << 20);
        for (const StorageType* type : encodableTypes()) {
            std::vector<std::byte> bytes = encoded(*type, numbers);
            QElapsedTimer timer;
            qint64 fastest = std::numeric_limits<qint64>::max();
            for (int round = 0; round < 5; ++round) {
                timer.start();
                encodeRow(*type, numbers, bytes);
                fastest = std::min(fastest, timer.nsecsElapsed());
            }
            const double speed =
                static_cast<double>(numbers.size() * sizeof(float)) * 1e3 / static_cast<double>(fastest);
            qInfo("%s: %.0f MB/s of float input", type->name.data(), speed);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
            QVERIFY2(speed >= 300, type->name.data());
#endif
        }
    }
};

SECATEUR_SUITE(TestEncode)
#include "tst_encode.moc"
