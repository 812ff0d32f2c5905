// Running a model under a mask with a compensation: the output must equal that of a model whose weights and biases were
// changed by hand.
#ifndef Q_MOC_RUN
#include "analysis/base/error.h"
#include "analysis/metrics/measure_stages.h"
#include "analysis/running/runner_results.h"
#include "analysis/running/stream_cache.h"
#include "backends/engine/engine_plan.h"
#include "backends/kernels/machine_kernels.h"
#include "tests/support/engine_case.h"
#include "tests/support/suite.h"
#include "tests/support/zeroed_model.h"
#endif

#include <QtTest>

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

using namespace secateur;
using namespace secateur::test;

namespace {

constexpr double tolerance = 1e-5; ///< relative to the largest expected value

/// The model whose weights and biases were changed, and its engine.
struct ChangedModel {
    ZeroedModel model;
    std::unique_ptr<const Runner> runner;

    ChangedModel(const EngineCase& c, const PruningMask& mask)
        : model(*c.model, mask)
        , runner(makeRunner(model, onDevice({.plain = c.plain}))) {}

    std::shared_ptr<const Plan> plan(const EngineCase& c, ComputeType type = ComputeType::float32) const {
        return runner->plan(PruningMask(c.spec), type);
    }
};

/// The residual streams of a batch through the changed model.
std::vector<at::Tensor> changedStreams(const EngineCase& c, const PruningMask& mask) {
    const ChangedModel changed(c, mask);
    return streamsOf(*changed.runner, *changed.plan(c), c.batch);
}

/// Masks with and without cuts and sublayers, all with a compensation.
std::vector<std::pair<const char*, PruningMask>> compensatedMasks(const ModelSpec& spec) {
    MaskMaker maker(spec);
    auto masks = maker.several();
    masks.emplace_back("nothing gone", PruningMask(spec));
    PruningMask without = maker.ragged(0.7);
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        LayerMask cut = without.layer(layer);
        if (layer % 2 == 0)
            cut.mlp = false;
        else
            cut.attention = AttentionCut::drop;
        without.setLayer(layer, cut);
    }
    masks.emplace_back("sublayers gone", without);
    unsigned seed = 1;
    for (auto& [name, mask] : masks)
        mask = withDrawnCompensation(mask, spec, seed++);
    const std::size_t count = masks.size();
    for (std::size_t i = 0; i < count; ++i) {
        const PruningMask replaced = withDrawnCompensation(masks[i].second, spec, seed++, i % 2 == 0 ? 0 : 0.5, 0.8);
        masks.emplace_back(masks[i].first, replaced);
    }
    return masks;
}

LayerMask bypassedWith(LayerMask mask, double alpha) {
    mask.attention = AttentionCut::bypassQk;
    mask.alpha = alpha;
    return mask;
}

} // namespace

class TestCompensationRun : public QObject {
    Q_OBJECT

private slots:
    void weightsOfForgottenCompensationsAreFreed() {
        struct Weights {
            std::int64_t bytes = 8;
        };
        constexpr std::int64_t budget = 1000;
        WeightStore store(budget);
        int made = 0;
        const auto get = [&](const char* key, const SharedWeight& named) {
            const std::function<Weights()> make = [&made] {
                ++made;
                return Weights();
            };
            return store.get(key, {budget, 8}, make, {named, nullptr});
        };
        auto numbers = std::make_shared<const std::vector<float>>(3);
        const std::weak_ptr<const Weights> own = get("own", numbers);
        QVERIFY(get("own", numbers) == own.lock());
        get("other", {});
        QVERIFY(!own.expired() && made == 2);
        numbers.reset();
        get("other", {});
        QVERIFY(!own.expired()); // only looked at when weights are made
        get("third", {});
        QVERIFY(own.expired());
        numbers = std::make_shared<const std::vector<float>>(3);
        get("own", numbers);
        numbers = std::make_shared<const std::vector<float>>(3); // perhaps at the same address
        get("own", numbers);
        QCOMPARE(made, 5);
    }

