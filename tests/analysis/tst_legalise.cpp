// The legaliser (changes a mask so that all KV groups keep equally many heads) against an exhaustive search over all
// masks, and the masks that each form of export refuses.
#ifndef Q_MOC_RUN
#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "analysis/export/export_card.h"
#include "analysis/export/export_target.h"
#include "backends/export/export_targets.h"
#include "tests/support/drawn_masks.h"
#include "tests/support/mask_models.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <bit>
#include <functional>
#include <random>

using namespace secateur;
using namespace secateur::test;

namespace {

ModelSpec oneLayer(int heads, int kvHeads) {
    ModelSpec spec;
    spec.architecture = "llama";
    spec.hidden = heads * 4;
    LayerSpec layer;
    layer.heads = heads;
    layer.kvHeads = kvHeads;
    layer.headDim = 4;
    layer.rotary.dims = 4;
    layer.scoreScale = 0.5; // 1 / sqrt(headDim)
    layer.ffn = 8;
    spec.layers = {layer};
    return spec;
}

/// A mask of a one-layer model. Bit i of `bits` is 1 if head i is kept.
PruningMask maskOf(const ModelSpec& spec, unsigned bits) {
    PruningMask mask(spec);
    LayerMask layer = mask.layer(0);
    for (std::size_t head = 0; head < layer.heads.size(); ++head)
        layer.heads[head] = (bits >> head & 1U) != 0;
    mask.setLayer(0, layer);
    return mask;
}

unsigned bitsOf(const PruningMask& mask) {
    unsigned bits = 0;
    for (std::size_t head = 0; head < mask.layer(0).heads.size(); ++head)
        bits |= (mask.layer(0).heads[head] ? 1U : 0U) << head;
    return bits;
}

/// Computed without the code under test: in a legal mask all KV groups that keep any heads keep the same number.
bool isLegal(unsigned bits, int heads, int kvHeads) {
    const int perGroup = heads / kvHeads;
    int common = 0;
    for (int group = 0; group < kvHeads; ++group) {
        const int kept = std::popcount(bits >> group * perGroup & ((1U << perGroup) - 1));
        if (kept > 0 && common > 0 && kept != common)
            return false;
        common = kept > 0 ? kept : common;
    }
    return true;
}

/// The smallest number of heads in which a legal mask differs from `wanted`, found by an exhaustive search.
int fewest(unsigned wanted, int heads, int kvHeads, LegaliseBy by) {
    int best = heads;
    for (unsigned bits = 0; bits < 1U << heads; ++bits) {
        const bool isAllowed =
            by == LegaliseBy::either || (by == LegaliseBy::cutting ? (bits & ~wanted) == 0 : (wanted & ~bits) == 0);
        if (isAllowed && isLegal(bits, heads, kvHeads))
            best = std::min(best, std::popcount(bits ^ wanted));
    }
    return best;
}

/// A mask that keeps everything except the cuts that `change` makes in layer `index`.
PruningMask cut(const ModelSpec& spec, int index, const std::function<void(LayerMask&)>& change) {
    PruningMask mask(spec);
    LayerMask layer = mask.layer(index);
    change(layer);
    mask.setLayer(index, layer);
    return mask;
}

void bypass(LayerMask& layer, double alpha) {
    layer.attention = AttentionCut::bypassQk;
    layer.alpha = alpha;
}

QString reasons(const char* target, const PruningMask& mask, const ModelSpec& spec,
                const char* format = "safetensors") {
    QStringList sentences;
    for (const ExportReason& reason : exportTarget(target).reasons(mask, spec, format))
        sentences << QString::fromStdString(reason.sentence);
    return sentences.join("; ");
}

} // namespace

