// Masks in memory, as JSON and as digests. A written mask reads back equal; a mask that contradicts itself or the model
// is refused.

#ifndef Q_MOC_RUN
#include "analysis/base/error.h"
#include "analysis/masks/pruning_mask.h"
#include "backends/session/mask_json.h"
#include "tests/support/files.h"
#include "tests/support/mask_models.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <cmath>
#include <functional>
#include <map>
#include <random>

using namespace secateur;
using namespace secateur::test;

namespace {

constexpr const char* raggedModel =
    R"({"architecture":"llama","structure":"1x3/3x8+40,1x2/1x8+9,1x0/0x0+12,1x4/2x8+1"})";
constexpr const char* tiedModel = R"({"architecture":"albert","structure":"6x4/4x3+10"})";

QByteArray document(const char* model, const QByteArray& layers, const QByteArray& more = {}) {
    return QByteArray(R"({"secateur_mask":1,"model":)") + model + R"(,"layers":[)" + layers + "]" + more + "}";
}

MaskReading parsed(const QByteArray& text, const ModelSpec& spec, const std::string& fingerprint = {}) {
    return parseMask({text.data(), static_cast<std::size_t>(text.size())}, "a.mask.json", spec, fingerprint);
}

/// The message of the Error that `work` throws; "accepted" if it throws none.
QString refusal(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return QString::fromUtf8(error.what());
    }
    return "accepted";
}

void cutHeads(PruningMask& mask, int index, std::initializer_list<std::size_t> heads) {
    LayerMask layer = mask.layer(index);
    for (const std::size_t head : heads)
        layer.heads.at(head) = false;
    mask.setLayer(index, layer);
}

QString committed(const char* name) {
    QFile file(QString(SECATEUR_TEST_SOURCES "/masks/") + name);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : "missing";
}

/// A mask that contains every kind of cut.
PruningMask variedMask() {
    PruningMask mask(raggedSpec());
    cutHeads(mask, 0, {0, 2});
    LayerMask first = mask.layer(0);
    std::fill(first.neurons.begin() + 4, first.neurons.begin() + 32, false);
    first.neurons.back() = false;
    mask.setLayer(0, first);
    LayerMask second = mask.layer(1);
    second.attention = AttentionCut::bypassQk;
    second.alpha = 0.2;
    second.heads[1] = false;
    mask.setLayer(1, second);
    LayerMask third = mask.layer(2);
    third.attention = AttentionCut::drop;
    third.mlp = false;
    mask.setLayer(2, third);
    LayerMask fourth = mask.layer(3);
    fourth.block = false;
    mask.setLayer(3, fourth);
    return mask;
}

MaskRecord variedRecord() {
    MaskRecord record;
    record.mask = variedMask();
    record.modelName = "Small \"one\"";
    record.fingerprint = "sha256:feed";
    record.note = "by h\u00e4nd,\nin two lines";
    record.provenance = MaskProvenance{
        "gate_norm", {{"per_step", "1"}, {"stop", "knee"}}, Budget{12.5, true}, "notes.txt", 7, "2026-11-21T10:00:00Z",
        "0.1.0"};
    return record;
}

LayerMask randomLayer(LayerMask layer, std::mt19937_64& random) {
    const auto chance = [&](double share) { return std::bernoulli_distribution(share)(random); };
    const double share = std::uniform_real_distribution(0.0, 1.0)(random);
    for (auto mark : layer.heads)
        mark = !chance(share);
    for (auto mark : layer.neurons)
        mark = !chance(share);
    if (chance(0.2))
        layer.attention = AttentionCut::drop;
    else if (!layer.heads.empty() && chance(0.3))
        layer.attention = AttentionCut::bypassQk;
    layer.alpha = std::uniform_real_distribution(0.0, mostAlpha)(random);
    layer.mlp = !chance(0.2);
    layer.block = !chance(0.1);
    return layer;
}

PruningMask randomMask(const ModelSpec& spec, std::mt19937_64& random) {
    PruningMask mask(spec);
    for (int index = 0; index < mask.layerCount(); ++index) {
        if (random() % 3 != 0)
            mask.setLayer(index, randomLayer(mask.layer(index), random));
    }
    return mask;
}

} // namespace

class TestMasks : public QObject {
    Q_OBJECT

private slots:
    void aNewMaskKeepsAll() {
        const PruningMask mask(raggedSpec());
        QVERIFY(mask.keepsAll());
        QVERIFY(PruningMask().keepsAll());
        QCOMPARE(mask.layerCount(), 4);
        QCOMPARE(mask.layer(0).keptHeads(), 3);
        QCOMPARE(mask.layer(0).keptNeurons(), 40);
        QCOMPARE(mask.layer(2).keptHeads(), 0);
        QCOMPARE(QString::fromStdString(maskDigest(mask)), "dense");
        QCOMPARE(QString::fromStdString(maskDigest(PruningMask())), "dense");
    }

