// Set operations on masks, taken as sets of cut units: the laws of set algebra that hold, edits of single units, and
// protected units.

#ifndef Q_MOC_RUN
#include "analysis/base/error.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/protection.h"
#include "analysis/model/model_spec.h"
#include "analysis/base/usage_error.h"
#include "tests/support/mask_models.h"
#include "tests/support/suite.h"
#endif

#include <QtTest>

#include <array>
#include <functional>
#include <random>

using namespace secateur;
using namespace secateur::test;

namespace {

constexpr int rounds = 300;
constexpr std::array units{CutUnit::head,      CutUnit::kvGroup, CutUnit::neuron,
                           CutUnit::attention, CutUnit::mlp,     CutUnit::block};

LayerMask randomLayer(LayerMask layer, std::mt19937_64& random) {
    const auto chance = [&](unsigned oneIn) { return random() % oneIn == 0; };
    for (auto mark : layer.heads)
        mark = !chance(2);
    for (auto mark : layer.neurons)
        mark = !chance(3);
    if (chance(4))
        layer.attention = AttentionCut::drop;
    else if (!layer.heads.empty() && chance(3))
        layer.attention = AttentionCut::bypassQk;
    layer.alpha = 0.25 * static_cast<double>(random() % 4); // one of only four values, so that equal alphas occur
    layer.mlp = !chance(4);
    layer.block = !chance(6);
    return layer;
}

PruningMask randomMask(const ModelSpec& spec, std::mt19937_64& random) {
    PruningMask mask(spec);
    for (int index = 0; index < mask.layerCount(); ++index)
        if (random() % 4 != 0)
            mask.setLayer(index, randomLayer(mask.layer(index), random));
    return mask;
}

/// Whether law(unit kind, layer, index) is true for every unit of every kind.
bool holdsForAll(const ModelSpec& spec, const std::function<bool(CutUnit, int, int)>& law) {
    for (const CutUnit unit : units)
        for (int layer = 0; layer < spec.layerCount(); ++layer)
            for (int index = 0; index < unitsIn(spec.layers[static_cast<std::size_t>(layer)], unit); ++index)
                if (!law(unit, layer, index))
                    return false;
    return true;
}

template <typename Law>
void forRandomMasks(Law law) {
    std::mt19937_64 random(11);
    for (const ModelSpec& spec : {raggedSpec(), tiedSpec()})
        for (int round = 0; round < rounds; ++round)
            law(spec, randomMask(spec, random), randomMask(spec, random), randomMask(spec, random));
}

QString refusal(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return QString::fromUtf8(error.what());
    }
    return "accepted";
}

} // namespace

class TestMaskAlgebra : public QObject {
    Q_OBJECT

private slots:
    void unionAndIntersectionAreALattice() {
        forRandomMasks([](const ModelSpec& spec, const PruningMask& a, const PruningMask& b, const PruningMask& c) {
            const PruningMask dense(spec);
            QVERIFY(unionOf(a, a) == a);
            QVERIFY(intersectionOf(a, a) == a);
            QVERIFY(unionOf(a, b) == unionOf(b, a));
            QVERIFY(intersectionOf(a, b) == intersectionOf(b, a));
            QVERIFY(unionOf(a, unionOf(b, c)) == unionOf(unionOf(a, b), c));
            QVERIFY(intersectionOf(a, intersectionOf(b, c)) == intersectionOf(intersectionOf(a, b), c));
            QVERIFY(unionOf(a, intersectionOf(a, b)) == a);
            QVERIFY(intersectionOf(a, unionOf(a, b)) == a);
            QVERIFY(intersectionOf(a, unionOf(b, c)) == unionOf(intersectionOf(a, b), intersectionOf(a, c)));
            QVERIFY(unionOf(a, dense) == a);
            QVERIFY(intersectionOf(a, dense) == dense);
        });
    }

    void subtractionLeavesAloneWhatTheOtherCuts() {
        forRandomMasks([](const ModelSpec& spec, const PruningMask& a, const PruningMask& b, const PruningMask&) {
            const PruningMask dense(spec);
            const PruningMask rest = subtraction(a, b);
            QVERIFY(subtraction(a, a) == dense);
            QVERIFY(subtraction(a, dense) == a);
            QVERIFY(subtraction(dense, a) == dense);
            QVERIFY(subtraction(rest, b) == rest);
            QVERIFY(unionOf(rest, a) == a);
            QVERIFY(intersectionOf(rest, b) == dense);
            QVERIFY(symmetricDifference(a, b) == symmetricDifference(b, a));
            QVERIFY(symmetricDifference(a, a) == dense);
            QVERIFY(symmetricDifference(a, dense) == a);
            const MaskDifference difference = differenceOf(a, b);
            QVERIFY(difference.onlyFirst == rest);
            QVERIFY(difference.both == intersectionOf(a, b));
        });
    }