    void aCompensationChangesTheWeights_data() { addEngineCases(); }
    void aCompensationChangesTheWeights() {
        const EngineCase c = engineCase();
        double worst = 0;
        for (const auto& [name, mask] : compensatedMasks(c.spec)) {
            const auto found = streamsOf(c.runner, *c.plan(mask), c.batch);
            const double error = apart(found, changedStreams(c, mask), c.batch);
            QVERIFY2(error < tolerance, qPrintable(QString("%1: %2").arg(name).arg(error)));
            worst = std::max(worst, error);
        }
        qInfo("%.1e", worst);
    }

    void eachPartOfACompensationHasAnEffect_data() { addEngineCases(); }
    void eachPartOfACompensationHasAnEffect() {
        const EngineCase c = engineCase();
        const PruningMask all = withDrawnCompensation(PruningMask(c.spec), c.spec, 3, 1);
        const auto expected = streamsOf(c.runner, *c.plan(all), c.batch).back();
        for (auto part : {&LayerCompensation::headScale, &LayerCompensation::neuronScale,
                          &LayerCompensation::attentionBias, &LayerCompensation::mlpBias}) {
            PruningMask less = all;
            for (int layer = 0; layer < c.spec.layerCount(); ++layer) {
                LayerMask own = less.layer(layer);
                LayerCompensation changed = compensationOf(own);
                (changed.*part).clear();
                own.compensation = std::make_shared<const LayerCompensation>(changed);
                less.setLayer(layer, own);
            }
            QVERIFY(apart(streamsOf(c.runner, *c.plan(less), c.batch).back(), expected, c.batch) > 1e-4);
        }
    }

    void aReplacedProjectionIsThatOfALinearLayer_data() { addEngineCases(); }
    void aReplacedProjectionIsThatOfALinearLayer() {
        const EngineCase c = engineCase();
        const PruningMask mask = withDrawnCompensation(MaskMaker(c.spec).ragged(0.7), c.spec, 17, 0.5, 1);
        const auto plan = c.plan(mask);
        const std::array wanted{Tap::attentionInput, Tap::context, Tap::attentionOutput, Tap::mlpHidden,
                                Tap::mlpOutput};
        double worst = 0;
        int compared = 0;
        at::Tensor x = c.runner.embed(*plan, c.batch);
        for (int layer = 0; layer < c.spec.layerCount(); ++layer) {
            const at::Tensor out = c.runner.runLayer(*plan, layer, x, c.batch);
            const auto taps = c.runner.backward(*plan, layer, x, c.batch, out, wanted).taps;
            const LayerSpec& shape = c.spec.layers[static_cast<std::size_t>(layer)];
            const LayerMask& own = mask.layer(layer);
            const auto compare = [&](Tap input, WeightName which, const std::vector<bool>& kept, int width,
                                     Tap output) {
                if (!taps.contains(input) || !taps.contains(output) || taps.at(input).value.numel() == 0)
                    return;
                const at::Tensor expected = linearOf(*c.model, layer, own, which, kept, width, taps.at(input).value);
                worst = std::max(worst, apart(taps.at(output).value, expected, c.batch));
                ++compared;
            };
            if (shape.attention == AttentionKind::linear)
                compare(Tap::attentionInput, WeightName::output, {}, 1, Tap::attentionOutput);
            else if (shape.attention == AttentionKind::full)
                compare(Tap::context, WeightName::output, own.heads, shape.headDim, Tap::attentionOutput);
            compare(Tap::mlpHidden, WeightName::down, own.neurons, 1, Tap::mlpOutput);
            x = out;
        }
        qInfo("%.1e in %d projections", worst, compared);
        QVERIFY(compared >= c.spec.layerCount());
        QVERIFY(worst < tolerance);
    }

    void aBypassDoesNotScaleTheAddedBias_data() { addEngineCases(); }
    void aBypassDoesNotScaleTheAddedBias() {
        const EngineCase c = engineCase();
        MaskMaker maker(c.spec);
        double worst = 0;
        for (const double alpha : {0.3, 1.0, 1.7}) {
            PruningMask mask = withDrawnCompensation(maker.ragged(0.7), c.spec, 5, 0.75, 0.5);
            PruningMask bypass(c.spec); // the changed model has the other cuts in its weights
            for (int layer = 0; layer < c.spec.layerCount(); ++layer) {
                const LayerSpec& shape = c.spec.layers[static_cast<std::size_t>(layer)];
                if (shape.heads == 0 || shape.attention != AttentionKind::full)
                    continue;
                mask.setLayer(layer, bypassedWith(mask.layer(layer), alpha));
                bypass.setLayer(layer, bypassedWith(bypass.layer(layer), alpha));
            }
            const ChangedModel changed(c, mask);
            const auto expected =
                streamsOf(*changed.runner, *changed.runner->plan(bypass, ComputeType::float32), c.batch);
            worst = std::max(worst, apart(streamsOf(c.runner, *c.plan(mask), c.batch), expected, c.batch));
        }
        qInfo("%.1e", worst);
        QVERIFY(worst < tolerance);
    }