    void everyKindOfCutIsACut() {
        const PruningMask whole(raggedSpec());
        const auto cuts = [&](const std::function<void(LayerMask&)>& change) {
            PruningMask mask = whole;
            LayerMask layer = mask.layer(1);
            change(layer);
            mask.setLayer(1, layer);
            return !mask.keepsAll() && !mask.layer(1).keepsAll() && mask.layer(0).keepsAll() && mask != whole &&
                   maskDigest(mask) != "dense";
        };
        QVERIFY(cuts([](LayerMask& layer) { layer.heads[0] = false; }));
        QVERIFY(cuts([](LayerMask& layer) { layer.neurons[8] = false; }));
        QVERIFY(cuts([](LayerMask& layer) { layer.attention = AttentionCut::drop; }));
        QVERIFY(cuts([](LayerMask& layer) { layer.attention = AttentionCut::bypassQk; }));
        QVERIFY(cuts([](LayerMask& layer) { layer.mlp = false; }));
        QVERIFY(cuts([](LayerMask& layer) { layer.block = false; }));
        QVERIFY(!cuts([](LayerMask& layer) { layer.alpha = 0.5; }));
    }

    void whatIsKeptIsCounted() {
        const PruningMask mask = variedMask();
        QCOMPARE(mask.layer(0).keptHeads(), 1);
        QCOMPARE(mask.layer(0).keptNeurons(), 11);
        QCOMPARE(mask.layer(1).keptHeads(), 1);
        QCOMPARE(mask.layer(2).keptNeurons(), 0);
        QCOMPARE(mask.layer(3).keptHeads(), 0);
        QCOMPARE(mask.layer(3).keptNeurons(), 0);
    }

    void equalCutsAreEqualMasks() {
        PruningMask plain(raggedSpec());
        PruningMask cluttered = plain;
        for (int index = 0; index < 2; ++index) {
            LayerMask layer = plain.layer(index);
            layer.block = index == 0;
            layer.attention = index == 0 ? AttentionCut::drop : AttentionCut::keep;
            layer.mlp = index == 1;
            plain.setLayer(index, layer);
            layer.heads[1] = layer.neurons[3] = false;
            layer.alpha = 1.5;
            if (index == 1) {
                layer.attention = AttentionCut::bypassQk;
                layer.mlp = false;
            }
            cluttered.setLayer(index, layer);
        }
        QVERIFY(plain == cluttered);
        LayerMask zero = plain.layer(3);
        zero.attention = AttentionCut::bypassQk;
        zero.alpha = 0;
        plain.setLayer(3, zero);
        zero.alpha = -0.0;
        cluttered.setLayer(3, zero);
        QCOMPARE(maskDigest(plain), maskDigest(cluttered));
    }

    void layersThatCannotBeAreRefused() {
        PruningMask mask(raggedSpec());
        const PruningMask before = mask;
        const auto said = [&](int index, const std::function<void(LayerMask&)>& change) {
            LayerMask layer = mask.layer(index);
            change(layer);
            return refusal([&] { mask.setLayer(index, layer); });
        };
        QCOMPARE(said(1, [](LayerMask& l) { l.heads.push_back(true); }), "layer 1: expected 2 heads, found 3");
        QCOMPARE(said(1, [](LayerMask& l) { l.neurons.clear(); }), "layer 1: expected 9 neurons, found 0");
        QCOMPARE(said(0, [](LayerMask& l) { l.alpha = 2.1; }),
                 "layer 0: alpha: expected a number from 0 to 2, found 2.1");
        QCOMPARE(said(0, [](LayerMask& l) { l.alpha = std::nan(""); }),
                 "layer 0: alpha: expected a number from 0 to 2, found nan");
        QCOMPARE(said(2, [](LayerMask& l) { l.attention = AttentionCut::bypassQk; }),
                 "layer 2: has no heads, so there are no queries and keys to bypass");
        QVERIFY(mask == before);
        QVERIFY_EXCEPTION_THROWN(mask.setLayer(4, mask.layer(0)), std::out_of_range);
    }

    void aCutOfSharedWeightsIsACutInAllOfThem() {
        PruningMask mask(tiedSpec());
        QCOMPARE(mask.tiedTo(3), (std::vector<int>{1, 3, 5}));
        QCOMPARE(PruningMask(raggedSpec()).tiedTo(3), std::vector<int>{3});
        cutHeads(mask, 4, {2});
        for (int index = 0; index < 6; ++index)
            QCOMPARE(mask.layer(index).keptHeads(), index % 2 == 0 ? 3 : 4);
        PruningMask other(tiedSpec());
        cutHeads(other, 0, {2});
        QVERIFY(mask == other);
        QCOMPARE(maskDigest(mask), maskDigest(other));
    }