    void unitByUnitTheyAreSets() {
        forRandomMasks([](const ModelSpec& spec, const PruningMask& a, const PruningMask& b, const PruningMask&) {
            const PruningMask together = unionOf(a, b);
            const PruningMask common = intersectionOf(a, b);
            const PruningMask rest = subtraction(a, b);
            QVERIFY(holdsForAll(spec, [&](CutUnit unit, int layer, int index) {
                const bool inA = isCut(a, spec, unit, layer, index);
                const bool inB = isCut(b, spec, unit, layer, index);
                const bool inRest = isCut(rest, spec, unit, layer, index);
                // A larger unit, such as a layer's attention, counts as cut if all its heads are. Two masks may each
                // cut some of these heads and together all of them. Only heads and neurons, which have no parts,
                // therefore obey the laws of sets strictly.
                const bool isAtom = unit == CutUnit::head || unit == CutUnit::neuron;
                const bool unites = isCut(together, spec, unit, layer, index) == (inA || inB);
                const bool meets = isCut(common, spec, unit, layer, index) == (inA && inB);
                return isAtom ? unites && meets && inRest == (inA && !inB) : !(inRest && (inB || !inA)) && meets;
            }));
        });
    }

    void deMorganHoldsForHeadsAndNeurons() {
        forRandomMasks([](const ModelSpec& spec, const PruningMask& a, const PruningMask& b, const PruningMask&) {
            for (const CutUnit unit : {CutUnit::head, CutUnit::neuron}) {
                const auto inverse = [&](const PruningMask& mask) { return inversionOf(mask, unit, spec); };
                QVERIFY(inverse(unionOf(a, b)) == intersectionOf(inverse(a), inverse(b)));
                QVERIFY(inverse(intersectionOf(a, b)) == unionOf(inverse(a), inverse(b)));
            }
        });
    }

    void invertedTwiceIsTheSameUnits() {
        forRandomMasks([](const ModelSpec& spec, const PruningMask& a, const PruningMask&, const PruningMask&) {
            for (const CutUnit unit : units) {
                const PruningMask once = inversionOf(a, unit, spec);
                const PruningMask twice = inversionOf(once, unit, spec);
                QVERIFY(inversionOf(twice, unit, spec) == once);
                for (int layer = 0; layer < spec.layerCount(); ++layer)
                    for (int i = 0; i < unitsIn(spec.layers[static_cast<std::size_t>(layer)], unit); ++i) {
                        QVERIFY(isCut(once, spec, unit, layer, i) != isCut(a, spec, unit, layer, i));
                        QVERIFY(isCut(twice, spec, unit, layer, i) == isCut(a, spec, unit, layer, i));
                    }
            }
        });
    }

    void dropBeatsBypassBeatsKeep() {
        const ModelSpec spec = raggedSpec();
        const auto bypassed = [&](double alpha) {
            PruningMask mask(spec);
            bypassAttention(mask, 0, alpha);
            return mask;
        };
        PruningMask dropped(spec);
        setAttention(dropped, 0, false);
        QVERIFY(unionOf(bypassed(0.5), bypassed(0.25)) == bypassed(0.25));
        QVERIFY(intersectionOf(bypassed(0.5), bypassed(0.25)) == bypassed(0.5));
        QVERIFY(unionOf(bypassed(0.5), dropped) == dropped);
        QVERIFY(intersectionOf(bypassed(0), dropped) == bypassed(0));
        QVERIFY(unionOf(bypassed(0.5), PruningMask(spec)) == bypassed(0.5));
    }

    void masksOfUnlikeModelsAreNotCombined() {
        const QString text = refusal([] { unionOf(PruningMask(raggedSpec()), PruningMask(tiedSpec())); });
        QVERIFY2(text.contains("6x4/4x3+10") && text.contains("1x3/3x8+40"), qPrintable(text));
    }

