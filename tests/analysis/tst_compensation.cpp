// Compensation as a part of masks: what has no effect is left out, and an edit of a sublayer removes its compensation.

#ifndef Q_MOC_RUN
#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/price.h"
#include "tests/support/mask_models.h"
#include "tests/support/suite.h"
#include "tests/support/zeroed_model.h"
#endif

#include <QtTest>

#include <array>
#include <cmath>
#include <functional>
#include <random>

using namespace secateur;
using namespace secateur::test;

namespace {

ModelSpec wideSpec() {
    ModelSpec spec = raggedSpec();
    spec.hidden = 6;
    return spec;
}

/// A mask that cuts head 0 and neuron 2 of layer 0, in which every layer has all parts of a compensation.
PruningMask compensatedMask() {
    PruningMask mask(wideSpec());
    LayerMask layer = mask.layer(0);
    layer.heads[0] = layer.neurons[2] = false;
    mask.setLayer(0, layer);
    return withDrawnCompensation(mask, wideSpec(), 1, 1);
}

PruningMask with(PruningMask mask, int index, const std::function<void(LayerMask&)>& change) {
    LayerMask layer = mask.layer(index);
    change(layer);
    mask.setLayer(index, layer);
    return mask;
}

/// A layer of a mask without its compensation, for comparing cuts.
LayerMask bare(LayerMask layer) {
    layer.compensation.reset();
    return layer;
}

/// A mask with random cuts; each layer has one of two compensations, or none.
PruningMask drawn(std::mt19937& random) {
    PruningMask mask(wideSpec());
    for (int index = 0; index < mask.layerCount(); ++index) {
        LayerMask layer = mask.layer(index);
        if (!layer.heads.empty())
            layer.heads[0] = random() % 2 == 0;
        layer.neurons[0] = random() % 2 == 0;
        if (random() % 4 == 0)
            layer.attention = AttentionCut::drop;
        layer.mlp = random() % 4 != 0;
        if (const auto seed = static_cast<unsigned>(random() % 3); seed > 0)
            layer.compensation =
                withDrawnCompensation(PruningMask(wideSpec()), wideSpec(), seed, 1).layer(index).compensation;
        mask.setLayer(index, layer);
    }
    return mask;
}

} // namespace

class TestCompensation : public QObject {
    Q_OBJECT

private slots:
    void partsWithoutEffectAreLeftOut() {
        const PruningMask mask = compensatedMask();
        QVERIFY(mask.isCompensated() && !mask.layer(1).keepsAll() && !mask.layer(1).hasCuts());
        QCOMPARE(compensationOf(mask.layer(0)).headScale.at(0), 1.F); // the head is cut
        QCOMPARE(compensationOf(mask.layer(0)).neuronScale.at(2), 1.F);
        const auto left = [&](const std::function<void(LayerMask&)>& change) {
            return compensationOf(with(mask, 0, change).layer(0));
        };
        const LayerCompensation all = compensationOf(mask.layer(0));
        QVERIFY(left([](LayerMask& layer) { layer.block = false; }).empty());
        QCOMPARE(left([](LayerMask& layer) { layer.attention = AttentionCut::drop; }), all.ofMlp());
        QCOMPARE(left([](LayerMask& layer) { layer.mlp = false; }), all.ofAttention());
        const auto bypass = [](double alpha) {
            return [alpha](LayerMask& layer) {
                layer.attention = AttentionCut::bypassQk;
                layer.alpha = alpha;
            };
        };
        QCOMPARE(left(bypass(0)), all.ofMlp());
        QCOMPARE(left(bypass(0.5)), all);
        const PruningMask neutral = with(PruningMask(wideSpec()), 0, [](LayerMask& layer) {
            LayerCompensation made{std::vector<float>(3, 1.F), std::vector<float>(40, 1.F), std::vector<float>(6, -0.F),
                                   std::vector<float>(6, 0.F)};
            layer.compensation = std::make_shared<const LayerCompensation>(made);
        });
        QVERIFY(neutral.keepsAll() && neutral == PruningMask(wideSpec()));
        const PruningMask signedZero = with(PruningMask(wideSpec()), 0, [](LayerMask& layer) {
            layer.compensation = std::make_shared<const LayerCompensation>(
                LayerCompensation{{}, {}, {}, {1.F, -0.F, 2.F, 3.F, 4.F, 5.F}});
        });
        QVERIFY(!std::signbit(compensationOf(signedZero.layer(0)).mlpBias.at(1)));
    }

    void layersThatShareTheirWeightsShareTheCompensation() {
        ModelSpec spec = tiedSpec();
        spec.hidden = 6;
        const PruningMask mask = with(PruningMask(spec), 2, [](LayerMask& layer) {
            layer.compensation =
                std::make_shared<const LayerCompensation>(LayerCompensation{{1.F, 2.F, 3.F, 4.F}, {}, {}, {}});
        });
        for (const int index : {0, 2, 4})
            QCOMPARE(compensationOf(mask.layer(index)).headScale.at(3), 4.F);
        QVERIFY(mask.layer(1).keepsAll());
    }

