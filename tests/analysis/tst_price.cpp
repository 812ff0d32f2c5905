// What a mask saves (parameters, bytes, operations), compared with tensors that were really sliced, with numbers from
// papers, and with direct sums.

#ifndef Q_MOC_RUN
#include "analysis/base/error.h"
#include "analysis/masks/price.h"
#include "backends/session/mask_json.h"
#include "tests/support/fixture.h"
#include "tests/support/mask_models.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>

using namespace secateur;
using namespace secateur::test;
using nlohmann::json;

namespace {

ModelCard cardOf(ModelSpec spec, std::int64_t parameters, std::int64_t bytes) {
    ModelCard card;
    card.spec = std::move(spec);
    card.parameters = parameters;
    card.bytes = bytes;
    return card;
}

ModelSpec uniformSpec(int layers, int heads, int kvHeads, int headDim, int ffn, int hidden) {
    ModelSpec spec;
    spec.architecture = "llama";
    spec.hidden = hidden;
    LayerSpec layer;
    layer.heads = heads;
    layer.kvHeads = kvHeads;
    layer.headDim = headDim;
    layer.ffn = ffn;
    spec.layers.assign(static_cast<std::size_t>(layers), layer);
    return spec;
}

/// An encoder with BERT's structure: a bias in every projection, layer norms after the sublayers, and an MLP without a
/// gate. With `shared`, all layers have the weights of layer 0, as in ALBERT.
ModelSpec encoderSpec(int layers, int heads, int hidden, bool shared = false) {
    ModelSpec spec = uniformSpec(layers, heads, heads, hidden / heads, 4 * hidden, hidden);
    spec.family = Family::encoder;
    spec.norm = NormKind::layer;
    spec.normPlace = NormPlace::after;
    spec.gatedMlp = false;
    for (LayerSpec& layer : spec.layers) {
        layer.queryBias = layer.keyBias = layer.valueBias = layer.outputBias = layer.upBias = layer.downBias = true;
        layer.stored = shared ? 0 : -1;
    }
    return spec;
}

/// A mask that cuts the first `count` heads of the model, counted from head 0 of layer 0.
PruningMask withoutHeads(const ModelSpec& spec, int count) {
    PruningMask mask(spec);
    for (int index = 0; index < spec.layerCount(); ++index) {
        LayerMask layer = mask.layer(index);
        for (auto head : layer.heads)
            if (count > 0)
                head = false, --count;
        mask.setLayer(index, layer);
    }
    return mask;
}

PruningMask readCase(const json& layers, const ModelSpec& spec) {
    const json document{{"secateur_mask", 1},
                        {"model", {{"architecture", spec.architecture}, {"structure", spec.structure()}}},
                        {"layers", layers}};
    return parseMask(document.dump(), "case", spec, {}).record.mask;
}

PruningMask randomMask(const ModelSpec& spec, std::mt19937_64& random) {
    PruningMask mask(spec);
    for (int index = 0; index < spec.layerCount(); ++index) {
        LayerMask layer = mask.layer(index);
        for (auto head : layer.heads)
            head = random() % 2 == 0;
        for (auto neuron : layer.neurons)
            neuron = random() % 3 != 0;
        mask.setLayer(index, layer);
    }
    return mask;
}

} // namespace

class TestPrice : public QObject {
    Q_OBJECT

private slots:
    void parametersAreThoseOfSlicedTensors_data() {
        QTest::addColumn<QString>("folder");
        const json expected = readJson(data().filePath("price/parameters.json"));
        for (const auto& item : expected.items())
            QTest::newRow(item.key().c_str()) << QString::fromStdString(item.key());
    }
    void parametersAreThoseOfSlicedTensors() {
        QFETCH(QString, folder);
        const auto model = openModel(data().filePath("forward/" + folder + "/model.safetensors").toStdString());
        const PriceList prices(model->card());
        const json expected = readJson(data().filePath("price/parameters.json"));
        // Bytes per parameter, equal for all tensors of the file.
        const std::int64_t width = model->card().bytes / model->card().parameters;
        for (const json& item : expected.at(folder.toStdString())) {
            const PruningMask mask = readCase(item.at("layers"), model->spec());
            const Price price = prices.price(mask);
            const auto parameters = item.at("parameters").get<std::int64_t>();
            QVERIFY2(price.parameters.left == parameters,
                     qPrintable(QString("%1 instead of %2 under %3")
                                    .arg(price.parameters.left)
                                    .arg(parameters)
                                    .arg(QString::fromStdString(item.at("layers").dump()))));
            QCOMPARE(price.bytes.saved(), width * price.parameters.saved());
        }
    }