    void variantsHaveTheirOwnCompensation_data() { addEngineCases(); }
    void variantsHaveTheirOwnCompensation() {
        const EngineCase c = engineCase();
        MaskMaker maker(c.spec);
        double worst = 0;
        for (const double keep : {1.0, 0.7}) {
            const PruningMask base = withDrawnCompensation(maker.ragged(keep), c.spec, 7, 0.75, 0.5);
            const PruningMask other = withDrawnCompensation(base, c.spec, 8, 0.75, 0.5);
            const auto plan = c.plan(base);
            const auto streams = streamsOf(c.runner, *plan, c.batch);
            for (int layer = 0; layer < c.spec.layerCount(); ++layer)
                worst = std::max(worst, worstVariant(c, *plan, layer, streams[static_cast<std::size_t>(layer)],
                                                     variantsOf(base.layer(layer), other.layer(layer), maker)));
        }
        qInfo("%.1e", worst);
        QVERIFY(worst < tolerance);
    }

    void gradientsAreThoseOfTheChangedModel_data() { addEngineCases(); }
    void gradientsAreThoseOfTheChangedModel() {
        const EngineCase c = engineCase();
        const PruningMask mask = withDrawnCompensation(MaskMaker(c.spec).ragged(0.7), c.spec, 9, 0.75, 0.5);
        const ChangedModel changed(c, mask);
        const auto plan = c.plan(mask);
        const auto changedPlan = changed.plan(c);
        const std::array wanted{Tap::input, Tap::attentionOutput, Tap::mlpOutput, Tap::output};
        double worst = 0;
        at::Tensor x = c.runner.embed(*plan, c.batch);
        for (int layer = 0; layer < c.spec.layerCount(); ++layer) {
            const at::Tensor out = c.runner.runLayer(*plan, layer, x, c.batch);
            const LayerGradients found = c.runner.backward(*plan, layer, x, c.batch, out, wanted);
            const LayerGradients expected = changed.runner->backward(*changedPlan, layer, x, c.batch, out, wanted);
            worst = std::max(worst, apart(found.input, expected.input, c.batch));
            QCOMPARE(found.taps.size(), expected.taps.size());
            for (const auto& [tap, gradient] : expected.taps) {
                worst = std::max(worst, apart(found.taps.at(tap).value, gradient.value, c.batch));
                worst = std::max(worst, apart(found.taps.at(tap).gradient, gradient.gradient, c.batch));
            }
            const auto recorded = c.runner.recordLayer(*plan, layer, x, c.batch, wanted);
            worst = std::max(worst, apart(recorded->output(), out, c.batch));
            x = out;
        }
        qInfo("%.1e", worst);
        QVERIFY(worst < tolerance);
    }

    void aContinuedTextIsCompensatedToo_data() {
        addEngineCases([](const QString& folder) { return !isEncoderFolder(folder); });
    }
    void aContinuedTextIsCompensatedToo() {
        const EngineCase c = engineCase();
        const PruningMask mask = withDrawnCompensation(MaskMaker(c.spec).ragged(0.7), c.spec, 11, 0.75, 0.5);
        const auto plan = c.plan(mask);
        const Batch whole = rowsOf(c.batch, {0});
        const auto expected = streamsOf(c.runner, *plan, whole).back();
        const auto cache = c.runner.cache(*plan, 1, whole.length(0));
        const int middle = whole.length(0) / 2;
        double worst = 0;
        for (const auto& [begin, length] : {std::pair(0, middle), std::pair(middle, whole.length(0) - middle)}) {
            const Batch piece = pieceOf(whole, {begin}, {length});
            at::Tensor x = c.runner.embed(*plan, piece);
            for (int layer = 0; layer < c.spec.layerCount(); ++layer)
                x = c.runner.runLayer(*plan, layer, x, piece, cache.get());
            worst = std::max(worst, apart(x, expected.narrow(1, begin, length).contiguous(), piece));
        }
        qInfo("%.1e", worst);
        QVERIFY(worst < tolerance);
    }