    void aRestoredHeadBringsItsAttentionBackAndNoMore() {
        const ModelSpec spec = raggedSpec();
        PruningMask mask(spec);
        setBlock(mask, 0, false);
        setHeads(mask, std::array{HeadId{0, 1}}, true);
        QCOMPARE(description(mask.layer(0)), std::string("heads 0, 2; MLP dropped"));
        setNeurons(mask, 0, std::array{3, 4}, true);
        QCOMPARE(description(mask.layer(0)), std::string("heads 0, 2; neurons 0-2, 5-39"));
        setAttention(mask, 0, true);
        QCOMPARE(description(mask.layer(0)), std::string("neurons 0-2, 5-39"));
        setMlp(mask, 0, true);
        QVERIFY(mask.keepsAll());
        bypassAttention(mask, 0, 0.2);
        setHeads(mask, std::array{HeadId{0, 2}}, false);
        QCOMPARE(description(mask.layer(0)), std::string("attention bypassed with alpha 0.2; head 2"));
        setBlock(mask, 0, true);
        QVERIFY(mask.keepsAll());
        QVERIFY_THROWS_EXCEPTION(std::out_of_range, setHeads(mask, std::array{HeadId{0, 3}}, false));
        QVERIFY_THROWS_EXCEPTION(std::out_of_range, setMlp(mask, 4, false));
    }

    void editsAreUnionsAndSubtractions() {
        std::mt19937_64 random(2);
        const ModelSpec spec = raggedSpec();
        for (int round = 0; round < rounds; ++round) {
            const PruningMask before = randomMask(spec, random);
            const std::array heads{HeadId{0, static_cast<int>(random() % 3)},
                                   HeadId{3, static_cast<int>(random() % 4)}};
            PruningMask some(spec);
            setHeads(some, heads, false);
            PruningMask cut = before;
            setHeads(cut, heads, false);
            QVERIFY(cut == unionOf(before, some));
            PruningMask restored = before;
            setHeads(restored, heads, true);
            for (const HeadId& head : heads)
                QVERIFY(!isCut(restored, spec, CutUnit::head, head.layer, head.head));
        }
    }

    void groupsAreCutWhole() {
        const ModelSpec spec = raggedSpec();
        PruningMask mask(spec);
        setHeads(mask, std::array{HeadId{3, 2}, HeadId{1, 0}}, false);
        const PruningMask grown = grownToKvGroups(mask, spec);
        QCOMPARE(description(grown.layer(3)), std::string("heads 2-3"));
        QCOMPARE(description(grown.layer(1)), std::string("heads 0-1"));
        QVERIFY(grownToKvGroups(grown, spec) == grown);
        QVERIFY(isCut(grown, spec, CutUnit::kvGroup, 3, 1) && !isCut(grown, spec, CutUnit::kvGroup, 3, 0));
    }

    void protectionIsReadFromText() {
        const ModelSpec spec = raggedSpec();
        QVERIFY(Protection::parse("none", spec).empty());
        const Protection ends = Protection::parse("first_last", spec);
        for (const CutUnit unit : units)
            QVERIFY(ends.covers(spec, unit, 0, 0) && ends.covers(spec, unit, 3, 0) && !ends.covers(spec, unit, 1, 0));
        const Protection some = Protection::parse("0.1-2,2,3.1", spec);
        QVERIFY(!some.covers(spec, CutUnit::head, 0, 0) && some.covers(spec, CutUnit::head, 0, 2));
        QVERIFY(some.covers(spec, CutUnit::attention, 0, 0) && some.covers(spec, CutUnit::block, 0, 0));
        QVERIFY(!some.covers(spec, CutUnit::mlp, 0, 0) && some.covers(spec, CutUnit::mlp, 2, 0));
        QVERIFY(some.covers(spec, CutUnit::kvGroup, 3, 0) && !some.covers(spec, CutUnit::kvGroup, 3, 1));
        QVERIFY(Protection::parse("1-3", spec).covers(spec, CutUnit::neuron, 2, 5));
        QVERIFY(Protection::parse("4", tiedSpec()).covers(tiedSpec(), CutUnit::block, 0, 0));
    }

    void protectionIsWrittenAsItIsRead_data() {
        QTest::addColumn<QString>("text");
        for (const char* text : {"none", "first_last", "0", "1-3", "2,0.1-2,3.1"})
            QTest::newRow(text) << text;
    }

    void protectionIsWrittenAsItIsRead() {
        QFETCH(QString, text);
        const ModelSpec spec = raggedSpec();
        QCOMPARE(QString::fromStdString(Protection::parse(text.toStdString(), spec).text(spec)), text);
    }

