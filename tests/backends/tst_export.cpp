// Masked exports (checkpoints of the full shape with zeros for cut units): they give the masked model's output when
// read back, differ from the source only in the zeroed elements, and are refused where the target does not allow them.
#ifndef Q_MOC_RUN
#include "analysis/running/runner.h"
#include "backends/base/mapped_file.h"
#include "backends/export/export_files.h"
#include "backends/export/export_targets.h"
#include "backends/export/weight_cuts.h"
#include "backends/formats/formats.h"
#include "backends/formats/gguf_metadata.h"
#include "backends/formats/zip_directory.h"
#include "backends/session/mask_json.h"
#include "tests/support/command_line.h"
#include "tests/support/drawn_masks.h"
#include "tests/support/files.h"
#include "tests/support/fixture.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/rounding_noise.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace secateur;
using namespace secateur::test;

namespace {

using Bytes = std::vector<std::byte>;

ExportResult exportMasked(const Model& source, const ExportRequest& request, const Progress& progress = {}) {
    return exportModel(source, exportTarget("masked"), request, progress);
}

/// The elements of a tensor as floats, for comparing two tensors and for finding zeros.
std::vector<float> numbersOf(const TensorEntry& entry) {
    std::vector<float> numbers(static_cast<std::size_t>(entry.elements()));
    if (entry.type->unpack) {
        entry.type->unpack(entry.data.data(), entry.elements() / entry.type->elements, numbers.data());
    } else if (entry.type->name == "F32") {
        std::memcpy(numbers.data(), entry.data.data(), entry.data.size());
    } else { // of the 16-bit types only the bits are compared, so they are not converted
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            std::uint16_t bits = 0;
            std::memcpy(&bits, entry.data.data() + 2 * i, sizeof bits);
            numbers[i] = bits;
        }
    }
    return numbers;
}

bool isSame(std::span<const std::byte> a, std::span<const std::byte> b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

/// The differences between an exported checkpoint and its source.
struct Changes {
    int tensors = 0;
    int widened = 0;
    std::int64_t zeroed = 0; ///< elements that changed to 0
    std::int64_t others = 0; ///< elements that changed to another value, which is an error
    QStringList unlike;      ///< tensors whose name or shape changed, or whose type changed to other than F32
};

Changes changesOf(const std::string& source, const std::string& exported) {
    const auto before = formatOf(source).open(source, {});
    const auto after = formatOf(exported).open(exported, {});
    Changes changes;
    if (before->tensors().size() != after->tensors().size())
        changes.unlike << "another number of tensors";
    for (const TensorEntry& entry : before->tensors()) {
        const TensorEntry* found = after->find(entry.name);
        if (!found || found->shape != entry.shape || (found->type != entry.type && found->type->name != "F32")) {
            changes.unlike << QString::fromStdString(entry.name);
            continue;
        }
        changes.widened += found->type != entry.type ? 1 : 0;
        if (found->type == entry.type && isSame(entry.data, found->data))
            continue;
        ++changes.tensors;
        const std::vector<float> old = numbersOf(entry);
        const std::vector<float> now = numbersOf(*found);
        for (std::size_t i = 0; i < old.size(); ++i) {
            changes.zeroed += now[i] == 0 && old[i] != 0 ? 1 : 0;
            changes.others += now[i] != 0 && now[i] != old[i] ? 1 : 0;
        }
    }
    return changes;
}

MaskRecord recordOf(const PruningMask& mask) {
    MaskRecord record;
    record.mask = mask;
    return record;
}

QStringList namesIn(const QString& folder) {
    return QDir(folder).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot, QDir::Name);
}

QByteArray contentOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// CRC-32, computed bit by bit from its definition. It does not use the product's lookup table.
std::uint32_t crc32(std::span<const std::byte> bytes) {
    std::uint32_t value = 0xffffffff;
    for (const std::byte byte : bytes) {
        value ^= std::to_integer<std::uint32_t>(byte);
        for (int bit = 0; bit < 8; ++bit)
            value = (value & 1U) != 0 ? value >> 1U ^ 0xedb88320U : value >> 1U;
    }
    return ~value;
}