    // The numbers of parameters before and after pruning that the Greedy-Gnorm paper states
    // (resources/manual/accuracy.md). For RoBERTa-large the paper states 245 cut heads.
    void encodersWithoutHeadsAreAsLargeAsThePaperSays_data() {
        QTest::addColumn<int>("layers");
        QTest::addColumn<int>("heads");
        QTest::addColumn<int>("hidden");
        QTest::addColumn<bool>("shared");
        QTest::addColumn<int>("cut");
        QTest::addColumn<qint64>("before");
        QTest::addColumn<qint64>("after");
        QTest::newRow("BERT") << 12 << 12 << 768 << false << 117 << qint64{102269955} << qint64{79244355};
        QTest::newRow("ALBERT") << 12 << 12 << 768 << true << 3 << qint64{11685891} << qint64{11095491};
        QTest::newRow("RoBERTa") << 24 << 16 << 1024 << false << 245 << qint64{355361794} << qint64{291089474};
        QTest::newRow("XLM-R") << 12 << 12 << 768 << false << 105 << qint64{278059028} << qint64{257395028};
    }
    void encodersWithoutHeadsAreAsLargeAsThePaperSays() {
        QFETCH(int, layers);
        QFETCH(int, heads);
        QFETCH(int, hidden);
        QFETCH(bool, shared);
        QFETCH(int, cut);
        QFETCH(qint64, before);
        QFETCH(qint64, after);
        const ModelSpec spec = encoderSpec(layers, heads, hidden, shared);
        const Price price = PriceList(cardOf(spec, before, 4 * before)).price(withoutHeads(spec, cut));
        QCOMPARE(price.parameters.left, after);
        QCOMPARE(price.bytes.left, 4 * after);
        QCOMPARE(price.kvBytesPerToken.all, 0.0);
        QCOMPARE(price.heads.saved(), shared ? layers * cut : cut);
    }

    // The AMP paper removes 21.02 % of the parameters of LLaMA-2-7B. Cutting 7 heads and 2408 neurons in each layer
    // gives this percentage.
    void ampsRatioIsReached() {
        const ModelSpec spec = uniformSpec(32, 32, 32, 128, 11008, 4096);
        PruningMask mask(spec);
        for (int index = 0; index < 32; ++index) {
            LayerMask layer = mask.layer(index);
            std::fill_n(layer.heads.begin(), 7, false);
            std::fill_n(layer.neurons.begin(), 2408, false);
            mask.setLayer(index, layer);
        }
        const Price price = PriceList(cardOf(spec, 6738415616, 13476831232)).price(mask);
        qInfo("AMP: %.4f %% of the parameters (paper: 21.02 %%)", 100 * (1 - price.parameterShare()));
        QCOMPARE(std::round(1e4 * (1 - price.parameterShare())), 2102.0);
    }

    // The HARP paper bypasses the attention of the last 8 layers of Llama-3.1-8B, 3 of them with alpha 0 (no attention
    // at all), and removes 3.305 % of the weights of linear layers.
    void harpsRatioIsReached() {
        const ModelSpec spec = uniformSpec(32, 32, 8, 128, 14336, 4096);
        PruningMask mask(spec);
        for (int index = 24; index < 32; ++index) {
            LayerMask layer = mask.layer(index);
            layer.attention = AttentionCut::bypassQk;
            layer.alpha = index < 27 ? 0 : 0.1;
            mask.setLayer(index, layer);
        }
        const std::int64_t linear = 32 * (2LL * 4096 * 4096 + 2LL * 4096 * 1024 + 3LL * 4096 * 14336);
        const Price price = PriceList(cardOf(spec, 8030261248, 16060522496)).price(mask);
        // Norm weights of the three dropped sublayers, which the paper's percentage does not count.
        const std::int64_t norms = 3 * 4096;
        const double ratio = static_cast<double>(price.parameters.saved() - norms) / static_cast<double>(linear);
        qInfo("HARP: %.4f %% of the linear weights (paper: 3.3 %%)", 100 * ratio);
        QCOMPARE(std::round(1e5 * ratio), 3305.0);
        QCOMPARE(price.bypassed, 5);
        QCOMPARE(price.attention.saved(), 3);
        QCOMPARE(price.kvBytesPerToken.all, 131072.0); // 128 KiB: 2 * 32 layers * 8 KV heads * 128 dimensions * 2 bytes
        QCOMPARE(price.kvBytesPerToken.left, 131072.0 * 24 / 32);
    }