    void oneHeadOfAProtectedLayerIsReleased() {
        const ModelSpec spec = tiedSpec();
        Protection protection;
        protection.protectLayer(spec, 0);
        QVERIFY(protection.has({2, 0}) && protection.has({4, 3}) && !protection.has({1, 0}));
        protection.releaseHead(spec, {2, 1});
        QVERIFY(!protection.has({0, 1}) && !protection.has({4, 1}) && protection.has({0, 0}));
        QVERIFY(protection.layers.empty());
        QVERIFY(Protection::parse(protection.text(spec), spec) == protection);
    }

    void longListsOfCutsAreCounted() {
        PruningMask mask(raggedSpec());
        std::vector<int> odd;
        for (int neuron = 1; neuron < 40; neuron += 2)
            odd.push_back(neuron);
        setNeurons(mask, 0, odd, false);
        QCOMPARE(description(mask.layer(0)), std::string("20 of 40 neurons"));
    }

    void wrongProtectionIsRefused_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("expected");
        QTest::newRow("layer") << "4"
                               << "\"4\" names layer 4, but there are only 4";
        QTest::newRow("head") << "0.3"
                              << "\"0.3\" names head 3, but there are only 3";
        QTest::newRow("no heads") << "2.0"
                                  << "\"2.0\" names head 0, but there are only 0";
        QTest::newRow("downwards") << "2-1"
                                   << "\"2-1\" is no layer";
        QTest::newRow("word") << "first"
                              << "\"first\" is no layer";
        QTest::newRow("empty") << ""
                               << "\"\" is no layer";
        QTest::newRow("negative") << "-1"
                                  << "\"-1\" is no layer";
        QTest::newRow("heads of layers") << "0-1.2"
                                         << "\"0-1.2\" is no layer";
        QTest::newRow("mixed") << "1,first_last"
                               << "\"first_last\" is no layer";
    }
    void wrongProtectionIsRefused() {
        QFETCH(QString, text);
        QFETCH(QString, expected);
        const QString found = refusal([&] { Protection::parse(text.toStdString(), raggedSpec()); });
        QVERIFY2(found.contains(expected), qPrintable(found));
    }

    void protectedPartsAreRestored() {
        forRandomMasks([](const ModelSpec& spec, const PruningMask& a, const PruningMask&, const PruningMask&) {
            const Protection protection = Protection::parse("0,1.1", spec);
            PruningMask mask = a;
            protection.restore(mask);
            QVERIFY(mask.layer(0).keepsAll());
            QVERIFY(holdsForAll(spec, [&](CutUnit unit, int layer, int index) {
                return !protection.covers(spec, unit, layer, index) || !isCut(mask, spec, unit, layer, index);
            }));
            QVERIFY(unionOf(mask, a) == a);
            for (int layer = 2; layer < spec.layerCount(); ++layer)
                QVERIFY(mask.layer(layer) == a.layer(layer) || spec.layers[2].stored >= 0);
        });
    }

    void headsOfALinearAttentionStay() {
        const ModelSpec spec = specOf("deci", "2x4/0x8+3");
        QVERIFY(spec.layers[0].attention == AttentionKind::linear);
        QCOMPARE(unitsIn(spec.layers[0], CutUnit::head), 0);
        QCOMPARE(unitsIn(spec.layers[0], CutUnit::attention), 1);
        PruningMask mask(spec);
        setHeads(mask, std::array{HeadId{0, 1}}, false);
        QVERIFY(grownToKvGroups(mask, spec) == mask);
        QVERIFY(inversionOf(mask, CutUnit::head, spec).keepsAll());
    }

    void aStructureGivesAModelToCount() {
        for (const ModelSpec& spec : {raggedSpec(), tiedSpec()}) {
            const ModelSpec read = specOf(spec.architecture, spec.structure());
            QCOMPARE(read.structure(), spec.structure());
            QCOMPARE(read.layerCount(), spec.layerCount());
        }
        for (const char* text : {"", "30", "30x9/3x64", "30x9/3x64+1536,", "30x9/4x64+1536", "-1x9/3x64+1",
                                 "30x9/3x64+1536x", "99999999999x1/1x1+1"})
            QVERIFY2(refusal([&] { specOf("llama", text); }).contains("is not a structure"), text);
        for (const char* text : {"100001x1/1x1+1", "2x1/1x1+100000000", "1x2000000000/1x1+1"})
            QVERIFY2(refusal([&] { specOf("llama", text); }).contains("than any model"), text);
    }
};

SECATEUR_SUITE(TestMaskAlgebra)
#include "tst_mask_algebra.moc"