    void sixteenBitPlansRoundTheScaledWeights_data() { addEngineCases(); }
    void sixteenBitPlansRoundTheScaledWeights() {
        const EngineCase c = engineCase();
        if (!multipliesBfloat16()) { // the engine then refuses such plans
            QVERIFY_THROWS_EXCEPTION(Error, c.runner.plan(PruningMask(c.spec), ComputeType::bfloat16));
            return;
        }
        const PruningMask mask = withDrawnCompensation(PruningMask(c.spec), c.spec, 13, 0.75, 0.5);
        const ChangedModel changed(c, mask);
        const auto found = streamsOf(c.runner, *c.runner.plan(mask, ComputeType::bfloat16), c.batch);
        const auto expected = streamsOf(*changed.runner, *changed.plan(c, ComputeType::bfloat16), c.batch);
        const double error = apart(found, expected, c.batch);
        qInfo("%.1e", error);
        QVERIFY(error < tolerance);
    }

    void metricsReadTheScaledWeights_data() {
        const QStringList some{"llama-gqa", "gpt2", "bert"};
        addEngineCases([some](const QString& folder) { return some.contains(folder); });
    }
    void metricsReadTheScaledWeights() {
        const EngineCase c = engineCase();
        const PruningMask mask = withDrawnCompensation(MaskMaker(c.spec).ragged(0.7), c.spec, 15, 0.75, 0.5);
        PruningMask cuts = mask;
        for (int layer = 0; layer < c.spec.layerCount(); ++layer) {
            LayerMask own = cuts.layer(layer);
            own.compensation.reset();
            cuts.setLayer(layer, own);
        }
        const RunningModel changed(*c.model, mask, c.plain);
        std::vector<TokenSequence> sequences(1);
        TokenSequence& sequence = sequences.front();
        sequence.ids.assign(c.batch.ids.begin(), c.batch.ids.begin() + c.batch.length(0));
        sequence.types.assign(sequence.ids.size(), 0);
        const auto requests =
            parseMetricRequests("wanda_sp_head,wanda_sp_neuron,flap_head,flap_neuron,amp_head,amp_neuron");
        const auto found = measureForward(*c.model, {*c.plan(mask), sequences, 4096}, requests, {});
        const auto expected = measureForward(
            changed, {*changed.runner().plan(cuts, ComputeType::float32), sequences, 4096}, requests, {});
        for (std::size_t i = 0; i < found.size(); ++i) {
            const double error = farthest(found[i].values, expected[i].values);
            QVERIFY2(error < 1e-4, qPrintable(QString("%1: %2").arg(i).arg(error)));
        }
    }

    void plansAndCachesTellCompensationsApart() {
        const EngineCase c("llama-gqa", "model.safetensors", false);
        const PruningMask one = withDrawnCompensation(PruningMask(c.spec), c.spec, 1, 1);
        PruningMask other = one;
        LayerMask last = other.layer(1);
        LayerCompensation changed = compensationOf(last);
        changed.mlpBias[0] += 1;
        last.compensation = std::make_shared<const LayerCompensation>(changed);
        other.setLayer(1, last);
        QCOMPARE(commonLayers(one, other), 1);
        QCOMPARE(commonLayers(one, PruningMask(c.spec)), 0);
        // Equal compensations in different objects are equal masks.
        PruningMask copy = one;
        for (int layer = 0; layer < c.spec.layerCount(); ++layer) {
            LayerMask own = copy.layer(layer);
            own.compensation = std::make_shared<const LayerCompensation>(compensationOf(own));
            copy.setLayer(layer, own);
        }
        QVERIFY(copy == one);
        const auto before = streamsOf(c.runner, *c.plan(one), c.batch);
        const auto after = streamsOf(c.runner, *c.plan(other), c.batch);
        QVERIFY(before[1].equal(after[1]));
        QVERIFY(apart(before[2], after[2], c.batch) > 1e-4);
        QVERIFY(streamsOf(c.runner, *c.plan(copy), c.batch).back().equal(before.back()));
        // A weight whose numbers lie where those of a deleted one lay.
        for (int round = 0; round < 8; ++round) {
            PruningMask replaced(c.spec);
            LayerMask own = replaced.layer(1);
            LayerCompensation weight;
            weight.downWeight = std::make_shared<const std::vector<float>>(
                own.neurons.size() * static_cast<std::size_t>(c.spec.hidden), 0.01F * static_cast<float>(round + 1));
            own.compensation = std::make_shared<const LayerCompensation>(weight);
            replaced.setLayer(1, own);
            const auto streams = streamsOf(c.runner, *c.plan(replaced), c.batch);
            QVERIFY(apart(streams, changedStreams(c, replaced), c.batch) < tolerance);
        }
    }

