// The compensation of a mask in files: the safetensors file beside a mask, and the group of a session.

#ifndef Q_MOC_RUN
#include "analysis/masks/mask_algebra.h"
#include "analysis/session/session.h"
#include "backends/session/mask_compensation.h"
#include "backends/session/mask_json.h"
#include "backends/session/session_hdf5.h"
#include "tests/support/command_line.h"
#include "tests/support/files.h"
#include "tests/support/mask_models.h"
#include "tests/support/sessions.h"
#include "tests/support/suite.h"
#include "tests/support/zeroed_model.h"
#endif

#include <QtTest>

#include <QDir>

using namespace secateur;
using namespace secateur::test;

namespace {

constexpr const char* ending = ".compensation.safetensors";

ModelSpec spec() {
    ModelSpec spec = raggedSpec();
    spec.hidden = 6;
    return spec;
}

/// A mask with a cut and a compensation in every layer. Different seeds give different compensations.
MaskRecord compensated(unsigned seed, const ModelSpec& of = spec()) {
    MaskRecord record;
    record.mask = PruningMask(of);
    for (int index = 0; index < of.layerCount(); ++index) {
        LayerMask layer = record.mask.layer(index);
        layer.neurons[0] = of.layers[static_cast<std::size_t>(index)].ffn == 1;
        record.mask.setLayer(index, layer);
    }
    record.mask = withDrawnCompensation(record.mask, of, seed, 1);
    record.note = "seed " + std::to_string(seed);
    return record;
}

QStringList listing(const Scratch& folder) {
    return QDir(folder.path()).entryList(QDir::Files | QDir::Hidden, QDir::Name);
}

QString nameBeside(const char* mask, const MaskRecord& record) {
    return QString("%1.%2%3").arg(mask, QString::fromStdString(compensationSum(record.mask).substr(0, 16)), ending);
}

QByteArray contentOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// A mask with small exact numbers, whose compensation file and digest were computed in Python.
PruningMask exactMask() {
    PruningMask mask(spec());
    LayerMask layer = mask.layer(0);
    layer.heads[1] = false;
    LayerCompensation made;
    made.headScale = {0.5F, 7.0F, 2.0F}; // the factor of the cut head has no effect
    made.mlpBias = {0.25F, -1.0F, 0.0F, 3.0F, -0.5F, 8.0F};
    layer.compensation = std::make_shared<const LayerCompensation>(made);
    mask.setLayer(0, layer);
    return mask;
}

} // namespace

class TestMaskCompensation : public QObject {
    Q_OBJECT

private slots:
    void aMaskIsReadWithItsCompensation() {
        for (const ModelSpec& of : {spec(), tiedSpec()}) {
            ModelSpec wide = of;
            wide.hidden = 6;
            const Scratch folder;
            const MaskRecord record = compensated(1, wide);
            const std::string path = folder.path("a.mask.json").toStdString();
            writeMask(path, record);
            QCOMPARE(listing(folder), (QStringList{nameBeside("a", record), "a.mask.json"}));
            const MaskReading reading = readMask(path, wide, "");
            QVERIFY(reading.record == record && reading.warnings.empty());
            QCOMPARE(maskDigest(reading.record.mask), maskDigest(record.mask));
            QVERIFY(readMask(path, specOf(wide.architecture, wide.structure()), "").record.mask.isCompensated());
        }
    }

    void theFileIsThatOfTheSafetensorsLibrary() {
        // Written by Python from the definition in formats.md, and read by the safetensors library.
        const QByteArray header =
            R"({"__metadata__":{"format":"secateur_compensation"},"layers.0.head_scale":{"dtype":"F32","shape":[3],)"
            R"("data_offsets":[0,12]},"layers.0.mlp_bias":{"dtype":"F32","shape":[6],"data_offsets":[12,36]}})";
        QByteArray expected = little(static_cast<quint64>((header.size() + 7) / 8 * 8)) + header +
                              QByteArray((8 - header.size() % 8) % 8, ' ');
        for (const float value : {0.5F, 1.0F, 2.0F, 0.25F, -1.0F, 0.0F, 3.0F, -0.5F, 8.0F})
            expected += little(value);
        QCOMPARE(QByteArray::fromStdString(compensationBytes(exactMask())), expected);
        QCOMPARE(compensationMode(exactMask()), std::string_view("both"));
    }