    void headsByBruteForce() {
        std::mt19937_64 random(3);
        for (const auto& [heads, kvHeads] : {std::pair{6, 6}, {6, 3}, {6, 2}, {6, 1}}) {
            ModelSpec spec = uniformSpec(3, heads, kvHeads, 4, 7, 24);
            spec.layers[1].window = 16;
            const PriceList prices(cardOf(spec, 100000, 200000));
            for (int round = 0; round < 50; ++round) {
                const PruningMask mask = randomMask(spec, random);
                std::int64_t saved = 0;
                double kvBytes = 0;
                std::set<std::pair<int, int>> halfCut;
                for (int index = 0; index < 3; ++index) {
                    std::set<int> served;
                    std::set<int> cutIn;
                    bool attends = false;
                    for (int head = 0; head < heads; ++head) {
                        const bool kept = mask.layer(index).heads[static_cast<std::size_t>(head)];
                        saved += kept ? 0 : 2 * 4 * 24;
                        (kept ? served : cutIn).insert(head / (heads / kvHeads));
                        attends = attends || kept;
                    }
                    saved += attends ? 0 : 24;
                    for (int group = 0; group < kvHeads; ++group) {
                        saved += served.contains(group) ? 0 : 2 * 4 * 24;
                        kvBytes += served.contains(group) ? 2 * 4 * 2 : 0;
                        if (served.contains(group) && cutIn.contains(group))
                            halfCut.insert({index, group});
                    }
                    const int neurons = mask.layer(index).keptNeurons();
                    saved += 3 * 24 * (7 - neurons) + (neurons == 0 ? 24 : 0);
                }
                const Price price = prices.price(mask);
                QCOMPARE(price.parameters.saved(), saved);
                QCOMPARE(price.bytes.saved(), 2 * saved);
                QCOMPARE(price.kvBytesPerToken.left, kvBytes);
                std::set<std::pair<int, int>> told;
                for (const HalfCutGroup& group : price.halfCutGroups)
                    told.insert({group.layer, group.group});
                QVERIFY(told == halfCut);
                QCOMPARE(price.windowedLayers.empty(), price.windowedKvBytesPerToken.left == 0);
            }
        }
    }

    /// A sublayer without heads or neurons goes with its norm, unless a bias of its output is left.
    void anEmptySublayerKeepsItsNormWhereABiasStays_data() {
        QTest::addColumn<bool>("biased");
        QTest::newRow("without biases") << false;
        QTest::newRow("with biases") << true;
    }
    void anEmptySublayerKeepsItsNormWhereABiasStays() {
        QFETCH(bool, biased);
        ModelSpec spec = uniformSpec(2, 4, 2, 8, 10, 32);
        for (LayerSpec& layer : spec.layers)
            layer.outputBias = layer.downBias = biased;
        const PriceList prices(cardOf(spec, 100000, 200000));
        constexpr std::int64_t norm = 32;
        const std::int64_t saved = biased ? 0 : norm;
        PruningMask mask(spec);
        LayerMask layer = mask.layer(1);
        layer.heads.assign(4, false);
        mask.setLayer(1, layer);
        QCOMPARE(prices.price(mask).parameters.saved(), 2 * (4 + 2) * 8 * 32 + saved);
        layer = PruningMask(spec).layer(1);
        layer.neurons.assign(10, false);
        mask.setLayer(1, layer);
        QCOMPARE(prices.price(mask).parameters.saved(), 3 * 10 * 32 + saved);
        layer.mlp = false;
        layer.neurons.assign(10, true);
        mask.setLayer(1, layer);
        QCOMPARE(prices.price(mask).parameters.saved(), 3 * 10 * 32 + norm + (biased ? 32 : 0)); // a dropped MLP
    }