/// Splits a GGUF file into two parts: the first has only metadata, the second has all tensors.
std::pair<QByteArray, QByteArray> splitGguf(const std::string& path) {
    const auto file = MappedFile::open(path);
    ByteReader reader(file->bytes(), path);
    reader.take(8, "");
    const std::uint64_t tensors = reader.u64("");
    const std::uint64_t pairs = reader.u64("");
    const std::size_t begin = reader.position();
    const GgufMetadata metadata(reader, pairs, path);
    const QByteArray all = contentOf(QString::fromStdString(path));
    const auto middle = static_cast<qsizetype>(reader.position());
    for (std::uint64_t i = 0; i < tensors; ++i) {
        reader.text("");
        reader.take(std::uint64_t{8} * reader.u32(""), "");
        reader.take(4 + 8, "");
    }
    const auto end = static_cast<qsizetype>(reader.position());
    const auto split = [&](quint16 number) {
        return gguf::pair("split.no", gguf::u16, little(number)) +
               gguf::pair("split.count", gguf::u16, little<quint16>(2)) +
               gguf::pair("split.tensors.count", gguf::i32, little(static_cast<qint32>(tensors)));
    };
    const auto padded = [](QByteArray bytes) { return bytes + QByteArray((32 - bytes.size() % 32) % 32, '\0'); };
    const QByteArray head = "GGUF" + little<quint32>(3);
    const QByteArray first =
        padded(head + little<quint64>(0) + little<quint64>(pairs + 3) +
               all.mid(static_cast<qsizetype>(begin), middle - static_cast<qsizetype>(begin)) + split(0));
    const QByteArray second =
        padded(head + little(tensors) + little<quint64>(3) + split(1) + all.mid(middle, end - middle));
    return {first, second + all.mid((end + 31) / 32 * 32)};
}

/// A checkpoint in which tensor `name` refers to the bytes of tensor `as`, like tied weights in a PyTorch state dict.
class TiedCheckpoint : public Checkpoint {
public:
    TiedCheckpoint(const Checkpoint& plain, const std::string& name, const std::string& as)
        : Checkpoint(tied(plain, name, as)) {}
    CheckpointDescription describe() const override { return {}; }

private:
    static std::vector<TensorEntry> tied(const Checkpoint& plain, const std::string& name, const std::string& as) {
        std::vector<TensorEntry> entries(plain.tensors().begin(), plain.tensors().end());
        for (TensorEntry& entry : entries)
            if (entry.name == name)
                entry.data = plain.find(as)->data;
        return entries;
    }
};

/// Copies the files of fixture `folder` to the folder `as` in `scratch`, so that a test can change them. Returns the
/// path of the copy.
std::string copyOfFixture(const Scratch& scratch, const QString& folder, const QString& as) {
    QDir().mkpath(scratch.path(as));
    const QDir from(data().filePath(folder));
    for (const QString& name : from.entryList(QDir::Files))
        QFile::copy(from.filePath(name), scratch.path(as) + "/" + name);
    return scratch.path(as).toStdString();
}

} // namespace

class TestExport : public QObject {
    Q_OBJECT

private:
    /// A random mask. @param keep the probability that a head or neuron is kept. Some whole sublayers and blocks are
    /// dropped as well.
    static PruningMask maskOf(const Model& model, double keep = 0.6, unsigned seed = 1) {
        return DrawnMasks(model.spec(), seed).next(keep);
    }

private slots:
    void numbersOfEveryTypeBecomeZeroAlone_data() {
        QTest::addColumn<int>("number");
        for (int number = 0; number < 31; ++number)
            if (const StorageType* type = ggufType(static_cast<std::uint32_t>(number));
                type && (type->unpack || type->elements == 1))
                QTest::addRow("%.*s", int(type->name.size()), type->name.data()) << number;
    }
    void numbersOfEveryTypeBecomeZeroAlone() {
        QFETCH(int, number);
        const StorageType& type = *ggufType(static_cast<std::uint32_t>(number));
        if (!type.unpack)
            return;
        std::mt19937 random(2);
        constexpr std::int64_t blocks = 3;
        const std::int64_t width = blocks * type.elements;
        int tried = 0;
        for (int draw = 0; draw < 400; ++draw) {
            Bytes row(static_cast<std::size_t>(blocks * type.bytes));
            for (std::byte& byte : row)
                byte = static_cast<std::byte>(random());
            std::vector<float> before(static_cast<std::size_t>(width));
            type.unpack(row.data(), blocks, before.data());
            const std::int64_t grid = draw % 2 == 0 ? 16 : 1;
            const std::int64_t begin = static_cast<std::int64_t>(random()) % (width / grid) * grid;
            const std::int64_t end = begin + grid * (1 + static_cast<std::int64_t>(random()) % (width / grid));
            const NumberRange range{begin, std::min(end, width)};
            // The scales of random blocks may be infinite or NaN. Multiplied by a quantised 0 they do not give 0.
            if (!canZero(type, range) || !std::ranges::all_of(before, [](float value) { return std::isfinite(value); }))
                continue;
            ++tried;
            zeroNumbers(type, row, range);
            std::vector<float> after(before.size());
            type.unpack(row.data(), blocks, after.data());
            for (std::int64_t i = 0; i < width; ++i) {
                const auto at = static_cast<std::size_t>(i);
                QCOMPARE(after[at], i >= range.begin && i < range.end ? 0.0F : before[at]);
            }
        }
        qInfo("%d ranges", tried);
        QVERIFY(tried > 20);
        QVERIFY(canZero(type, {0, type.elements}));
        QVERIFY(canZero(type, {32, 64}));
        QCOMPARE(canZero(type, {3, 17}), type.name.ends_with("_0") || type.name == "Q3_K" || type.name == "Q6_K");
    }