    void theDigestContainsTheSum() {
        // The expected values were computed in Python with hashlib and struct, from the definition in mask_json.h.
        QCOMPARE(QString::fromStdString(compensationSum(exactMask())), "fc8943a3a8362514ae5fd1803c9735941dde3dff7dd5a39299c99d8bcbaac6c2");
        QCOMPARE(QString::fromStdString(maskDigest(exactMask())), "sha256:ab03300bbcbef21e6d5c5ab9d1831814343ade4a202197e1e44c8685955186ad");
        PruningMask without = exactMask();
        LayerMask layer = without.layer(0);
        layer.compensation.reset();
        without.setLayer(0, layer);
        QCOMPARE(QString::fromStdString(maskDigest(without)), "sha256:18e7f2cb555a0822694254e8b2e2f200c9f6925db22a7138a06886098a8a101a");
        QVERIFY(maskDigest(compensated(1).mask) != maskDigest(compensated(2).mask));
        PruningMask onlyCompensated(spec());
        layer = onlyCompensated.layer(1);
        LayerCompensation made;
        made.neuronScale.assign(layer.neurons.size(), 2.F);
        layer.compensation = std::make_shared<const LayerCompensation>(made);
        onlyCompensated.setLayer(1, layer);
        QVERIFY(maskDigest(onlyCompensated) != "dense");
        QCOMPARE(compensationMode(onlyCompensated), std::string_view("scale"));
    }

    void aReplacedMaskTakesItsCompensationWithIt() {
        const Scratch folder;
        const std::string path = folder.path("a.mask.json").toStdString();
        writeMask(path, compensated(1));
        writeMask(path, compensated(2));
        QCOMPARE(listing(folder), (QStringList{nameBeside("a", compensated(2)), "a.mask.json"}));
        writeMask(path, compensated(2));
        QVERIFY(readMask(path, spec(), "").record == compensated(2));
        MaskRecord plain = compensated(2);
        plain.mask = PruningMask(spec());
        writeMask(path, plain);
        QCOMPARE(listing(folder), QStringList{"a.mask.json"});
    }

    void aCompensationThatAnotherMaskStatesStays() {
        const Scratch folder;
        const std::string path = folder.path("a.mask.json").toStdString();
        writeMask(path, compensated(1));
        QVERIFY(QFile::copy(folder.path("a.mask.json"), folder.path("copy.json")));
        writeMask(path, compensated(2));
        QVERIFY(readMask(folder.path("copy.json").toStdString(), spec(), "").record == compensated(1));
        QVERIFY(readMask(path, spec(), "").record == compensated(2));
        QCOMPARE(listing(folder).size(), 4);
        // Another mask's own compensations are not touched, whatever their age.
        writeMask(folder.path("b.mask.json").toStdString(), compensated(3));
        QVERIFY(QFile::remove(folder.path("b.mask.json")));
        writeMask(path, compensated(4));
        QVERIFY(listing(folder).contains(nameBeside("b", compensated(3))));
    }

    void aMissingCompensationIsAWarning() {
        const Scratch folder;
        const std::string path = folder.path("a.mask.json").toStdString();
        writeMask(path, compensated(1));
        const QString name = nameBeside("a", compensated(1));
        QVERIFY(QFile::remove(folder.path(name)));
        const MaskReading reading = readMask(path, spec(), "");
        QVERIFY(!reading.record.mask.isCompensated() && reading.record.mask.layer(0).hasCuts());
        QCOMPARE(reading.warnings, std::vector<std::string>{"The file of its compensation, " + name.toStdString() +
                                                            ", does not exist: the mask is read without its "
                                                            "compensation"});
    }

    void theFieldOfEarlierVersionsIsRead() {
        const Scratch folder;
        const std::string path = folder.path("a.mask.json").toStdString();
        MaskRecord record = compensated(1);
        writeMask(path, record);
        QByteArray text = contentOf(folder.path("a.mask.json"));
        text.replace("\"compensation\"", "\"bias_compensation\"").replace(", \"mode\": \"both\"", "");
        folder.write("a.mask.json", text);
        QVERIFY(readMask(path, spec(), "").record == record);
    }