class TestLegalise : public QObject {
    Q_OBJECT

private slots:
    void changesTheFewestHeadsOfAnyMask_data() {
        QTest::addColumn<int>("heads");
        QTest::addColumn<int>("kvHeads");
        for (const auto& [heads, kvHeads] : {std::pair{4, 2}, {6, 2}, {6, 3}, {8, 2}, {8, 4}, {9, 3}, {4, 4}, {5, 1}})
            QTest::addRow("%d heads, %d groups", heads, kvHeads) << heads << kvHeads;
    }
    void changesTheFewestHeadsOfAnyMask() {
        QFETCH(int, heads);
        QFETCH(int, kvHeads);
        const ModelSpec spec = oneLayer(heads, kvHeads);
        for (unsigned bits = 0; bits < 1U << heads; ++bits)
            for (const LegaliseBy by : {LegaliseBy::either, LegaliseBy::cutting, LegaliseBy::keeping}) {
                const LegalMask legal = legalised(maskOf(spec, bits), spec, by);
                const unsigned found = bitsOf(legal.mask);
                QVERIFY(isLegal(found, heads, kvHeads));
                QVERIFY(keepsEqualGroups(legal.mask.layer(0), spec.layers[0]));
                QCOMPARE(keepsEqualGroups(maskOf(spec, bits).layer(0), spec.layers[0]), isLegal(bits, heads, kvHeads));
                QCOMPARE(std::popcount(found ^ bits), fewest(bits, heads, kvHeads, by));
                QCOMPARE(std::ssize(legal.cut), std::popcount(bits & ~found));
                QCOMPARE(std::ssize(legal.kept), std::popcount(found & ~bits));
            }
    }

    void protectedUnitsAreNeverCut() {
        std::mt19937 random(27);
        const auto chance = [&](double share) { return std::bernoulli_distribution(share)(random); };
        int restored = 0;
        for (unsigned seed = 0; seed < 300; ++seed) {
            ModelSpec spec = oneLayer(seed % 2 == 0 ? 8 : 9, seed % 2 == 0 ? 2 : 3);
            spec.layers.resize(4, spec.layers.front());
            const PruningMask mask = DrawnMasks(spec, seed).next(0.3 + 0.1 * (seed % 6));
            Protection units;
            for (int layer = 0; layer < spec.layerCount(); ++layer) {
                if (chance(0.1))
                    units.protectLayer(spec, layer);
                for (int head = 0; head < spec.layers.front().heads; ++head)
                    if (chance(0.2))
                        units.protectHead(spec, {layer, head});
            }
            PruningMask spared = mask;
            units.restore(spared);
            for (const LegaliseBy by : {LegaliseBy::either, LegaliseBy::cutting, LegaliseBy::keeping}) {
                const LegalMask legal = legalised(mask, spec, by, units);
                for (int layer = 0; layer < spec.layerCount(); ++layer)
                    QVERIFY(keepsEqualGroups(legal.mask.layer(layer), spec.layers.front()));
                PruningMask untouched = legal.mask;
                units.restore(untouched);
                QVERIFY(untouched == legal.mask);
                for (const HeadId& head : legal.cut) {
                    const bool isRestored =
                        std::ranges::find(legal.restoredLayers, head.layer) != legal.restoredLayers.end();
                    QVERIFY(!units.has(head) && (by != LegaliseBy::keeping || isRestored));
                }
                for (const HeadId& head : legal.kept)
                    if (spared.layer(head.layer).heads[static_cast<std::size_t>(head.head)] == false)
                        QVERIFY(by != LegaliseBy::cutting ||
                                std::ranges::find(legal.restoredLayers, head.layer) != legal.restoredLayers.end());
                restored += static_cast<int>(legal.restoredLayers.size());
            }
        }
        QVERIFY(restored > 20);
    }

    /// The same search as above, with protected heads.
    void protectionChangesNoMoreThanItMust() {
        const ModelSpec spec = oneLayer(6, 2);
        for (unsigned spared = 0; spared < 1U << 6; ++spared) {
            Protection units;
            for (int head = 0; head < 6; ++head)
                if (spared >> head & 1U)
                    units.protectHead(spec, {0, head});
            for (unsigned bits = 0; bits < 1U << 6; ++bits) {
                int best = 6;
                const unsigned before = bits | spared;
                for (unsigned other = 0; other < 1U << 6; ++other)
                    if ((other & spared) == spared && isLegal(other, 6, 2))
                        best = std::min(best, std::popcount(other ^ before));
                const LegalMask legal = legalised(maskOf(spec, bits), spec, LegaliseBy::either, units);
                QCOMPARE(std::popcount(bitsOf(legal.mask) ^ before), best);
                QCOMPARE(std::ssize(legal.kept), std::popcount(bitsOf(legal.mask) & ~bits));
            }
        }
    }

