#include "tests/support/suite.h"
#include "widgets/document/mask_editor.h"

#include "analysis/base/error.h"

#include <QSignalSpy>
#include <QTest>

#include <array>
#include <random>

using namespace secateur;

namespace {

constexpr int layers = 5;
constexpr int heads = 4;
constexpr int neurons = 6;

ModelSpec fiveLayers() {
    ModelSpec spec;
    spec.architecture = "llama";
    spec.layers.assign(layers, LayerSpec{});
    for (LayerSpec& layer : spec.layers) {
        layer.heads = heads;
        layer.kvHeads = 2;
        layer.headDim = 8;
        layer.ffn = neurons;
    }
    return spec;
}

struct Bench {
    MaskEditor editor;
    QSignalSpy changed{&editor, &MaskEditor::maskChanged};
    QSignalSpy refused{&editor, &MaskEditor::refused};
    Bench() {
        editor.reset(fiveLayers());
        changed.clear();
    }
    void undo() { editor.undoStack()->undo(); }
    void redo() { editor.undoStack()->redo(); }
    int steps() { return editor.undoStack()->count(); }
};

/// Performs random actions that the window offers. The random seed is fixed.
class RandomActions {
public:
    explicit RandomActions(MaskEditor* editor)
        : m_editor(editor) {}

    void act();

private:
    int below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(m_random); }
    bool coin() { return below(2) == 1; }
    std::set<int> someLayers() { return {below(layers), below(layers)}; }
    std::set<HeadId> someHeads() {
        return {{below(layers), below(heads)}, {below(layers), below(heads)}, {below(layers), below(heads)}};
    }
    void actOnMask();
    void actOnList();

    MaskEditor* m_editor;
    std::mt19937 m_random{7};
};

void RandomActions::act() {
    if (below(4) > 0)
        actOnMask();
    else
        actOnList();
}

void RandomActions::actOnMask() {
    const std::array<int, 2> cells{below(neurons), below(neurons)};
    switch (below(9)) {
    case 0:
    case 1:
        return m_editor->setHeadsCut(someHeads(), coin());
    case 2:
        return m_editor->setNeuronsCut(below(layers), cells, coin());
    case 3:
        return m_editor->setAttention(someLayers(), static_cast<AttentionCut>(below(3)), 0.25 * below(9));
    case 4:
        return m_editor->setMlpCut(someLayers(), coin());
    case 5:
        return m_editor->setBlockCut(someLayers(), coin());
    case 6:
        return m_editor->invertHeads();
    case 7: {
        PruningMask mask = m_editor->mask();
        LayerMask layer = mask.layer(below(layers));
        layer.mlp = coin();
        mask.setLayer(below(layers), layer);
        m_editor->setPreview(mask);
        if (coin())
            m_editor->applyPreview("Cut by threshold");
        return;
    }
    default:
        return below(10) == 0 ? m_editor->clearMask() : m_editor->setHeadsCut(someHeads(), true);
    }
}

void RandomActions::actOnList() {
    switch (below(7)) {
    case 0:
        return m_editor->duplicateMask();
    case 1:
        return m_editor->renameMask(QString("name %1").arg(below(3)));
    case 2:
        return m_editor->removeMask();
    case 3:
        return m_editor->setCurrent(static_cast<std::size_t>(below(3)));
    case 4:
        return m_editor->setNote(QString("note %1").arg(below(3)));
    case 5: {
        Protection units;
        units.heads = someHeads();
        return m_editor->setProtected(coin() ? units : Protection(), "Protect");
    }
    default: {
        MaskRecord record;
        record.mask = PruningMask(m_editor->spec());
        return m_editor->addMask("read", record);
    }
    }
}

} // namespace

class TestMaskEditor : public QObject {
    Q_OBJECT

private slots:
    void cutHeadsAreCutAndComeBack();
    void aStepSaysHowManyUnitsItChanges();
    void anActionThatChangesNothingIsNoStep();
    void headOfADroppedSublayerComesBackAlone();
    void protectedUnitsAreLeftAloneAndSaidSo();
    void repeatsOfOneActionAreOneStep();
    void previewIsNoStepUntilApplied();
    void masksAreNamedApart();
    void comparingGoesFromMaskToMask();
    void theLastMaskRemovedLeavesAnEmptyOne();
    void masksOfOtherModelsAreRefused();
    void layersAreRestoredWithAllThatIsInThem();
    void masksThatAreOnlyThoughtOfRespectProtection();
    void undoingAThousandActionsGivesTheBeginning();
};