    void anEditRemovesTheCompensationOfItsSublayer_data() {
        QTest::addColumn<bool>("keepsAttention");
        QTest::addColumn<bool>("keepsMlp");
        const auto row = [](const char* name, bool attention, bool mlp) { QTest::newRow(name) << attention << mlp; };
        row("cut a head", false, true);
        row("cut a head that is cut", true, true);
        row("restore a head", false, true);
        row("cut neurons", true, false);
        row("restore neurons that are kept", true, true);
        row("bypass", false, true);
        row("drop the attention", false, true);
        row("restore the attention", false, true);
        row("drop the MLP", true, false);
        row("drop the block", false, false);
        row("restore the block", false, false);
        row("cut a KV group", false, true);
    }
    void anEditRemovesTheCompensationOfItsSublayer() {
        QFETCH(bool, keepsAttention);
        QFETCH(bool, keepsMlp);
        const std::map<QString, std::function<void(PruningMask&)>> edits{
            {"cut a head", [](PruningMask& mask) { setHeads(mask, std::array{HeadId{0, 1}}, false); }},
            {"cut a head that is cut", [](PruningMask& mask) { setHeads(mask, std::array{HeadId{0, 0}}, false); }},
            {"restore a head", [](PruningMask& mask) { setHeads(mask, std::array{HeadId{0, 0}}, true); }},
            {"cut neurons", [](PruningMask& mask) { setNeurons(mask, 0, std::array{5, 6}, false); }},
            {"restore neurons that are kept", [](PruningMask& mask) { setNeurons(mask, 0, std::array{5}, true); }},
            {"bypass", [](PruningMask& mask) { bypassAttention(mask, 0, 0.5); }},
            {"drop the attention", [](PruningMask& mask) { setAttention(mask, 0, false); }},
            {"restore the attention", [](PruningMask& mask) { setAttention(mask, 0, true); }},
            {"drop the MLP", [](PruningMask& mask) { setMlp(mask, 0, false); }},
            {"drop the block", [](PruningMask& mask) { setBlock(mask, 0, false); }},
            {"restore the block", [](PruningMask& mask) { setBlock(mask, 0, true); }},
            {"cut a KV group",
             [](PruningMask& mask) { cutUnits(mask, wideSpec(), CutUnit::kvGroup, 0, std::array{2}); }}};
        const PruningMask before = compensatedMask();
        PruningMask after = before;
        edits.at(QTest::currentDataTag())(after);
        const LayerCompensation own = compensationOf(before.layer(0));
        const LayerCompensation left = compensationOf(after.layer(0));
        QCOMPARE(left.ofAttention(), keepsAttention ? own.ofAttention() : LayerCompensation());
        QCOMPARE(left.ofMlp(), keepsMlp ? own.ofMlp() : LayerCompensation());
        for (int index = 1; index < after.layerCount(); ++index)
            QVERIFY(after.layer(index) == before.layer(index));
    }

    void masksCombineAsSetsOfCuts() {
        std::mt19937 random(20261124);
        const PruningMask dense(wideSpec());
        for (int round = 0; round < 300; ++round) {
            const PruningMask a = drawn(random);
            const PruningMask b = drawn(random);
            QVERIFY(unionOf(a, a) == a && intersectionOf(a, a) == a && subtraction(a, a) == dense);
            QVERIFY(unionOf(a, dense) == a && intersectionOf(a, dense) == dense && subtraction(a, dense) == a);
            QVERIFY(unionOf(a, b) == unionOf(b, a) && intersectionOf(a, b) == intersectionOf(b, a));
            for (const auto& [made, isUnion] : {std::pair(unionOf(a, b), true), std::pair(intersectionOf(a, b), false)})
                for (int layer = 0; layer < made.layerCount(); ++layer)
                    QVERIFY(isOfAMaskWithTheseCuts(made.layer(layer), a.layer(layer), b.layer(layer)));
        }
        // Two compensations of the same cuts: neither is chosen.
        const PruningMask one = compensatedMask();
        const PruningMask other = withDrawnCompensation(one, wideSpec(), 2, 1);
        QVERIFY(!unionOf(one, other).isCompensated() && !intersectionOf(one, other).isCompensated());
        QVERIFY(bare(unionOf(one, other).layer(0)) == bare(one.layer(0)));
        QVERIFY(!inversionOf(one, CutUnit::head, wideSpec()).isCompensated());
    }

    void aCompensationCostsNothing() {
        const PruningMask mask = compensatedMask();
        PruningMask without = mask;
        for (int index = 0; index < mask.layerCount(); ++index)
            without = with(without, index, [](LayerMask& layer) { layer.compensation.reset(); });
        ModelCard card;
        card.spec = wideSpec();
        const Price price = PriceList(card).price(mask);
        const Price plain = PriceList(card).price(without);
        QVERIFY(price.parameters == plain.parameters && price.bytes == plain.bytes && price.heads == plain.heads);
        QCOMPARE(description(mask.layer(0)), std::string("head 0; neuron 2; compensated"));
        QCOMPARE(description(mask.layer(1)), std::string("compensated"));
        QCOMPARE(description(without.layer(1)), std::string());
    }

private:
    /// Whether each part of a compensation belongs to one of two masks that has the same cuts there.
    static bool isOfAMaskWithTheseCuts(const LayerMask& made, const LayerMask& a, const LayerMask& b) {
        const LayerCompensation own = compensationOf(made);
        const auto fits = [&](const LayerMask& from) {
            const bool attention = own.ofAttention().empty() ||
                                   (own.ofAttention() == compensationOf(from).ofAttention() &&
                                    made.heads == from.heads && made.attention == from.attention);
            const bool mlp = own.ofMlp().empty() || (own.ofMlp() == compensationOf(from).ofMlp() &&
                                                     made.neurons == from.neurons && made.mlp == from.mlp);
            return std::pair(attention, mlp);
        };
        return (fits(a).first || fits(b).first) && (fits(a).second || fits(b).second);
    }
};

SECATEUR_SUITE(TestCompensation)
#include "tst_compensation.moc"
