// Running a model under a mask: the output must equal that of the full model with the weights of all cut units set to
// 0.
#ifndef Q_MOC_RUN
#include "analysis/running/runner_results.h"
#include "tests/support/engine_case.h"
#include "tests/support/suite.h"
#include "tests/support/zeroed_model.h"
#endif

#include <QtTest>

#include <array>

using namespace secateur;
using namespace secateur::test;

namespace {

constexpr double tolerance = 1e-5; ///< relative to the largest expected value

constexpr std::array allTaps{Tap::input,     Tap::attentionInput, Tap::query,           Tap::key,
                             Tap::value,     Tap::context,        Tap::attentionOutput, Tap::attentionUpdate,
                             Tap::mlpHidden, Tap::mlpOutput,      Tap::mlpUpdate,       Tap::output};

/// The residual streams of a batch through the model in which the weights of cut units are 0.
std::vector<at::Tensor> zeroedStreams(const EngineCase& c, const PruningMask& mask) {
    const ZeroedModel zeroed(*c.model, mask);
    const auto runner = makeRunner(zeroed, onDevice({.plain = c.plain}));
    return streamsOf(*runner, *runner->plan(PruningMask(c.spec), ComputeType::float32), c.batch);
}

class TapKeeper : public LayerObserver {
public:
    bool wants(int, Tap) const override { return true; }
    void see(int, Tap tap, const at::Tensor& values) override { seen.insert_or_assign(tap, values.clone()); }
    std::map<Tap, at::Tensor> seen;
};

/// An observer that asks for no activations and counts the calls that it gets, which should be none.
class Bystander : public LayerObserver {
public:
    bool wants(int, Tap) const override { return false; }
    void see(int, Tap, const at::Tensor&) override { ++calls; }
    void seeAttention(int, std::int64_t, std::int64_t, const at::Tensor&) override { ++calls; }
    int calls = 0;
};

/// The attention update of a bypassed layer as HARP defines it (resources/manual/strategies.md): alpha times the output
/// projection of the heads' values, [rows, positions, heads, headDim], with 0 for cut heads.
at::Tensor bypassedUpdate(const EngineCase& c, int layer, const at::Tensor& x, const LayerMask& mask) {
    const std::array wanted{Tap::value};
    at::Tensor values = c.runner.backward(*c.plan(), layer, x, c.batch, x, wanted).taps.at(Tap::value).value.clone();
    for (std::size_t head = 0; head < mask.heads.size(); ++head)
        if (!mask.heads[head])
            values.select(2, static_cast<std::int64_t>(head)).zero_();
    at::Tensor update = at::matmul(values.flatten(2), c.model->tensor(layer, WeightName::output).to(x.device(), at::kFloat).t());
    if (c.model->has(layer, WeightName::outputBias))
        update = update + c.model->tensor(layer, WeightName::outputBias).to(x.device(), at::kFloat);
    if (c.spec.normPlace == NormPlace::sandwich) {
        const at::Tensor weight =
            c.model->tensor(layer, WeightName::attentionPostNorm).to(x.device(), at::kFloat) + c.spec.normWeightOffset;
        update = update * at::rsqrt(update.square().mean(-1, true) + c.spec.normEpsilon) * weight;
    }
    return update * mask.alpha;
}

LayerMask bypassed(LayerMask mask, double alpha) {
    mask.attention = AttentionCut::bypassQk;
    mask.alpha = alpha;
    return mask;
}

LayerMask dropped(LayerMask mask) {
    mask.attention = AttentionCut::drop;
    mask.alpha = 1;
    return mask;
}

/// Several masks of one layer. Each makes the cuts of `base` and some more.
std::vector<LayerMask> variantsOf(const LayerMask& base, MaskMaker& maker) {
    std::vector<LayerMask> variants{base};
    const auto add = [&](auto change) {
        LayerMask cut = base;
        change(cut);
        variants.push_back(cut);
    };
    for (std::size_t head = 0; head < base.heads.size(); ++head)
        if (base.heads[head])
            add([&](LayerMask& cut) { cut.heads[head] = false; });
    for (const double keep : {0.8, 0.5, 0.3}) {
        variants.push_back(maker.some(base, keep));
        add([&](LayerMask& cut) { cut.heads = maker.some(base, keep).heads; });
        add([&](LayerMask& cut) { cut.neurons = maker.some(base, keep).neurons; });
    }
    add([](LayerMask& cut) { cut.heads.assign(cut.heads.size(), false); });
    add([](LayerMask& cut) { cut.neurons.assign(cut.neurons.size(), false); });
    add([](LayerMask& cut) { cut.mlp = false; });
    add([](LayerMask& cut) { cut.block = false; });
    add([](LayerMask& cut) { cut = dropped(cut); });
    add([](LayerMask& cut) { cut = dropped(cut), cut.mlp = false; });
    add([&](LayerMask& cut) { cut = dropped(cut), cut.neurons = maker.some(base, 0.5).neurons; });
    if (base.attention == AttentionCut::keep && !base.heads.empty()) {
        add([](LayerMask& cut) { cut = bypassed(cut, 0); });
        add([](LayerMask& cut) { cut = bypassed(cut, 0.3); });
        add([](LayerMask& cut) { cut = bypassed(cut, 1), cut.mlp = false; });
        variants.push_back(bypassed(maker.some(base, 0.5), 1.5));
    }
    return variants;
}

} // namespace