void TestMaskEditor::cutHeadsAreCutAndComeBack() {
    Bench bench;
    bench.editor.setHeadsCut({{0, 1}, {2, 3}}, true);
    QVERIFY(bench.editor.isCut({0, 1}));
    QVERIFY(bench.editor.isCut({2, 3}));
    QVERIFY(!bench.editor.isCut({0, 0}));
    QCOMPARE(bench.editor.undoStack()->undoText(), "Cut 2 heads");
    QCOMPARE(bench.changed.count(), 1);
    bench.undo();
    QVERIFY(bench.editor.mask().keepsAll());
    bench.redo();
    QVERIFY(bench.editor.isCut({0, 1}));
    bench.editor.setHeadsCut({{0, 1}}, false);
    QVERIFY(!bench.editor.isCut({0, 1}));
    QCOMPARE(bench.editor.undoStack()->undoText(), "Restore 1 head");
}

void TestMaskEditor::aStepSaysHowManyUnitsItChanges() {
    Bench bench;
    const auto said = [&] { return bench.editor.undoStack()->undoText(); };
    bench.editor.setHeadsCut({{0, 1}, {2, 3}}, true);
    bench.editor.setHeadsCut({{0, 0}, {0, 1}, {2, 2}, {2, 3}, {4, 0}}, true);
    QCOMPARE(said(), "Cut 3 heads"); // two were cut already
    std::set<HeadId> all;
    for (int layer = 0; layer < layers; ++layer)
        for (int head = 0; head < heads; ++head)
            all.insert({layer, head});
    bench.editor.setHeadsCut(all, false);
    QCOMPARE(said(), "Restore 5 heads");
    bench.editor.setMlpCut({0, 1}, true);
    bench.editor.setMlpCut({0, 1, 2}, true);
    QCOMPARE(said(), "Drop the MLP of 1 layer");
    bench.editor.setAttention({3}, AttentionCut::drop);
    bench.editor.setAttention({2, 3, 4}, AttentionCut::keep);
    QCOMPARE(said(), "Restore the attention of 1 layer");
    bench.editor.setBlockCut({1}, true);
    bench.editor.setBlockCut({0, 1, 2}, false);
    QCOMPARE(said(), "Restore the blocks of 1 layer");
    bench.editor.setNeuronsCut(4, std::vector{0, 1}, true);
    bench.editor.setNeuronsCut(4, std::vector{0, 1, 2}, false);
    QCOMPARE(said(), "Restore 2 neurons of layer 4");
    bench.editor.restoreLayers({0, 1, 2, 3, 4});
    QCOMPARE(said(), "Restore 2 layers"); // the MLPs of layers 0 and 2: restoring a block restores all in it
    QVERIFY(bench.editor.mask().keepsAll());
}

void TestMaskEditor::anActionThatChangesNothingIsNoStep() {
    Bench bench;
    bench.editor.setHeadsCut({{0, 1}}, false);
    bench.editor.setBlockCut({}, true);
    bench.editor.clearMask();
    bench.editor.setCurrent(0);
    QCOMPARE(bench.steps(), 0);
    QCOMPARE(bench.changed.count(), 0);
}

void TestMaskEditor::headOfADroppedSublayerComesBackAlone() {
    Bench bench;
    bench.editor.setAttention({1}, AttentionCut::drop);
    for (int head = 0; head < heads; ++head)
        QVERIFY(bench.editor.isCut({1, head}));
    bench.editor.setHeadsCut({{1, 2}}, false);
    QCOMPARE(bench.editor.mask().layer(1).attention, AttentionCut::keep);
    QCOMPARE(bench.editor.mask().layer(1).heads, (std::vector<bool>{false, false, true, false}));
    bench.editor.setBlockCut({3}, true);
    bench.editor.setHeadsCut({{3, 0}}, false);
    QVERIFY(!bench.editor.isCut({3, 0}));
    QVERIFY(bench.editor.isCut({3, 1}));
    QVERIFY(!bench.editor.mask().layer(3).mlp);
}

