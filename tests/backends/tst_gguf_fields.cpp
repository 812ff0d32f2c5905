// Fields of GGUF metadata are read back with the value and the type that they were made with.

#ifndef Q_MOC_RUN
#include "backends/formats/gguf_fields.h"
#include "backends/formats/gguf_metadata.h"
#include "tests/support/files.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

using namespace secateur;
using namespace secateur::test;

namespace {

/// The metadata of a file with these fields. `bytes` must outlive it.
GgufMetadata readBack(const std::vector<GgufField>& fields, std::vector<std::byte>& bytes) {
    for (const GgufField& field : fields)
        appendField(bytes, field);
    ByteReader reader(bytes, "test");
    GgufMetadata metadata(reader, fields.size(), "test");
    if (reader.position() != bytes.size())
        qFatal("a field is longer than its value");
    return metadata;
}

QByteArray bytesOf(const GgufField& field) {
    return QByteArray(reinterpret_cast<const char*>(field.value.data()), static_cast<int>(field.value.size()));
}

} // namespace

class TestGgufFields : public QObject {
    Q_OBJECT

private slots:
    void valuesAreReadBack() {
        std::vector<std::byte> bytes;
        const std::vector<std::string> names{"a", "", "\xE2\x96\x81the"};
        const std::vector<std::string_view> views(names.begin(), names.end());
        const std::vector<std::int32_t> numbers{-1, 0, 7};
        const std::vector<std::uint32_t> counts{4'000'000'000U};
        const std::vector<float> scores{-1.5F, 0.F};
        const std::vector<std::byte> raw{std::byte{9}, std::byte{255}};
        const GgufMetadata metadata =
            readBack({fieldOf("text", "gpt2"), fieldOf("string", std::string("two words")), fieldOf("yes", true),
                      fieldOf("no", false), fieldOf("u32", 4'000'000'000U), fieldOf("i32", -5),
                      fieldOf("u64", std::uint64_t{1} << 40U), fieldOf("f32", 1e-5F), fieldOf("texts", names),
                      fieldOf("views", views), fieldOf("i32s", numbers), fieldOf("u32s", counts),
                      fieldOf("f32s", scores), fieldOf("u8s", raw), flagsFieldOf("flags", {true, false}),
                      fieldOf("none", std::span<const std::string>())},
                     bytes);
        QCOMPARE(*metadata.text("text"), std::string("gpt2"));
        QCOMPARE(*metadata.text("string"), std::string("two words"));
        QCOMPARE(*metadata.flag("yes"), true);
        QCOMPARE(*metadata.flag("no"), false);
        QCOMPARE(*metadata.integer("u32", 0, 1LL << 50), std::int64_t{4'000'000'000});
        QCOMPARE(*metadata.integer("i32", -10, 10), std::int64_t{-5});
        QCOMPARE(*metadata.integer("u64", 0, 1LL << 50), std::int64_t{1} << 40);
        QCOMPARE(*metadata.number("f32"), static_cast<double>(1e-5F));
        QVERIFY(*metadata.texts("texts") == views);
        QVERIFY(*metadata.texts("views") == views);
        QVERIFY((*metadata.integers("i32s", -1, 10) == std::vector<std::int64_t>{-1, 0, 7}));
        QVERIFY((*metadata.integers("u32s", 0, 1LL << 40) == std::vector<std::int64_t>{4'000'000'000}));
        QVERIFY(*metadata.numbers("f32s") == scores);
        QVERIFY(std::ranges::equal(*metadata.bytes("u8s"), raw));
        QCOMPARE(*metadata.arrayLength("flags"), std::uint64_t{2});
        QCOMPARE(*metadata.arrayLength("none"), std::uint64_t{0});
    }

    void bytesAreThoseOfTheFormat() {
        QCOMPARE(bytesOf(fieldOf("key", "ab")).toHex(), QByteArray("08000000"
                                                                   "0200000000000000"
                                                                   "6162"));
        QCOMPARE(bytesOf(fieldOf("key", true)).toHex(), QByteArray("07000000"
                                                                   "01"));
        QCOMPARE(bytesOf(fieldOf("key", 3U)).toHex(), QByteArray("04000000"
                                                                 "03000000"));
        QCOMPARE(bytesOf(fieldOf("key", -2)).toHex(), QByteArray("05000000"
                                                                 "feffffff"));
        QCOMPARE(bytesOf(fieldOf("key", 1.F)).toHex(), QByteArray("06000000"
                                                                  "0000803f"));
        QCOMPARE(bytesOf(fieldOf("key", std::uint64_t{1})).toHex(), QByteArray("0a000000"
                                                                               "0100000000000000"));
        const std::vector<std::int32_t> numbers{2, 0};
        QCOMPARE(bytesOf(fieldOf("key", numbers)).toHex(), QByteArray("09000000"
                                                                      "05000000"
                                                                      "0200000000000000"
                                                                      "0200000000000000"));
    }
};

SECATEUR_SUITE(TestGgufFields)
#include "tst_gguf_fields.moc"