class TestMasksRun : public QObject {
    Q_OBJECT

private slots:
    void aMaskThatKeepsAllIsNoMask_data() { addEngineCases(); }
    void aMaskThatKeepsAllIsNoMask() {
        const EngineCase c = engineCase();
        const auto fresh = makeRunner(*c.model, onDevice({.plain = c.plain}));
        PruningMask keepsAll(c.spec);
        for (int layer = 0; layer < c.spec.layerCount(); ++layer) {
            LayerMask inside = keepsAll.layer(layer);
            inside.alpha = 0.5; // alpha has a meaning only with AttentionCut::bypassQk
            keepsAll.setLayer(layer, inside);
        }
        const auto found = streamsOf(*fresh, *fresh->plan(keepsAll, ComputeType::float32), c.batch);
        const auto expected = streamsOf(c.runner, *c.plan(), c.batch);
        for (std::size_t i = 0; i < expected.size(); ++i)
            QVERIFY(found[i].equal(expected[i]));
    }

    void cutHeadsAndNeuronsAreZeroColumns_data() { addEngineCases(); }
    void cutHeadsAndNeuronsAreZeroColumns() {
        const EngineCase c = engineCase();
        const auto whole = streamsOf(c.runner, *c.plan(), c.batch).back();
        double worst = 0;
        for (const auto& [name, mask] : MaskMaker(c.spec).several()) {
            const auto found = streamsOf(c.runner, *c.plan(mask), c.batch);
            const double error = apart(found, zeroedStreams(c, mask), c.batch);
            QVERIFY2(error < tolerance, qPrintable(QString("%1: %2").arg(name).arg(error)));
            QVERIFY2(apart(found.back(), whole, c.batch) > 1e-3, name);
            worst = std::max(worst, error);
        }
        qInfo("%.1e", worst);
    }

    void aDroppedSublayerAddsNothingNotEvenItsBias_data() { addEngineCases(); }
    void aDroppedSublayerAddsNothingNotEvenItsBias() {
        const EngineCase c = engineCase();
        double worst = 0;
        for (int layer = 0; layer < c.spec.layerCount(); ++layer)
            for (const bool attention : {false, true})
                for (const bool mlp : {false, true}) {
                    PruningMask mask(c.spec);
                    LayerMask cut = mask.layer(layer);
                    cut.attention = attention ? AttentionCut::keep : AttentionCut::drop;
                    cut.mlp = mlp;
                    mask.setLayer(layer, cut);
                    worst = std::max(
                        worst, apart(streamsOf(c.runner, *c.plan(mask), c.batch), zeroedStreams(c, mask), c.batch));
                }
        qInfo("%.1e", worst);
        QVERIFY(worst < tolerance);
    }