void TestMaskEditor::protectedUnitsAreLeftAloneAndSaidSo() {
    Bench bench;
    bench.editor.setProtected({{0}, {{2, 1}}}, "Protect");
    bench.editor.setHeadsCut({{0, 0}, {2, 1}, {2, 2}}, true);
    QVERIFY(!bench.editor.isCut({0, 0}));
    QVERIFY(!bench.editor.isCut({2, 1}));
    QVERIFY(bench.editor.isCut({2, 2}));
    QCOMPARE(bench.refused.last().first().toString(), "2 protected heads left alone.");
    bench.editor.setMlpCut({0, 1}, true);
    QVERIFY(bench.editor.mask().layer(0).mlp);
    QVERIFY(!bench.editor.mask().layer(1).mlp);
    QCOMPARE(bench.refused.last().first().toString(), "1 protected layer left alone.");
    bench.editor.setHeadsCut({{2, 2}}, false); // protected units can be restored
    QVERIFY(!bench.editor.isCut({2, 2}));
    bench.undo();
    bench.undo();
    bench.undo();
    bench.undo();
    QVERIFY(bench.editor.isProtected().empty());
}

void TestMaskEditor::repeatsOfOneActionAreOneStep() {
    Bench bench;
    for (int head : {0, 1, 2}) {
        PruningMask mask = bench.editor.mask();
        LayerMask layer = mask.layer(4);
        layer.heads[static_cast<std::size_t>(head)] = false;
        mask.setLayer(4, layer);
        bench.editor.replaceMask(mask, "Cut the lowest by gate_norm_head", true);
    }
    QCOMPARE(bench.steps(), 1);
    bench.undo();
    QVERIFY(bench.editor.mask().keepsAll());
    bench.redo();
    QCOMPARE(bench.editor.mask().layer(4).keptHeads(), 1);
    bench.editor.replaceMask(PruningMask(bench.editor.spec()), "Cut the lowest by gate_norm_head", true);
    QCOMPARE(bench.steps(), 0); // the mask is as before the first action, so there is nothing to undo
}

void TestMaskEditor::previewIsNoStepUntilApplied() {
    Bench bench;
    PruningMask mask(bench.editor.spec());
    LayerMask layer = mask.layer(0);
    layer.block = false;
    mask.setLayer(0, layer);
    bench.editor.setPreview(mask);
    QVERIFY(bench.editor.mask().keepsAll());
    QCOMPARE(bench.steps(), 0);
    bench.editor.applyPreview("Cut by threshold");
    QVERIFY(!bench.editor.mask().layer(0).block);
    QVERIFY(!bench.editor.preview());
    QCOMPARE(bench.steps(), 1);
    bench.editor.setPreview(PruningMask(bench.editor.spec()));
    bench.editor.setHeadsCut({{1, 1}}, true); // any other action removes the preview
    QVERIFY(!bench.editor.preview());
}

void TestMaskEditor::masksAreNamedApart() {
    Bench bench;
    bench.editor.setHeadsCut({{0, 0}}, true);
    bench.editor.renameMask("sinks");
    bench.editor.duplicateMask();
    bench.editor.renameMask(" sinks ");
    QCOMPARE(bench.editor.state().masks.size(), std::size_t{2});
    QCOMPARE(bench.editor.state().masks[1].name, "sinks 2");
    bench.editor.setHeadsCut({{0, 1}}, true);
    bench.editor.compareWith(0);
    QVERIFY(bench.editor.compared());
    QVERIFY(bench.editor.compared()->layer(0).heads[1]);
    bench.editor.setCurrent(0);
    QVERIFY(!bench.editor.isCut({0, 1}));
    bench.editor.removeMask();
    QVERIFY(!bench.editor.compared());
}