    void keepingAllSavesNothing() {
        for (const ModelSpec& spec : {raggedSpec(), tiedSpec()}) {
            const Price price = PriceList(cardOf(spec, 5000, 10000)).price(PruningMask(spec));
            QCOMPARE(price.parameters.saved(), 0);
            QCOMPARE(price.bytes.saved(), 0);
            QCOMPARE(price.operationShare(), 1.0);
            QCOMPARE(price.parameterShare(), 1.0);
            QCOMPARE(price.heads.saved() + price.kvHeads.saved() + price.attention.saved() + price.mlps.saved(), 0);
            QVERIFY(price.halfCutGroups.empty());
        }
    }

    void bytesAreThoseOfEachWeight() {
        const ModelSpec spec = uniformSpec(2, 4, 2, 8, 10, 32);
        // Stored sizes in bytes: 512 for W_v, 0 for mlpNorm and 2048 for every other weight of a layer.
        const auto stored = [](int, WeightName which) -> std::int64_t {
            return which == WeightName::value ? 16 * 32 : which == WeightName::mlpNorm ? 0 : 2 * 32 * 32;
        };
        PruningMask mask(spec);
        LayerMask layer = mask.layer(1);
        std::fill_n(layer.heads.begin(), 2, false);
        mask.setLayer(1, layer);
        const Price price = PriceList(cardOf(spec, 10000, 30000), stored).price(mask);
        // Half of 2048 bytes each of W_q, W_k and W_o, and half of 512 bytes of W_v.
        QCOMPARE(price.bytes.saved(), 3 * 32 * 32 + 8 * 32);
    }

    void operationsAreThoseOfTheLayers() {
        const ModelSpec spec = uniformSpec(4, 8, 2, 4, 20, 32);
        std::mt19937_64 random(5);
        const PruningMask mask = randomMask(spec, random);
        const Price price = PriceList(cardOf(spec, 1, 1), {.positions = 77}).price(mask);
        double sum = lmHeadOperations(spec);
        for (int index = 0; index < 4; ++index)
            sum += layerOperations(spec, index, mask.layer(index), 77);
        QCOMPARE(price.operationsPerToken.left, sum);
        QCOMPARE(price.operationShare(), operationShares(spec, mask, 77).front());
    }

    void aGroupSaysWhomItStillServes() {
        const ModelSpec spec = uniformSpec(4, 6, 2, 4, 1, 8);
        PruningMask mask(spec);
        LayerMask layer = mask.layer(3);
        layer.heads[3] = layer.heads[4] = false;
        mask.setLayer(3, layer);
        const Price price = PriceList(cardOf(spec, 1000, 1000)).price(mask);
        QCOMPARE(price.halfCutGroups, (std::vector<HalfCutGroup>{{3, 1}}));
        QCOMPARE(sentence(price.halfCutGroups[0], spec, mask), std::string("L3: group 1 still serves head 5"));
    }

    void aMaskOfAnotherModelIsRefused() {
        const PriceList prices(cardOf(raggedSpec(), 1000, 1000));
        QVERIFY_THROWS_EXCEPTION(Error, prices.price(PruningMask(tiedSpec())));
    }

    void aLargeModelIsPricedAtOnce() {
        const ModelSpec spec = uniformSpec(128, 128, 16, 128, 53248, 16384);
        const PriceList prices(cardOf(spec, 405'000'000'000, 810'000'000'000));
        std::mt19937_64 random(1);
        const PruningMask mask = randomMask(spec, random);
        double best = 1;
        for (int round = 0; round < 20; ++round) {
            const auto begin = std::chrono::steady_clock::now();
            const Price price = prices.price(mask);
            const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
            QVERIFY(price.parameters.left < price.parameters.all);
            best = std::min(best, seconds.count());
        }
        qInfo("128 x 128 heads, 128 x 53248 neurons: %.3f ms", 1e3 * best);
        QVERIFY(best < 0.05);
    }
};

SECATEUR_SUITE(TestPrice)
#include "tst_price.moc"