    void withoutSublayersOnlyNormsThatFollowAreLeft_data() { addEngineCases(); }
    void withoutSublayersOnlyNormsThatFollowAreLeft() {
        const EngineCase c = engineCase();
        const at::Tensor x = c.runner.embed(*c.plan(), c.batch);
        for (int layer = 0; layer < c.spec.layerCount(); ++layer) {
            LayerMask cut = dropped(PruningMask(c.spec).layer(layer));
            cut.mlp = false;
            const at::Tensor found = c.runner.runLayer(*c.plan(PruningMask(c.spec), layer, cut), layer, x, c.batch);
            at::Tensor expected = x;
            if (c.spec.normPlace == NormPlace::after)
                for (const auto& [weight, bias] : {std::pair(WeightName::attentionPostNorm, WeightName::attentionPostNormBias),
                                                   std::pair(WeightName::mlpPostNorm, WeightName::mlpPostNormBias)})
                    expected = at::layer_norm(expected, {c.spec.hidden}, c.model->tensor(layer, weight).to(x.device()),
                                              c.model->tensor(layer, bias).to(x.device()), c.spec.normEpsilon);
            QVERIFY(apart(found, expected, c.batch) < (c.spec.normPlace == NormPlace::after ? tolerance : 1e-30));
        }
    }

    void aDroppedBlockPassesItsInputOn_data() { addEngineCases(); }
    void aDroppedBlockPassesItsInputOn() {
        const EngineCase c = engineCase();
        for (int layer = 0; layer < c.spec.layerCount(); ++layer) {
            LayerMask cut = PruningMask(c.spec).layer(layer);
            cut.block = false;
            const auto streams = streamsOf(c.runner, *c.plan(PruningMask(c.spec), layer, cut), c.batch);
            QVERIFY(streams[static_cast<std::size_t>(layer)].equal(streams[static_cast<std::size_t>(layer) + 1]));
        }
    }

    void aCutInALayerOfAlbertIsOneInAll() {
        const EngineCase c("albert", "model.safetensors", false);
        PruningMask mask(c.spec);
        QVERIFY(mask.tiedTo(0).size() > 1);
        mask.setLayer(0, MaskMaker(c.spec).some(mask.layer(0), 0.5));
        const auto plan = c.plan(mask);
        at::Tensor x = c.runner.embed(*plan, c.batch);
        for (const int layer : mask.tiedTo(0)) {
            QVERIFY(plan->mask().layer(layer) == mask.layer(0));
            const at::Tensor out = c.runner.runLayer(*plan, layer, x, c.batch);
            QVERIFY(apart(out, c.runner.runLayer(*c.plan(), layer, x, c.batch), c.batch) > 1e-3);
            x = out;
        }
    }

    void bypassedAttentionIsEachTokensOwnValue_data() { addEngineCases(); }
    void bypassedAttentionIsEachTokensOwnValue() {
        const EngineCase c = engineCase();
        const auto streams = streamsOf(c.runner, *c.plan(), c.batch);
        MaskMaker maker(c.spec);
        double worst = 0;
        for (int layer = 0; layer < c.spec.layerCount(); ++layer) {
            const LayerMask all = PruningMask(c.spec).layer(layer);
            if (all.heads.empty() || c.spec.layers[static_cast<std::size_t>(layer)].attention != AttentionKind::full)
                continue;
            LayerMask noHeads = all;
            noHeads.heads.assign(all.heads.size(), false);
            LayerMask some = maker.some(all, 0.5);
            some.neurons = all.neurons;
            for (const LayerMask& cut :
                 {bypassed(all, 1), bypassed(all, 0.3), bypassed(all, 2), bypassed(some, 0.7), bypassed(noHeads, 0.4)})
                worst = std::max(worst, bypassError(c, layer, streams[static_cast<std::size_t>(layer)], cut));
        }
        qInfo("%.1e", worst);
        QVERIFY(worst < tolerance);
    }

    void bypassByNothingIsADrop_data() { addEngineCases(); }
    void bypassByNothingIsADrop() {
        const EngineCase c = engineCase();
        const at::Tensor x = c.runner.embed(*c.plan(), c.batch);
        for (int layer = 0; layer < c.spec.layerCount(); ++layer) {
            const PruningMask all(c.spec);
            if (all.layer(layer).heads.empty())
                continue;
            const auto gone = c.plan(all, layer, dropped(all.layer(layer)));
            const auto none = c.plan(all, layer, bypassed(all.layer(layer), 0));
            QVERIFY(c.runner.runLayer(*gone, layer, x, c.batch).equal(c.runner.runLayer(*none, layer, x, c.batch)));
        }
    }