void TestMaskEditor::comparingGoesFromMaskToMask() {
    Bench bench;
    bench.editor.compareWithNext(); // does nothing, because there is only one mask
    QVERIFY(!bench.editor.compared());
    bench.editor.swapCompared();
    bench.editor.renameMask("a");
    for (const char* name : {"b", "c"}) {
        bench.editor.duplicateMask();
        bench.editor.renameMask(name);
    }
    bench.editor.setCurrent(1);
    QStringList seen;
    for (int i = 0; i < 3; ++i) {
        bench.editor.compareWithNext();
        seen << QString::fromStdString(bench.editor.comparedName());
    }
    QCOMPARE(seen, (QStringList{"a", "c", ""}));
    bench.editor.compareWithNext();
    bench.editor.swapCompared();
    QCOMPARE(bench.editor.state().edited().name, std::string("a"));
    QCOMPARE(bench.editor.comparedName(), std::string("b"));
    bench.editor.swapCompared();
    QCOMPARE(bench.editor.state().edited().name, std::string("b"));
    QCOMPARE(bench.editor.comparedName(), std::string("a"));
}

void TestMaskEditor::theLastMaskRemovedLeavesAnEmptyOne() {
    Bench bench;
    bench.editor.setHeadsCut({{0, 0}}, true);
    bench.editor.removeMask();
    QVERIFY(bench.editor.mask().keepsAll());
    bench.undo();
    QVERIFY(bench.editor.isCut({0, 0}));
}

void TestMaskEditor::masksOfOtherModelsAreRefused() {
    Bench bench;
    ModelSpec other = fiveLayers();
    other.layers.pop_back();
    MaskRecord record;
    record.mask = PruningMask(other);
    QVERIFY_EXCEPTION_THROWN(bench.editor.addMask("other", record), Error);
    QVERIFY_EXCEPTION_THROWN(bench.editor.replaceMask(record.mask, "Restore"), Error);
    QCOMPARE(bench.steps(), 0);
}

void TestMaskEditor::layersAreRestoredWithAllThatIsInThem() {
    Bench bench;
    const std::array<int, 2> cells{1, 4};
    bench.editor.setHeadsCut({{1, 0}, {2, 0}}, true);
    bench.editor.setNeuronsCut(1, cells, true);
    bench.editor.setMlpCut({2}, true);
    bench.editor.setBlockCut({3}, true);
    bench.editor.restoreLayers({1, 3});
    QVERIFY(bench.editor.mask().layer(1).keepsAll());
    QVERIFY(bench.editor.mask().layer(3).keepsAll());
    QVERIFY(bench.editor.isCut({2, 0}));
    bench.undo();
    QCOMPARE(bench.editor.mask().layer(1).keptNeurons(), neurons - 2);
}

void TestMaskEditor::masksThatAreOnlyThoughtOfRespectProtection() {
    Bench bench;
    bench.editor.setProtected({{}, {{0, 0}}}, "Protect");
    const std::set<HeadId> chosen{{0, 0}, {0, 1}, {4, 3}};
    const PruningMask thought = bench.editor.withHeads(bench.editor.mask(), chosen, true);
    QVERIFY(bench.editor.mask().keepsAll());
    QVERIFY(!isHeadCut(thought, {0, 0}));
    bench.editor.setHeadsCut(chosen, true);
    QCOMPARE(bench.editor.mask(), thought);
    QVERIFY(bench.editor.withHeads(thought, chosen, false).keepsAll());
}

void TestMaskEditor::undoingAThousandActionsGivesTheBeginning() {
    Bench bench;
    const MaskState start = bench.editor.state();
    RandomActions actions(&bench.editor);
    for (int action = 0; action < 1000; ++action)
        actions.act();
    const MaskState end = bench.editor.state();
    const int steps = bench.steps();
    QVERIFY(steps > 500);
    for (int step = 0; step < steps; ++step)
        bench.undo();
    QVERIFY(bench.editor.state() == start);
    for (int step = 0; step < steps; ++step)
        bench.redo();
    QVERIFY(bench.editor.state() == end);
    qInfo("1000 actions, %d steps", steps);
}

SECATEUR_SUITE(TestMaskEditor)
#include "tst_mask_editor.moc"