    void compensationsThatDoNotFitAreRefused() {
        const EngineCase c("llama-gqa", "model.safetensors", false);
        const auto told = [&](auto change) {
            PruningMask mask(c.spec);
            LayerMask own = mask.layer(1);
            LayerCompensation made;
            change(made);
            own.compensation = std::make_shared<const LayerCompensation>(made);
            try {
                mask.setLayer(1, own);
                c.plan(mask);
            } catch (const Error& error) {
                return QString::fromUtf8(error.what());
            }
            return QString("accepted");
        };
        const auto& shape = c.spec.layers[1];
        QCOMPARE(told([](LayerCompensation& made) { made.headScale = {1, 2, 3, 4, 5, 6, 7}; }),
                 QString("layer 1: head_scale: expected %1 numbers, found 7").arg(shape.heads));
        QCOMPARE(told([](LayerCompensation& made) { made.neuronScale = {2}; }),
                 QString("layer 1: neuron_scale: expected %1 numbers, found 1").arg(shape.ffn));
        QCOMPARE(told([](LayerCompensation& made) { made.outputWeight = weightOf(7); }),
                 QString("layer 1: o_weight: expected rows of %1 numbers, found 7 numbers")
                     .arg(shape.heads * shape.headDim));
        QCOMPARE(
            told([&](LayerCompensation& made) { made.downWeight = weightOf(static_cast<std::size_t>(shape.ffn) * 2); }),
            QString("compensation of layer 1: down_weight: expected %1 x %2 numbers, found %3")
                .arg(c.spec.hidden)
                .arg(shape.ffn)
                .arg(shape.ffn * 2));
        const auto whole = static_cast<std::size_t>(c.spec.hidden) * static_cast<std::size_t>(shape.ffn);
        QCOMPARE(
            told([&](LayerCompensation& made) {
                made.downWeight = weightOf(whole);
                made.neuronScale.assign(static_cast<std::size_t>(shape.ffn), 2.F);
            }),
            QString("compensation of layer 1: has down_weight and neuron_scale: a projection is either replaced or "
                    "scaled"));
        QCOMPARE(told([&](LayerCompensation& made) {
                     made.downWeight = weightOf(whole, std::numeric_limits<float>::infinity());
                 }),
                 QString("layer 1: down_weight: has numbers that are not finite"));
        QCOMPARE(told([](LayerCompensation& made) { made.mlpBias = {2}; }),
                 QString("compensation of layer 1: mlp_bias: expected %1 numbers, found 1").arg(c.spec.hidden));
        QCOMPARE(told([&](LayerCompensation& made) {
                     made.attentionBias.assign(static_cast<std::size_t>(c.spec.hidden), 0.F);
                     made.attentionBias.back() = std::numeric_limits<float>::quiet_NaN();
                 }),
                 QString("layer 1: attention_bias: has numbers that are not finite"));
    }

private:
    static SharedWeight weightOf(std::size_t size, float value = 1) {
        return std::make_shared<const std::vector<float>>(size, value);
    }