    void variantsAreLayersUnderTheirMasks_data() { addEngineCases(); }
    void variantsAreLayersUnderTheirMasks() {
        const EngineCase c = engineCase();
        MaskMaker maker(c.spec);
        std::vector<PruningMask> bases{PruningMask(c.spec), maker.ragged(0.7)};
        for (auto change : {dropped, +[](LayerMask mask) { return bypassed(std::move(mask), 0.6); },
                            +[](LayerMask mask) { return mask.mlp = false, mask; },
                            +[](LayerMask mask) { return mask.block = false, mask; }}) {
            PruningMask base = maker.ragged(0.8);
            for (int layer = 0; layer < c.spec.layerCount(); ++layer)
                if (!base.layer(layer).heads.empty())
                    base.setLayer(layer, change(base.layer(layer)));
            bases.push_back(base);
        }
        double worst = 0;
        for (const PruningMask& base : bases)
            worst = std::max(worst, worstVariant(c, base, maker));
        qInfo("%.1e", worst);
        QVERIFY(worst < tolerance);
    }

    void whatObserversSeeIsWhatIsPulledBack_data() { addEngineCases(); }
    void whatObserversSeeIsWhatIsPulledBack() {
        const EngineCase c = engineCase();
        MaskMaker maker(c.spec);
        double worst = 0;
        for (const auto& [name, mask] : maker.several())
            for (const auto& plan : {c.plan(mask), c.plan()})
                worst = std::max(worst, tapError(c, *plan));
        qInfo("%.1e", worst);
        QVERIFY(worst < tolerance);
    }

    void anObserverThatWantsNothingIsNotCalled_data() { addEngineCases(); }
    void anObserverThatWantsNothingIsNotCalled() {
        const EngineCase c = engineCase();
        Bystander bystander;
        const auto watched = streamsOf(c.runner, *c.plan(), c.batch, &bystander);
        QCOMPARE(bystander.calls, 0);
        QVERIFY(watched.back().equal(streamsOf(c.runner, *c.plan(), c.batch).back()));
        TapKeeper all;
        QVERIFY(apart(streamsOf(c.runner, *c.plan(), c.batch, &all).back(), watched.back(), c.batch) < tolerance);
    }

private:
    static double bypassError(const EngineCase& c, int layer, const at::Tensor& x, const LayerMask& cut) {
        const PruningMask all(c.spec);
        const auto without = c.plan(all, layer, dropped(all.layer(layer)));
        const at::Tensor update = bypassedUpdate(c, layer, x, cut);
        const bool isParallel = c.spec.normPlace == NormPlace::parallel;
        const at::Tensor rest = c.runner.runLayer(*without, layer, isParallel ? x : x + update, c.batch);
        const at::Tensor found = c.runner.runLayer(*c.plan(all, layer, cut), layer, x, c.batch);
        return apart(found, isParallel ? rest + update : rest, c.batch);
    }

    static double worstVariant(const EngineCase& c, const PruningMask& base, MaskMaker& maker) {
        const auto plan = c.plan(base);
        const auto streams = streamsOf(c.runner, *plan, c.batch);
        double worst = 0;
        for (int layer = 0; layer < c.spec.layerCount(); ++layer) {
            const at::Tensor& x = streams[static_cast<std::size_t>(layer)];
            const std::vector<LayerMask> variants = variantsOf(base.layer(layer), maker);
            std::vector<at::Tensor> found(variants.size());
            c.runner.runVariants(*plan, layer, x, c.batch, variants,
                                 [&](std::size_t i, const at::Tensor& output) { found[i] = output; });
            for (std::size_t i = 0; i < variants.size(); ++i) {
                const auto own = c.plan(base, layer, variants[i]);
                worst = std::max(worst, apart(found[i], c.runner.runLayer(*own, layer, x, c.batch), c.batch));
            }
        }
        return worst;
    }

    static double tapError(const EngineCase& c, const Plan& plan) {
        double worst = 0;
        at::Tensor x = c.runner.embed(plan, c.batch);
        for (int layer = 0; layer < c.spec.layerCount(); ++layer) {
            TapKeeper keeper;
            const at::Tensor out = c.runner.runLayer(plan, layer, x, c.batch, nullptr, &keeper);
            const LayerGradients pulled = c.runner.backward(plan, layer, x, c.batch, x, allTaps);
            if (keeper.seen.size() != pulled.taps.size())
                return std::numeric_limits<double>::infinity();
            for (const auto& [tap, gradient] : pulled.taps)
                worst = std::max(worst, apart(keeper.seen[tap], gradient.value, c.batch));
            x = out;
        }
        return worst;
    }
};

SECATEUR_SUITE(TestMasksRun)
#include "tst_masks_run.moc"