    void leavesDroppedAndBypassedAttentionAlone() {
        const ModelSpec spec = oneLayer(6, 2);
        PruningMask mask = maskOf(spec, 0b000001 | 0b111000);
        QVERIFY(legalised(mask, spec).mask != mask);
        LayerMask layer = mask.layer(0);
        bypass(layer, 0.5);
        mask.setLayer(0, layer);
        QVERIFY(legalised(mask, spec).mask == mask);
    }

    void layersThatShareWeightsAreChangedAsOne() {
        ModelSpec spec = tiedSpec();
        for (LayerSpec& layer : spec.layers)
            layer.kvHeads = 2;
        PruningMask mask(spec);
        LayerMask layer = mask.layer(1);
        layer.heads = {true, false, true, true};
        mask.setLayer(1, layer);
        const LegalMask legal = legalised(mask, spec);
        QCOMPARE(legal.kept, (std::vector<HeadId>{{1, 1}}));
        QVERIFY(legal.mask.keepsAll());
    }

    void maskedExportRefusesWhatZerosCannotSay() {
        const ModelSpec spec = oneLayer(4, 2);
        QCOMPARE(reasons("masked", cut(spec, 0, [](LayerMask& layer) { layer.block = false; }), spec), "");
        QCOMPARE(reasons("masked", cut(spec, 0, [](LayerMask& layer) { bypass(layer, 0); }), spec), "");
        QVERIFY(reasons("masked", cut(spec, 0, [](LayerMask& layer) { bypass(layer, 0.2); }), spec)
                    .startsWith("layer 0: queries and keys are bypassed"));
        ModelSpec encoder = tiedSpec();
        encoder.normPlace = NormPlace::after;
        const PruningMask noBlock = cut(encoder, 1, [](LayerMask& layer) { layer.block = false; });
        QVERIFY(reasons("masked", noBlock, encoder).startsWith("layers 1, 3 and 5: the block is dropped"));
        const PruningMask noAttention = cut(encoder, 1, [](LayerMask& layer) { layer.attention = AttentionCut::drop; });
        QCOMPARE(reasons("masked", noAttention, encoder), "");
    }

    void theRefusalNamesTheTargetsThatCan() {
        const ModelSpec spec = oneLayer(4, 2);
        try {
            checkExport(exportTarget("masked"), exportTargets(),
                        cut(spec, 0, [](LayerMask& layer) { bypass(layer, 0.2); }), spec, "safetensors");
            QFAIL("accepted");
        } catch (const Error& error) {
            QVERIFY(QString::fromStdString(error.hint()).contains("GGUF, unequal layers"));
        }
        QVERIFY_EXCEPTION_THROWN(exportTarget("nothing"), UsageError);
    }

    void otherTargetsSayWhyNot() {
        ModelSpec spec = oneLayer(4, 2);
        spec.layers.push_back(spec.layers.front());
        const auto oneHead = [](LayerMask& layer) { layer.heads[0] = false; };
        const auto oneOfEach = [](LayerMask& layer) { layer.heads[0] = layer.heads[2] = false; };
        const auto neuron = [](LayerMask& layer) { layer.neurons[3] = false; };
        const auto block = [](LayerMask& layer) { layer.block = false; };
        QCOMPARE(reasons("gguf_deci", cut(spec, 1, oneHead), spec), "");
        // A head of zeros takes the place of the cut one, so that all layers keep the same shape.
        QCOMPARE(reasons("gguf_native", cut(spec, 1, oneHead), spec), "");
        PruningMask unequal = cut(spec, 1, oneHead);
        unequal.setLayer(0, cut(spec, 0, oneOfEach).layer(0));
        QVERIFY(reasons("gguf_native", unequal, spec).contains("KV groups"));
        QVERIFY(reasons("gguf_native", cut(spec, 1, oneOfEach), spec).contains("head counts vary"));
        QVERIFY(reasons("native", cut(spec, 1, oneOfEach), spec).contains("head counts vary"));
        QVERIFY(reasons("native", cut(spec, 1, neuron), spec).contains("MLP widths vary"));
        QCOMPARE(reasons("native", cut(spec, 1, block), spec), "");
        PruningMask uniform = cut(spec, 1, oneOfEach);
        uniform.setLayer(0, uniform.layer(1));
        QCOMPARE(reasons("native", uniform, spec), "");
        QCOMPARE(reasons("decilm", cut(spec, 1, neuron), spec), "");
        QVERIFY(reasons("decilm", cut(spec, 1, oneOfEach), spec).contains("query heads"));
        ModelSpec ragged = spec;
        ragged.layers[1].ffn /= 2;
        QVERIFY(reasons("per_layer", PruningMask(ragged), ragged, "gguf").contains("GGUF"));
        QVERIFY(reasons("padded", cut(spec, 1, oneHead), spec).contains("nothing gets smaller"));
        QCOMPARE(reasons("padded", uniform, spec), "");
        spec.layers[0].normsHeads = spec.layers[1].normsHeads = true;
        QVERIFY(reasons("gguf_deci", cut(spec, 1, oneOfEach), spec).contains("deci"));
    }