    /// The output of a projection in float64, with the weight and bias of the layer's compensation.
    /// @param kept marks of the units whose columns `input` has; empty = all columns @param width columns of a unit
    static at::Tensor linearOf(const Model& model, int layer, const LayerMask& mask, WeightName which,
                               const std::vector<bool>& kept, int width, const at::Tensor& input) {
        const LayerCompensation& own = compensationOf(mask);
        const bool isOutput = which == WeightName::output;
        const SharedWeight& numbers = isOutput ? own.outputWeight : own.downWeight;
        at::Tensor weight = at::tensor(at::ArrayRef<float>(*numbers)).to(at::kDouble).view({model.spec().hidden, -1});
        std::vector<std::int64_t> columns;
        for (std::size_t i = 0; i < kept.size(); ++i)
            for (int j = 0; kept[i] && j < width; ++j)
                columns.push_back(static_cast<std::int64_t>(i) * width + j);
        if (!kept.empty())
            weight = weight.index_select(1, at::tensor(columns));
        at::Tensor bias = at::zeros({model.spec().hidden}, at::kDouble);
        if (const WeightName name = isOutput ? WeightName::outputBias : WeightName::downBias; model.has(layer, name))
            bias += model.tensor(layer, name).to(at::kDouble);
        if (const auto& added = isOutput ? own.attentionBias : own.mlpBias; !added.empty())
            bias += at::tensor(at::ArrayRef<float>(added)).to(at::kDouble);
        const at::Tensor flat = input.reshape({input.size(0), input.size(1), -1}).to(at::kDouble);
        return at::linear(flat, weight.to(flat.device()), bias.to(flat.device()));
    }

    /// The changed model as one that metrics can be measured on.
    class RunningModel : public ZeroedModel {
    public:
        RunningModel(const Model& model, const PruningMask& mask, bool plain)
            : ZeroedModel(model, mask)
            , m_runner(makeRunner(*this, onDevice({.plain = plain}))) {}
        const Runner& runner() const override { return *m_runner; }

    private:
        std::unique_ptr<const Runner> m_runner;
    };

    /// The largest difference of two cells, relative to the largest value.
    static double farthest(const Matrix& found, const Matrix& expected) {
        double worst = 0;
        double scale = 0;
        for (std::size_t row = 0; row < expected.rows(); ++row)
            for (std::size_t column = 0; column < expected.columns(); ++column) {
                const double wanted = expected(row, column);
                if (std::isnan(wanted) != std::isnan(found(row, column)))
                    return std::numeric_limits<double>::infinity();
                if (std::isnan(wanted))
                    continue;
                worst = std::max(worst, std::abs(found(row, column) - wanted));
                scale = std::max(scale, std::abs(wanted));
            }
        return scale > 0 ? worst / scale : worst;
    }

    /// Cuts beyond those of the plan, with its compensation, with none, and with another one.
    static std::vector<LayerMask> variantsOf(const LayerMask& base, const LayerMask& other, MaskMaker& maker) {
        std::vector<LayerMask> variants{base};
        for (const auto& compensation : {base.compensation, decltype(base.compensation)(), other.compensation})
            for (const double keep : {1.0, 0.8, 0.3}) {
                LayerMask heads = base;
                heads.heads = maker.some(base, keep).heads;
                LayerMask neurons = base;
                neurons.neurons = maker.some(base, keep).neurons;
                LayerMask gone = heads;
                gone.mlp = false;
                LayerMask noAttention = neurons;
                noAttention.attention = AttentionCut::drop;
                LayerMask bypass = heads;
                if (!base.heads.empty())
                    bypass = bypassedWith(heads, 0.4);
                for (LayerMask variant : {heads, neurons, gone, noAttention, bypass}) {
                    variant.compensation = compensation;
                    variants.push_back(variant);
                }
            }
        return variants;
    }

    static double worstVariant(const EngineCase& c, const Plan& plan, int layer, const at::Tensor& x,
                               const std::vector<LayerMask>& variants) {
        std::vector<at::Tensor> found(variants.size());
        c.runner.runVariants(plan, layer, x, c.batch, variants,
                             [&](std::size_t i, const at::Tensor& output) { found[i] = output; });
        double worst = 0;
        for (std::size_t i = 0; i < variants.size(); ++i) {
            const auto own = c.plan(plan.mask(), layer, variants[i]);
            worst = std::max(worst, apart(found[i], c.runner.runLayer(*own, layer, x, c.batch), c.batch));
        }
        return worst;
    }
};

SECATEUR_SUITE(TestCompensationRun)
#include "tst_compensation_run.moc"