    void aMaskFitsItsStructureAlone() {
        const PruningMask mask(tiedSpec());
        mask.checkFits(tiedSpec());
        ModelSpec bert = tiedSpec();
        bert.architecture = "bert";
        QCOMPARE(refusal([&] { mask.checkFits(bert); }),
                 "is made for albert 6x4/4x3+10, but the model is bert 6x4/4x3+10. A mask fits only models of its own "
                 "structure");
        ModelSpec longer = tiedSpec();
        longer.layers.push_back(longer.layers.front());
        QVERIFY(refusal([&] { mask.checkFits(longer); }).contains("6x4/4x3+10, but the model is albert 7x4/4x3+10"));
        ModelSpec other = tiedSpec(); // the vocabulary is not part of the structure that a mask depends on
        other.vocab = 12345;
        mask.checkFits(other);
    }

    void theTextIsWrittenOneLayerALine() {
        QCOMPARE(QString::fromStdString(maskJson(variedRecord())), committed("varied.mask.json"));
    }

    void theTextOfAMaskByHandIsShort() {
        MaskRecord record;
        record.mask = PruningMask(tiedSpec());
        cutHeads(record.mask, 5, {1});
        QCOMPARE(QString::fromStdString(maskJson(record)), committed("tied.mask.json"));
        record.mask = PruningMask(tiedSpec());
        QVERIFY(QString::fromStdString(maskJson(record)).contains("\"layers\": [],\n"));
        record.provenance = MaskProvenance();
        record.provenance->budget = Budget{8, false};
        QVERIFY(QString::fromStdString(maskJson(record)).contains("\"options\": {}, \"budget\": 8, \"text\": null"));
    }

    void whatIsWrittenIsReadTheSame() {
        MaskRecord record = variedRecord();
        record.provenance->fits = {{0, true, 0.1, 0.5, 0.25}, {2, false, 0, 1.0 / 3, 1e-9}};
        const MaskReading reading = parseMask(maskJson(record), "a", raggedSpec(), "sha256:feed");
        QVERIFY(reading.record == record);
        QVERIFY(reading.warnings.empty());
    }

    void filesAreWrittenAndRead() {
        const Scratch folder;
        const std::string path = folder.path("a.mask.json").toStdString();
        writeMask(path, variedRecord());
        QVERIFY(readMask(path, raggedSpec(), "").record == variedRecord());
        QCOMPARE(readMaskedModelName(path), std::string("Small \"one\""));
        const std::string other = folder.write("other.json", "{\"layers\": []}");
        QCOMPARE(folder.refusal([&] { readMaskedModelName(other); }),
                 "other.json: is not a mask: it has no \"secateur_mask\"");
        QCOMPARE(folder.refusal([&] { readMask(path, tiedSpec(), ""); }),
                 "a.mask.json: model: is made for llama 1x3/3x8+40,1x2/1x8+9,1x0/0x0+12,1x4/2x8+1, but the model is "
                 "albert 6x4/4x3+10. A mask fits only models of its own structure");
    }

    void randomMasksComeBackTheSame() {
        std::mt19937_64 random(20261121);
        int cut = 0;
        for (int round = 0; round < 1000; ++round) {
            const ModelSpec spec = round % 2 == 0 ? raggedSpec() : tiedSpec();
            MaskRecord record;
            record.mask = randomMask(spec, random);
            const std::string text = maskJson(record);
            const MaskRecord again = parseMask(text, "a", spec, "").record;
            QVERIFY2(again == record, text.c_str());
            QCOMPARE(maskJson(again), text);
            QCOMPARE(maskDigest(again.mask), maskDigest(record.mask));
            cut += record.mask.keepsAll() ? 0 : 1;
        }
        QVERIFY(cut > 900);
    }

    void whatPeopleWriteIsUnderstood() {
        PruningMask mask(raggedSpec());
        LayerMask layer = mask.layer(0);
        layer.heads = {false, true, false};
        std::fill_n(layer.neurons.begin(), 3, false);
        layer.neurons[5] = false;
        mask.setLayer(0, layer);
        const auto reads = [&](const QByteArray& layers, const QByteArray& more = {}) {
            return parsed(document(raggedModel, layers, more), raggedSpec()).record.mask == mask;
        };
        QVERIFY(reads(R"({"heads_cut":[2,0],"neurons_cut":[5,2,1,0],"layer":0})"));
        QVERIFY(reads(R"({"heads_cut":[[2,2],0],"neurons_cut":[5,2,1,0],"layer":0})"));
        QVERIFY(reads(R"({"layer":0,"heads_cut":[0,2],"neurons_cut":[[5,5],[0,1],2]},{"layer":3},{"layer":1})"));
        QVERIFY(reads(R"({"layer":0,"heads_cut":[0,2],"neurons_cut":[[0,2],5],"mlp":null,"alpha":null})",
                      R"(,"note":null,"provenance":{},"bias_compensation":null)"));
        // Ranges include both ends.
        const PruningMask ranges =
            parsed(document(raggedModel, R"({"layer":0,"heads_cut":[[0,1]]})"), raggedSpec()).record.mask;
        QVERIFY(ranges.layer(0).heads == (std::vector<bool>{false, false, true}));
        QCOMPARE(
            parsed(document(raggedModel, {}, R"(,"provenance":{"budget":8})"), raggedSpec()).record.provenance->budget,
            (Budget{8, false}));
    }