    void everyFixtureReadsBackAsTheMaskedModel_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("file");
        for (const QString& folder : fixtures())
            for (const QString& file : filesOf(folder))
                QTest::addRow("%s/%s", qPrintable(folder), qPrintable(file)) << folder << file;
        const QDir folders(data().filePath("forward"));
        for (const QString& folder : folders.entryList(QDir::Dirs | QDir::NoDotAndDotDot))
            for (const QString file : {"model.safetensors", "model.gguf"})
                if (folders.exists(folder + "/" + file))
                    QTest::addRow("forward/%s/%s", qPrintable(folder), qPrintable(file)) << "forward/" + folder << file;
    }
    void everyFixtureReadsBackAsTheMaskedModel() {
        QFETCH(QString, folder);
        QFETCH(QString, file);
        const auto model = fixture(folder, file);
        const Scratch scratch;
        double worst = 0;
        double limit = 1e-5; // lower than the limit of the product's own check, because these models are small
        for (const unsigned seed : {1U, 2U}) {
            const PruningMask mask = maskOf(*model, seed == 1 ? 0.7 : 0.3, seed);
            limit = test::roundingLimit(*model, mask, limit);
            const bool isGguf = model->card().format == "gguf";
            const std::string target = scratch.path(QString("%1%2").arg(seed).arg(isGguf ? ".gguf" : "")).toStdString();
            const ExportResult result = exportMasked(*model, {recordOf(mask), target});
            worst = std::max(worst, result.verified.relative());
            const bool isFolder = isGguf || QFileInfo(QString::fromStdString(model->card().path)).isDir();
            const Changes changes =
                changesOf(model->card().path, isFolder ? target : target + "/" + file.toStdString());
            QVERIFY2(changes.unlike.isEmpty(), qPrintable(changes.unlike.join(", ")));
            QCOMPARE(changes.others, 0);
            QVERIFY(changes.zeroed > 0);
            const auto widened = [](const std::string& text) {
                return text.find("is stored as F32") != std::string::npos;
            };
            QCOMPARE(std::ranges::count_if(result.warnings, widened), changes.widened);
            QVERIFY(changes.widened == 0 || folder == "gqa-q4_1-gguf");
        }
        qInfo("worst difference %.1e of the largest logit, at most %.1e is rounding", worst, limit);
        QVERIFY(worst <= limit);
    }

    void maskAndCardLieBesideIt() {
        const Scratch scratch;
        const auto model = fixture("gqa-f32");
        MaskRecord record = recordOf(maskOf(*model));
        record.note = "a note";
        const std::string target = scratch.path("out").toStdString();
        const ExportResult result = exportMasked(*model, {record, target, false, {"perplexity 12.3"}});
        QCOMPARE(namesIn(scratch.path("out")),
                 (QStringList{"README.md", "config.json", "expected.json", "model.mask.json", "model.safetensors"}));
        const MaskReading mask = readMask(target + "/model.mask.json", model->spec(), model->fingerprint());
        QVERIFY(mask.warnings.empty());
        QVERIFY(mask.record.mask == record.mask);
        QVERIFY(contentOf(scratch.path("out/README.md")).contains("perplexity 12.3"));
        QCOMPARE(std::ssize(result.files), 5);
        for (const ExportedFile& file : result.files)
            QCOMPARE(QFileInfo(QString::fromStdString(file.path)).size(), file.bytes);
        QVERIFY(result.leftOut.empty());
    }

    void anExportInsideItsSourceDoesNotListItself() {
        const Scratch scratch;
        const std::string source = copyOfFixture(scratch, "gqa-f32", "source");
        const auto model = openModel(source);
        const ExportResult result = exportMasked(*model, {recordOf(maskOf(*model)), source + "/out"});
        QVERIFY2(result.leftOut.empty(), result.leftOut.empty() ? "" : result.leftOut.front().c_str());
    }

    void namesCannotBreakTheCard() {
        const Scratch scratch;
        const auto model = fixture("gqa-f32");
        MaskRecord record = recordOf(maskOf(*model));
        record.note = "<script>alert(1)</script>\n# A heading\n[link](https://example.org) \x1b[2J";
        exportMasked(*model, {record, scratch.path("out").toStdString()});
        const QByteArray card = contentOf(scratch.path("out/README.md"));
        QVERIFY(card.contains("- note: \\<script\\>alert(1)\\</script\\>\\\\n\\# A heading\\\\n"
                              "\\[link\\](https://example.org) \\\\u001b\\[2J\n"));
    }

    void smallFilesAreCopiedAndWeightsOfOtherFormatsLeftOut() {
        const Scratch scratch;
        const std::string source = copyOfFixture(scratch, "qwen2", "source");
        scratch.write("source/tokenizer.json", "{}");
        scratch.write("source/model.onnx", "graph");
        scratch.write("source/README.md", "---\nlicense: mit\n---\nOf the source\n");
        QDir().mkdir(scratch.path("source/onnx"));
        const auto model = openModel(source);
        const ExportResult result = exportMasked(*model, {recordOf(maskOf(*model)), scratch.path("out").toStdString()});
        QCOMPARE(namesIn(scratch.path("out")), (QStringList{"README.md", "config.json", "expected.json",
                                                            "model.mask.json", "model.safetensors", "tokenizer.json"}));
        QCOMPARE(result.leftOut, (std::vector<std::string>{"model.gguf", "model.onnx", "onnx", "pytorch_model.bin"}));
        const QByteArray card = contentOf(scratch.path("out/README.md"));
        QVERIFY(card.startsWith("---\nlicense: mit\n---\n#"));
        QVERIFY(card.endsWith("Of the source\n"));
        QCOMPARE(contentOf(scratch.path("out/config.json")), contentOf(scratch.path("source/config.json")));
    }

    void shardsAndPartsStayAsTheyAre() {
        const Scratch scratch;
        const auto sharded = fixture("mqa-f32-sharded");
        const auto out = scratch.path("shards");
        exportMasked(*sharded, {recordOf(maskOf(*sharded)), out.toStdString()});
        const QDir source(data().filePath("mqa-f32-sharded"));
        for (const QString& name : source.entryList({"*.safetensors", "*.index.json"}))
            QVERIFY2(QFile::exists(out + "/" + name), qPrintable(name));
        QCOMPARE(contentOf(out + "/model.safetensors.index.json"),
                 contentOf(source.filePath("model.safetensors.index.json")));

        const auto [first, second] = splitGguf(data().filePath("gqa-q4_1-gguf/model.gguf").toStdString());
        QDir().mkdir(scratch.path("split"));
        scratch.write("split/m-00001-of-00002.gguf", first);
        const auto split = openModel(scratch.write("split/m-00002-of-00002.gguf", second));
        const ExportResult result =
            exportMasked(*split, {recordOf(maskOf(*split)), scratch.path("parts").toStdString()});
        QCOMPARE(namesIn(scratch.path("parts")),
                 (QStringList{"README.md", "m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "model.mask.json"}));
        QCOMPARE(contentOf(scratch.path("parts/m-00001-of-00002.gguf")), first);
        // The export warns that quantised blocks of 32 columns do not end where heads of 12 columns end.
        QVERIFY(!result.warnings.empty());
    }

    void checksumsOfArchivesAreRenewed() {
        const Scratch scratch;
        const auto model = fixture("gemma2", "pytorch_model.bin");
        exportMasked(*model, {recordOf(maskOf(*model)), scratch.path("out").toStdString()});
        const ZipDirectory archive(MappedFile::open(scratch.path("out/pytorch_model.bin").toStdString()));
        const ZipDirectory source(MappedFile::open(model->card().path));
        int renewed = 0;
        for (const auto& [name, entry] : archive.entries()) {
            QCOMPARE(entry.checksum, crc32(archive.bytes(name)));
            renewed += entry.checksum != source.entries().at(name).checksum ? 1 : 0;
        }
        qInfo("%d of %d checksums are new", renewed, static_cast<int>(archive.entries().size()));
        QVERIFY(renewed > 0);
        // The export overwrites the tensors and the data descriptors after the entries in place and copies all other
        // bytes, so the archive keeps its length.
        QCOMPARE(contentOf(scratch.path("out/pytorch_model.bin")).size(),
                 contentOf(QString::fromStdString(model->card().path)).size());
    }

    void whatZerosCannotSayIsRefused() {
        const Scratch scratch;
        const auto refusal = [&](const Model& model, const PruningMask& mask, const char* name) {
            const QString text = scratch.refusal([&] {
                exportMasked(model, {recordOf(mask), scratch.path(name).toStdString()});
            });
            return text;
        };
        const auto llama = fixture("gqa-f32");
        PruningMask bypassed(llama->spec());
        LayerMask layer = bypassed.layer(1);
        layer.attention = AttentionCut::bypassQk;
        layer.alpha = 0.5;
        bypassed.setLayer(1, layer);
        QCOMPARE(
            refusal(*llama, bypassed, "out"),
            "cannot be exported as masked: layer 1: queries and keys are bypassed; with zero weights each token "
            "would attend equally to all tokens, not to itself. Export it as GGUF, unequal layers or Hugging Face, "
            "unequal layers");
        const auto bert = fixture("bert");
        PruningMask noBlock(bert->spec());
        layer = noBlock.layer(0);
        layer.block = false;
        noBlock.setLayer(0, layer);
        QVERIFY(refusal(*bert, noBlock, "out").contains("layer 0: the block is dropped, but the norms"));
        QVERIFY(refusal(*bert, PruningMask(llama->spec()), "out").contains("is made for llama"));
        QVERIFY(namesIn(scratch.path()).isEmpty());
    }

    void nothingThatIsThereIsOverwritten() {
        const Scratch scratch;
        const auto model = fixture("gqa-q8_0-gguf");
        const MaskRecord record = recordOf(maskOf(*model));
        const auto refusal = [&](const Model& source, const QString& path, bool mayReplace = false) {
            return scratch.refusal([&] { exportMasked(source, {record, path.toStdString(), mayReplace}); });
        };
        scratch.write("there.gguf", "old");
        scratch.write("free.md", "notes");
        QVERIFY(refusal(*model, scratch.path("there.gguf")).startsWith("there.gguf: exists"));
        QVERIFY(refusal(*model, scratch.path("free.gguf")).startsWith("free.md: exists"));
        QVERIFY(refusal(*model, scratch.path("model.bin")).contains("does not end with .gguf"));
        QVERIFY(refusal(*model, scratch.path("none/model.gguf")).contains("there is no folder"));
        QCOMPARE(contentOf(scratch.path("there.gguf")), "old");
        QCOMPARE(namesIn(scratch.path()), (QStringList{"free.md", "there.gguf"}));
        // What no export wrote stays, even with --force.
        QVERIFY(refusal(*model, scratch.path("there.gguf"), true).contains("does not say that an export wrote it"));
        QVERIFY(refusal(*model, scratch.path("free.gguf"), true).startsWith("free.md: exists and is not the card"));
        const QString other = QString::fromStdString(copyOfFixture(scratch, "gqa-q4_0-gguf", "other")) + "/model.gguf";
        const QByteArray weights = contentOf(other);
        QVERIFY(refusal(*model, other, true).contains("does not say that an export wrote it"));
        QCOMPARE(contentOf(other), weights);
        QCOMPARE(refusal(*model, scratch.path("new.gguf")), "accepted");
        QVERIFY(refusal(*model, scratch.path("new.gguf")).startsWith("new.gguf: exists"));
        QCOMPARE(refusal(*model, scratch.path("new.gguf"), true), "accepted");
        QVERIFY(contentOf(scratch.path("new.gguf")).startsWith("GGUF"));

        const std::string own = copyOfFixture(scratch, "gqa-q8_0-gguf", "own") + "/model.gguf";
        QVERIFY(refusal(*openModel(own), QString::fromStdString(own), true).contains("is the model itself"));
    }

    void theMaskThatIsGivenMayLieBesideTheExport() {
        const Scratch scratch;
        const auto model = fixture("gqa-q8_0-gguf");
        MaskRecord record = recordOf(maskOf(*model));
        record.note = "of mine";
        const std::string mask = scratch.path("eight.mask.json").toStdString();
        writeMask(mask, record);
        const QByteArray before = contentOf(scratch.path("eight.mask.json"));
        const Outcome outcome =
            run({"export", data().filePath("gqa-q8_0-gguf/model.gguf"), "--mask", QString::fromStdString(mask), "--as",
                 "masked", "--out", scratch.path("eight.gguf"), "--json"});
        QVERIFY2(outcome.status == 0, outcome.out.constData());
        QCOMPARE(outcome.json().at("files").size(), std::size_t{3});
        QCOMPARE(contentOf(scratch.path("eight.mask.json")), before);
        // If another mask has the name that the export needs, it is not overwritten and no export is written.
        record.mask = PruningMask(model->spec());
        writeMask(scratch.path("nine.mask.json").toStdString(), record);
        const ExportRequest other{recordOf(maskOf(*model)), scratch.path("nine.gguf").toStdString(), false};
        QVERIFY(scratch.refusal([&] { exportMasked(*model, other); }).startsWith("nine.mask.json: exists"));
        QVERIFY(!QFile::exists(scratch.path("nine.gguf")));
    }

    void onlyFoldersOfExportsAreReplaced() {
        const Scratch scratch;
        const std::string source = copyOfFixture(scratch, "gqa-f32", "source");
        const auto model = openModel(source);
        const MaskRecord record = recordOf(maskOf(*model));
        const auto refusal = [&](const QString& name, bool mayReplace) {
            return scratch.refusal([&] {
                exportMasked(*model, {record, scratch.path(name).toStdString(), mayReplace});
            });
        };
        QDir().mkdir(scratch.path("mine"));
        scratch.write("mine/thesis.tex", "text");
        QVERIFY(refusal("mine", false).startsWith("mine: exists"));
        QVERIFY(refusal("mine", true).contains("it is a folder that no export wrote"));
        QVERIFY(refusal("source", true).contains("is the model itself"));
        // A model's folder in which somebody put a mask is no export.
        copyOfFixture(scratch, "gqa-f32-bias", "model");
        writeMask(scratch.path("model/model.mask.json").toStdString(), record);
        QVERIFY(refusal("model", true).contains("it is a folder that no export wrote"));
        QCOMPARE(refusal("out", false), "accepted");
        QVERIFY(refusal("out", false).startsWith("out: exists"));
        scratch.write("out/stale.txt", "of before");
        QCOMPARE(refusal("out/", true), "accepted");
        QVERIFY(!namesIn(scratch.path("out")).contains("stale.txt"));
        QDir().mkdir(scratch.path("out/more"));
        QVERIFY(refusal("out", true).contains("it holds other folders"));
        QCOMPARE(namesIn(scratch.path()), (QStringList{"mine", "model", "out", "source"}));
        QCOMPARE(contentOf(scratch.path("mine/thesis.tex")), "text");
    }

    void linksOutOfTheModelAreNotCopied() {
        const Scratch scratch;
        const QString source = QString::fromStdString(copyOfFixture(scratch, "gqa-f32", "source"));
        scratch.write("secret.json", "of the user");
        scratch.write("source/notes.json", "of the model");
        QDir(source).mkdir("more");
        scratch.write("source/more/own.json", "of a folder in it");
        QVERIFY(QFile::link("../secret.json", source + "/special_tokens_map.json"));
        QVERIFY(QFile::link(scratch.path("secret.json"), source + "/README.md"));
        QVERIFY(QFile::link("more/own.json", source + "/own.json"));
        const auto model = openModel(source.toStdString());
        const ExportResult made = exportMasked(*model, {recordOf(maskOf(*model)), scratch.path("out").toStdString()});
        QVERIFY(!QFile::exists(scratch.path("out/special_tokens_map.json")));
        QCOMPARE(contentOf(scratch.path("out/notes.json")), "of the model");
        QCOMPARE(contentOf(scratch.path("out/own.json")), "of a folder in it");
        QVERIFY(!contentOf(scratch.path("out/README.md")).contains("of the user"));
        QVERIFY(std::ranges::find(made.leftOut, "special_tokens_map.json") != made.leftOut.end());
        const std::string what = "special_tokens_map.json is not copied: it is a link to ../secret.json, outside the "
                                 "model's folder";
        QVERIFY(std::ranges::find(made.warnings, what) != made.warnings.end());
        QVERIFY(std::ranges::any_of(
            made.warnings, [](const std::string& text) { return text.starts_with("README.md is not copied"); }));
    }

    void linksIntoTheBlobsOfItsRepositoryAreCopied() {
        const Scratch scratch;
        const QString repository = "models--me--small/";
        for (const char* folder : {"models--me--small/snapshots", "models--me--small/blobs", "models--me--other/blobs"})
            QDir(scratch.path()).mkpath(folder);
        const QString snapshot =
            QString::fromStdString(copyOfFixture(scratch, "gqa-f32", repository + "snapshots/1234"));
        scratch.write(repository + "blobs/ab", "its own");
        scratch.write("models--me--other/blobs/cd", "of another");
        QVERIFY(QFile::link("../../blobs/ab", snapshot + "/vocab.json"));
        QVERIFY(QFile::link("../../../models--me--other/blobs/cd", snapshot + "/merges.txt"));
        const auto model = openModel(snapshot.toStdString());
        exportMasked(*model, {recordOf(maskOf(*model)), scratch.path("out").toStdString()});
        QCOMPARE(contentOf(scratch.path("out/vocab.json")), "its own");
        QVERIFY(!QFile::exists(scratch.path("out/merges.txt")));
    }

    void aCancelledExportLeavesNothing() {
        const Scratch scratch;
        for (const auto& [folder, name] : {std::pair{"gqa-f32", "out"}, {"gqa-q8_0-gguf", "out.gguf"}}) {
            const auto model = fixture(folder);
            const MaskRecord record = recordOf(maskOf(*model));
            for (const double at : {0.0, 0.4, 0.5, 0.8, 1.0}) {
                std::stop_source stop;
                const Progress progress(
                    [&](double fraction, std::string_view) {
                        if (fraction >= at)
                            stop.request_stop();
                    },
                    stop.get_token());
                bool isCancelled = false;
                try {
                    exportMasked(*model, {record, scratch.path(name).toStdString()}, progress);
                } catch (const Cancelled&) {
                    isCancelled = true;
                }
                QCOMPARE(isCancelled, at < 1);
                QCOMPARE(namesIn(scratch.path()).isEmpty(), isCancelled);
            }
            for (const QString& left : namesIn(scratch.path()))
                QDir(scratch.path(left)).removeRecursively(), QFile::remove(scratch.path(left));
        }
    }

    void weightsThatZerosCannotReachAreAnError() {
        const Scratch scratch;
        const std::string source = copyOfFixture(scratch, "gqa-f32", "source");
        const auto checkpoint = formatOf(source).open(source, {});
        const TensorEntry* value = checkpoint->find("model.layers.0.self_attn.v_proj.weight");
        QVERIFY(value);
        const auto place = value->data.data() - value->file->bytes().data();
        QFile file(QString::fromStdString(value->file->path()));
        QVERIFY(file.open(QIODevice::ReadWrite) && file.seek(place));
        file.write(little(std::numeric_limits<float>::infinity()));
        file.close();
        const auto model = openModel(source);
        PruningMask mask(model->spec());
        LayerMask layer = mask.layer(0);
        for (int head = 0; head < model->spec().layers[0].heads; ++head)
            layer.heads[static_cast<std::size_t>(head)] = model->spec().layers[0].kvGroup(head) > 0;
        mask.setLayer(0, layer);
        const QString text = scratch.refusal([&] {
            exportMasked(*model, {recordOf(mask), scratch.path("out").toStdString()});
        });
        QVERIFY2(text.contains("logits that differ from the masked model's"), qPrintable(text));
        QCOMPARE(namesIn(scratch.path()), QStringList{"source"});
    }

    /// A wrong neuron changes a step far more than rounding does.
    void stepsShowWrongWeights() {
        const auto model = fixture("gqa-f32");
        const PruningMask mask(model->spec());
        PruningMask wrong = mask;
        LayerMask layer = wrong.layer(1);
        layer.neurons[5] = false;
        wrong.setLayer(1, layer);
        const auto plain = openModel(model->card().path, {}, {.plain = true});
        const Batch batch = probeTokens(model->spec());
        const std::vector<int> layers{0, 1};
        const auto plan = model->runner().plan(mask, ComputeType::float32);
        const RecordedRun run = recordRun(*model, *plan, batch, {});
        const auto steps = [&](const PruningMask& other) {
            return stepDifference(run, *plain, *plain->runner().plan(other, ComputeType::float32), layers, batch);
        };
        const StepDifference equal = steps(mask);
        const StepDifference different = steps(wrong);
        qInfo("equal masks %.1e and %.1e, one neuron %.1e and %.1e", equal.layer, equal.position, different.layer,
              different.position);
        QVERIFY(equal.layer <= equal.position && equal.position < stepTolerance / 10);
        QVERIFY(different.layer <= different.position && different.position > 10 * stepTolerance);
    }

    /// Under this mask logits in float32 differ from those in float64 by 4e-4 of the largest, in transformers too.
    void masksThatMagnifyRoundingAreExported() {
        if (demoModel().isEmpty())
            QSKIP("the demo model is not there");
        const Scratch scratch;
        const QString mask = scratch.path("m.json");
        const QString out = scratch.path("out.gguf");
        QCOMPARE(run({"prune", demoModel(), "--strategy", "mag_sp", "--budget", "params:25%", "--out", mask}).status,
                 0);
        const Outcome exported = run({"export", demoModel(), "--mask", mask, "--as", "masked", "--out", out, "--json"});
        QCOMPARE(exported.status, 0);
        const nlohmann::json verified = exported.json().at("verified");
        const double step = verified.value("max_step_difference", 0.0);
        qInfo("logits differ by %.1e of %.1e, steps by %.1e", verified.at("max_logit_difference").get<double>(),
              verified.at("logit_scale").get<double>(), step);
        QVERIFY(step < stepTolerance / 10);
    }

    void weightsInSharedBytesAreRefused() {
        const std::string path = data().filePath("gqa-f32").toStdString();
        const auto plain = formatOf(path).open(path, {});
        const TiedCheckpoint tied(*plain, "model.layers.1.self_attn.o_proj.weight",
                                  "model.layers.0.self_attn.o_proj.weight");
        const CheckpointDescription description = plain->describe();
        const TensorSlots places(tied, description, path);
        PruningMask mask(description.spec);
        LayerMask layer = mask.layer(0);
        layer.neurons[3] = false;
        mask.setLayer(0, layer);
        QCOMPARE(weightCuts(places, description.spec, mask).size(), std::size_t{1});
        layer.heads[0] = false;
        mask.setLayer(0, layer);
        const QString text = Scratch().refusal([&] { weightCuts(places, description.spec, mask); });
        QVERIFY2(text.contains("layers.0.self_attn.o_proj.weight: shares its numbers with model.layers.1."),
                 qPrintable(text));
    }

    void theCommandLineExports() {
        const Scratch scratch;
        const QString source = data().filePath("gqa-f32");
        const auto model = openModel(source.toStdString());
        const std::string mask = scratch.path("m.json").toStdString();
        writeMask(mask, recordOf(maskOf(*model)));
        const QStringList arguments{"export", source,   "--mask", QString::fromStdString(mask),
                                    "--as",   "masked", "--out",  scratch.path("out")};
        const nlohmann::json done = run(arguments + QStringList{"--json"}).json();
        QCOMPARE(done.at("target").get<std::string>(), "masked");
        QCOMPARE(done.at("files").size(), std::size_t{5});
        QVERIFY(done.at("verified").at("max_logit_difference").get<double>() < 1e-4);
        QCOMPARE(done.at("verified").at("probe_tokens").get<int>(), 256);
        QCOMPARE(run(arguments).status, 1);
        const Outcome replaced = run(arguments + QStringList{"--force", "--progress", "json"});
        QCOMPARE(replaced.status, 0);
        QVERIFY(replaced.toldRisingProgress());
        QVERIFY(replaced.out.contains("model.safetensors"));
        QCOMPARE(run({"export", source, "--mask", "m", "--as", "paper", "--out", "x"}).status, 2);
    }
};

SECATEUR_SUITE(TestExport)
#include "tst_export.moc"