    void sixteenBitNumbersAreRead() {
        const Scratch folder;
        const QByteArray header = R"({"layers.0.head_scale":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]},)"
                                  R"("layers.3.neuron_scale":{"dtype":"F16","shape":[1],"data_offsets":[6,8]}})";
        const QByteArray file = little(static_cast<quint64>(header.size())) + header + little<quint16>(0x3f00) +
                                little<quint16>(0x3f80) + little<quint16>(0x4000) + little<quint16>(0x3e00);
        const auto bytes = std::as_bytes(std::span(file.constData(), static_cast<std::size_t>(file.size())));
        PruningMask mask(spec());
        addCompensation(mask, readCompensationTensors("c", bytes), spec());
        QCOMPARE(compensationOf(mask.layer(0)).headScale, (std::vector<float>{0.5F, 1.F, 2.F}));
        QCOMPARE(compensationOf(mask.layer(3)).neuronScale, std::vector<float>{1.5F});
    }

    void aLinkedMaskHasItsCompensationBesideTheFile() {
        const Scratch folder;
        QVERIFY(QDir(folder.path()).mkdir("masks"));
        const std::string path = folder.path("masks/a.mask.json").toStdString();
        writeMask(path, compensated(1));
        QVERIFY(QFile::link(folder.path("masks/a.mask.json"), folder.path("link.mask.json")));
        const std::string link = folder.path("link.mask.json").toStdString();
        QVERIFY(readMask(link, spec(), "").record == compensated(1));
        writeMask(link, compensated(2));
        QVERIFY(readMask(path, spec(), "").record == compensated(2));
    }

    void aForeignFileIsNotReplaced() {
        const Scratch folder;
        const QString name = nameBeside("a", compensated(1));
        folder.write(name, "not ours");
        QVERIFY(folder.refusal([&] { writeMask(folder.path("a.mask.json").toStdString(), compensated(1)); })
                    .endsWith("is a file of a model, which is never replaced. Choose another name"));
        QCOMPARE(listing(folder), QStringList{name});
    }

    void sessionsHoldCompensations() {
        const Scratch folder;
        const std::string path = folder.path("s.h5").toStdString();
        Session session = raggedSession();
        const auto add = [&](const char* name, const MaskRecord& record) {
            session.masks.push_back({name, maskDigest(record.mask), record});
        };
        add("one", compensated(1, session.model.spec));
        add("two", compensated(2, session.model.spec));
        writeSession(session, path);
        const auto same = [&](const Session& read) {
            for (std::size_t i = 0; i < session.masks.size(); ++i)
                if (i >= read.masks.size() || read.masks[i].record != session.masks[i].record ||
                    read.masks[i].digest != session.masks[i].digest)
                    return false;
            return read.masks.size() == session.masks.size();
        };
        QVERIFY(same(readSession(path)));
        Session more = raggedSession();
        more.results.clear();
        add("three", compensated(3, session.model.spec));
        more.masks = {session.masks.back()};
        addToSession(more, path);
        QVERIFY(same(readSession(path)));
    }

    void theVerbsKeepACompensationOrSayWhatTheyDrop() {
        const Scratch folder;
        const auto write = [&](const char* name, const MaskRecord& record) {
            const QString path = folder.path(QString(name) + ".mask.json");
            writeMask(path.toStdString(), record);
            return path;
        };
        MaskRecord other;
        other.mask = PruningMask(spec());
        const HeadId head{3, 1};
        setHeads(other.mask, std::span(&head, 1), false);
        const QString a = write("a", compensated(1));
        const QString b = write("b", other);
        const QString out = folder.path("both.mask.json");
        const Outcome joined = run({"mask", "union", a, b, "--out", out, "--json"});
        QVERIFY2(joined.status == 0, qPrintable(joined.error));
        const PruningMask both = readMask(out.toStdString(), spec(), "").record.mask;
        QVERIFY(both == unionOf(compensated(1).mask, other.mask));
        QVERIFY(both.isCompensated() && compensationOf(both.layer(3)).headScale.empty());
        QCOMPARE(joined.json()["warnings"],
                 nlohmann::json({"compensation of layer 3 is left out, because it was fitted to other cuts"}));
        const Outcome shown = run({"mask", "show", a});
        QVERIFY2(shown.out.contains("neuron 0; compensated"), shown.out.constData());
    }
};

SECATEUR_SUITE(TestMaskCompensation)
#include "tst_mask_compensation.moc"