    void anotherFingerprintIsAWarning() {
        const std::string text = maskJson(variedRecord());
        const auto warnings = [&](const char* fingerprint) {
            return parseMask(text, "a", raggedSpec(), fingerprint).warnings;
        };
        QVERIFY(warnings("sha256:feed").empty());
        QVERIFY(warnings("").empty());
        QCOMPARE(warnings("sha256:beef"),
                 std::vector<std::string>{"The mask was made on a checkpoint with another fingerprint: on sha256:feed, "
                                          "and this one is sha256:beef"});
        QVERIFY(parsed(document(raggedModel, {}), raggedSpec(), "sha256:beef").warnings.empty());
    }

    void sharedWeightsAreCutFromAnyOfTheirLayers() {
        PruningMask mask(tiedSpec());
        cutHeads(mask, 0, {3});
        const auto read = [](const QByteArray& layers) {
            return parsed(document(tiedModel, layers), tiedSpec()).record;
        };
        for (const char* layers : {R"({"layer":0,"heads_cut":[3]})", R"({"layer":4,"heads_cut":[3]})",
                                   R"({"layer":4,"heads_cut":[3]},{"layer":2,"heads_cut":[3]},{"layer":1})"}) {
            QVERIFY2(read(layers).mask == mask, layers);
            QVERIFY(
                QString::fromStdString(maskJson(read(layers))).contains("[\n    {\"layer\": 0, \"heads_cut\": [3]}\n"));
        }
    }

    void theLargestMaskOfALargeModelIsRead() {
        ModelSpec spec = raggedSpec();
        spec.layers.resize(126);
        for (LayerSpec& layer : spec.layers)
            layer.ffn = 53248;
        MaskRecord record;
        record.mask = PruningMask(spec);
        for (int index = 0; index < record.mask.layerCount(); ++index) {
            LayerMask layer = record.mask.layer(index);
            for (std::size_t i = 0; i < layer.neurons.size(); i += 2)
                layer.neurons[i] = false;
            record.mask.setLayer(index, layer);
        }
        QVERIFY(parseMask(maskJson(record), "a", spec, "").record == record);
    }

    void theDigestIsTheSameEverywhere() {
        // The expected digest was computed in Python with hashlib and struct, from the definition in mask_json.h.
        QCOMPARE(QString::fromStdString(maskDigest(variedMask())),
                 "sha256:00919c433e85dbe2b490208a57af61c0015a84ac7538ca0ab6a532cf30084dee");
    }

    void theDigestIgnoresWhatIsNoCut() {
        MaskRecord record = variedRecord();
        const QByteArray bare = document(raggedModel, R"({"layer":3,"block":"drop"},{"layer":1,"heads_cut":[1],
            "attention":"bypass_qk","alpha":2e-1},{"layer":0,"heads_cut":[2,0],"neurons_cut":[39,[4,31]]},
            {"layer":2,"mlp":"drop","attention":"drop"})");
        QCOMPARE(maskDigest(parsed(bare, raggedSpec()).record.mask), maskDigest(record.mask));
    }

    void theDigestTellsMasksApart() {
        std::mt19937_64 random(7);
        std::map<std::string, PruningMask> byDigest;
        for (int round = 0; round < 1000; ++round) {
            const PruningMask mask = randomMask(round % 2 == 0 ? raggedSpec() : tiedSpec(), random);
            const auto [at, isNew] = byDigest.emplace(maskDigest(mask), mask);
            QVERIFY(isNew || at->second == mask || mask.keepsAll());
        }
        PruningMask first(raggedSpec());
        PruningMask second = first;
        cutHeads(first, 0, {1});
        cutHeads(second, 1, {1});
        QVERIFY(maskDigest(first) != maskDigest(second));
        ModelSpec mistral = raggedSpec();
        mistral.architecture = "mistral";
        PruningMask other(mistral);
        cutHeads(other, 0, {1});
        QVERIFY(maskDigest(first) != maskDigest(other));
    }
};

SECATEUR_SUITE(TestMasks)
#include "tst_masks.moc"