    void reasonsNameTheirUnits() {
        ModelSpec spec = oneLayer(4, 2);
        spec.layers.resize(3, spec.layers.front());
        PruningMask unequal = cut(spec, 1, [](LayerMask& layer) { layer.heads[0] = false; });
        for (const int index : {0, 2})
            unequal.setLayer(index, cut(spec, index, [](LayerMask& layer) {
                                        layer.heads[0] = layer.heads[2] = false;
                                    }).layer(index));
        const Reasons counts = exportTarget("native").reasons(unequal, spec, "safetensors");
        QCOMPARE(counts.size(), std::size_t{2}); // head counts that vary, and the groups
        QVERIFY(counts[0].sentence.starts_with("head counts vary"));
        QCOMPARE(counts[0].layers, std::vector<int>{1});
        QCOMPARE(headsOf(counts[0], spec), (std::vector<HeadId>{{1, 0}, {1, 1}, {1, 2}, {1, 3}}));
        QVERIFY(counts[1].sentence.starts_with("layer 1: KV groups"));
        QCOMPARE(counts[1].layers, std::vector<int>{1});
        QCOMPARE(headsOf(counts[1], spec), (std::vector<HeadId>{{1, 0}}));
        PruningMask bypassed(spec);
        for (const int index : {0, 2}) {
            LayerMask layer = bypassed.layer(index);
            bypass(layer, 0.2);
            bypassed.setLayer(index, layer);
        }
        const Reasons bypasses = exportTarget("masked").reasons(bypassed, spec, "safetensors");
        QCOMPARE(bypasses.size(), std::size_t{1});
        QCOMPARE(bypasses[0].layers, (std::vector<int>{0, 2}));
        ModelSpec encoder = spec;
        encoder.architecture = "bert";
        encoder.normPlace = NormPlace::after;
        const Reasons dropped =
            exportTarget("pruned_heads").reasons(bypassed, encoder, "safetensors"); // every layer, not only the first
        QCOMPARE(dropped.front().layers, (std::vector<int>{0, 2}));
        QVERIFY(exportTarget("onnx").reasons(unequal, spec, "safetensors").front().layers.empty());
    }

    void theCardTellsWhatWasCutAndKeepsTheSourcesOwn() {
        ModelCard card;
        card.spec = oneLayer(4, 2);
        card.name = "Small";
        card.fingerprint = "sha256:00";
        MaskRecord record;
        record.mask = cut(card.spec, 0, [](LayerMask& layer) {
            layer.heads[1] = false;
            layer.neurons[2] = layer.neurons[3] = layer.neurons[7] = false;
        });
        record.provenance = MaskProvenance{"gate_norm", {{"fold_norm", "true"}}, Budget{12.5, true}, "wiki", 3, "", ""};
        const QString text = QString::fromStdString(
            exportCard({card, record, "masked", {}, {"perplexity 12.3"}, "model.mask.json", "0.1"},
                       "---\nlicense: mit\n---\n# The source\n"));
        QVERIFY(text.startsWith("---\nlicense: mit\n---\n# Small, pruned"));
        QVERIFY(text.endsWith("---\n\n# The source\n"));
        for (const char* part : {"| 0 | head 1; neurons 2-3, 7 |", "method: gate_norm", "fold_norm: true",
                                 "budget: 12.5%", "measured on: wiki", "perplexity 12.3", "sha256:00"})
            QVERIFY2(text.contains(part), part);
    }
};

SECATEUR_SUITE(TestLegalise)
#include "tst_legalise.moc"
