#include "backends/engine/open_model.h"

#include "analysis/base/error.h"
#include "analysis/running/runner_results.h"
#include "backends/base/memory_error.h"
#include "backends/base/runtime.h"
#include "backends/engine/attention_blocks.h"
#include "backends/engine/backward.h"
#include "backends/engine/embedding_and_head.h"
#include "backends/engine/engine_plan.h"
#include "backends/engine/layer_pass.h"
#include "backends/engine/layer_tap_observer.h"
#include "backends/engine/memory_check.h"
#include "backends/kernels/thread_team.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <new>
#include <type_traits>

namespace secateur {

namespace {

WeightForm formOf(const OpenOptions& options) {
    return at::Device(options.device).is_cpu() && !options.plain ? WeightForm::packed : WeightForm::plain;
}

std::int64_t budgetOf(const Model& model, const OpenOptions& options) {
    if (options.memoryBudget > 0)
        return options.memoryBudget;
    if (options.device != "cpu")
        return deviceBudget(options.device);
    const ComputeType type = chooseType(ComputeType::automatic, true, model.card().dtype).type;
    return defaultBudget(model, type, formOf(options) == WeightForm::packed, availableMemory());
}

std::int64_t freeBytesOf(const Model& model, const OpenOptions& options, std::int64_t budget) {
    if (options.device != "cpu" || options.fixedBatches)
        return std::numeric_limits<std::int64_t>::max();
    const ComputeType type = chooseType(ComputeType::automatic, true, model.card().dtype).type;
    return bytesBesideWeights(model, type, {budget, formOf(options) == WeightForm::packed}, availableMemory());
}

/// Runs work without recording a graph, and converts exceptions of libtorch and of the allocator to Error.
template <typename Work>
std::invoke_result_t<Work> withoutGraph(const std::string& path, const Work& work) {
    const c10::NoGradGuard noGraph;
    try {
        return work();
    } catch (const c10::Error& error) {
        throw torchError(error, path);
    } catch (const std::bad_alloc&) {
        throw memoryError(path);
    }
}

/// A recorded layer whose backward pass also runs within withoutGraph().
class GuardedLayer : public RecordedLayer {
public:
    GuardedLayer(std::unique_ptr<RecordedLayer> layer, std::string path)
        : m_layer(std::move(layer))
        , m_path(std::move(path)) {}

    at::Tensor output() const override { return m_layer->output(); }
    void backwardEach(std::span<const OutputGradient> outputs, const Runner::BackwardSink& sink) override {
        withoutGraph(m_path, [&] { m_layer->backwardEach(outputs, sink); });
    }

private:
    std::unique_ptr<RecordedLayer> m_layer;
    std::string m_path;
};

class ModelRunner : public Runner {
public:
    ModelRunner(const Model& model, const OpenOptions& options)
        : m_model(model)
        , m_spec(model.spec())
        , m_device(options.device)
        , m_store(budgetOf(model, options))
        , m_form(formOf(options))
        , m_freeBytes(freeBytesOf(model, options, m_store.budget()))
        , m_gradient(m_form == WeightForm::packed ? gradientMath() : plainMath(ComputeType::float32))
        , m_float32(mathFor(ComputeType::float32))
        , m_bfloat16(mathFor(ComputeType::bfloat16))
        , m_float16(mathFor(ComputeType::float16)) {}

    std::shared_ptr<const Plan> plan(const PruningMask& mask, ComputeType type) const override {
        return planned(mask, chooseType(type, m_device.is_cpu(), m_model.card().dtype), {});
    }

    std::shared_ptr<const Plan> planWith(std::shared_ptr<const PlanAdapters> adapters,
                                         const PruningMask& mask) const override {
        return planned(mask, {ComputeType::float32, {}}, std::move(adapters));
    }

    at::Tensor embed(const Plan& plan, const Batch& batch) const override {
        checkBatch(batch);
        return guarded([&] {
            const EnginePlan& own = ownPlan(plan);
            const auto weights = own.embeddingAndHead();
            return shaped(embedBatch(m_model, *weights, mathOf(plan), batch, m_device), batch);
        });
    }

    at::Tensor runLayer(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch, KvCache* cache,
                        LayerObserver* observer) const override {
        checkStream(x, batch);
        return guarded([&] {
            const EnginePlan& own = ownPlan(plan);
            const bool isStep = cache && batch.tokens() <= EnginePlan::stepTokens;
            const auto weights = isStep ? own.stepLayer(layer, batch) : own.adaptedLayer(layer, batch);
            AttentionInput input = inputOf(*weights, batch);
            if (cache)
                useCache(input, *cache, layer);
            else
                checkWhole(batch);
            TapObserver noObserver;
            std::unique_ptr<TapObserver> taps;
            if (observer)
                taps = std::make_unique<LayerTapObserver>(*observer, layer, input);
            return shaped(LayerPass(mathOf(plan), input, taps ? *taps : noObserver).run(flat(x)), batch);
        });
    }

    at::Tensor runLayers(const Plan& plan, const at::Tensor& x, const Batch& batch, KvCache& cache,
                         const std::function<void(int layer)>& begins) const override {
        checkStream(x, batch);
        const auto weights = teamLayers(plan, batch, begins);
        if (weights.empty())
            return Runner::runLayers(plan, x, batch, cache, begins);
        return guarded([&] {
            const LayerMath& math = mathOf(plan);
            at::Tensor stream = flat(x);
            ThreadTeam::during([&] {
                TapObserver noObserver;
                for (std::size_t i = 0; i < weights.size(); ++i) {
                    const int layer = static_cast<int>(i);
                    begins(layer);
                    AttentionInput input = inputOf(*weights[i], batch);
                    useCache(input, cache, layer);
                    stream = LayerPass(math, input, noObserver).run(stream);
                    if (i + 1 < weights.size())
                        math.expect(weights[i + 1]->projections);
                }
            });
            return shaped(stream, batch);
        });
    }

    void runVariants(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                     std::span<const LayerMask> variants, const VariantSink& sink) const override {
        checkStream(x, batch);
        for (const LayerMask& variant : variants)
            checkVariant(variant, m_spec.layers.at(static_cast<std::size_t>(layer)));
        checkWhole(batch);
        if (ownPlan(plan).hasAdapters())
            throw Error("Variants of a layer cannot be run with trained tensors");
        guarded([&] {
            const EnginePlan& own = ownPlan(plan);
            const auto weights = own.layer(layer);
            runLayerVariants(own, layer, mathOf(plan), inputOf(*weights, batch), flat(x), variants,
                             [&](std::size_t i, const at::Tensor& out) { sink(i, shaped(out, batch)); });
        });
    }

    void backwardEach(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                      std::span<const OutputGradient> outputs, const BackwardSink& sink,
                      std::span<const float> attentionScales) const override {
        checkGradientMemory();
        checkStream(x, batch);
        for (const OutputGradient& output : outputs)
            checkStream(output.dOutput, batch);
        checkWhole(batch);
        if (!attentionScales.empty() && std::ssize(attentionScales) != batch.rows)
            throw Error(fmt::format("{} attention scales were given for {} rows", attentionScales.size(), batch.rows));
        guarded([&] {
            const auto weights = ownPlan(plan).adaptedGradientLayer(layer, batch);
            AttentionInput input = inputOf(*weights, batch);
            if (!attentionScales.empty())
                input.attentionScales =
                    at::tensor(at::ArrayRef<float>(attentionScales.data(), attentionScales.size())).to(m_device);
            backwardLayer(gradientMathOf(plan), input, flat(x), outputs, sink);
        });
    }

    std::unique_ptr<RecordedLayer> recordLayer(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                                               std::span<const Tap> wanted) const override {
        checkGradientMemory();
        checkStream(x, batch);
        checkWhole(batch);
        return guarded([&] {
            const auto weights = ownPlan(plan).adaptedGradientLayer(layer, batch);
            auto recorded = recordLayerGraph(gradientMathOf(plan), inputOf(*weights, batch), flat(x), wanted);
            return std::make_unique<GuardedLayer>(std::move(recorded), m_model.card().path);
        });
    }

    std::int64_t recordedBytes(int layer, const Batch& batch, std::span<const Tap> wanted) const override {
        return graphBytes(m_spec, m_spec.layers.at(static_cast<std::size_t>(layer)), batch, wanted,
                          m_form == WeightForm::plain);
    }

    std::int64_t freeBytes() const override { return m_freeBytes; }

    at::Tensor lmHead(const Plan& plan, const at::Tensor& x, const Batch& batch, bool lastOnly) const override {
        checkStream(x, batch);
        return guarded([&] {
            const EnginePlan& own = ownPlan(plan);
            const bool isStep = lastOnly && batch.rows <= EnginePlan::stepTokens;
            const auto weights = isStep ? own.stepEmbeddingAndHead() : own.embeddingAndHead();
            const OutputHead head(m_spec, *weights, mathOf(plan));
            if (m_spec.family == Family::encoder)
                return head.classes(x.select(1, 0).contiguous());
            checkLmHead(*weights);
            if (isStep)
                m_model.checkFiles();
            return lastOnly ? head.logits(lastPositions(x, batch)) : shaped(head.logits(flat(x)), batch);
        });
    }

    TokenLosses losses(const Plan& plan, const at::Tensor& x, const Batch& batch,
                       std::span<const int> targets) const override {
        checkStream(x, batch);
        checkTargets(targets, batch.tokens(), m_spec.vocab);
        return guarded([&] {
            const auto weights = ownPlan(plan).embeddingAndHead();
            checkLmHead(*weights);
            return OutputHead(m_spec, *weights, mathOf(plan)).losses(flat(x), targets);
        });
    }

    TopTokens topTokens(const Plan& plan, const at::Tensor& x, const Batch& batch, std::span<const int> targets,
                        int count) const override {
        checkStream(x, batch);
        checkTargets(targets, batch.tokens(), m_spec.vocab);
        return guarded([&] {
            const auto weights = ownPlan(plan).embeddingAndHead();
            checkLmHead(*weights);
            return OutputHead(m_spec, *weights, mathOf(plan)).topTokens(flat(x), targets, count);
        });
    }

    DenseComparison comparison(const Plan& plan, const at::Tensor& x, const Batch& batch, std::span<const int> targets,
                               const TopTokens& dense) const override {
        checkStream(x, batch);
        checkTargets(targets, batch.tokens(), m_spec.vocab);
        return guarded([&] {
            const auto weights = ownPlan(plan).embeddingAndHead();
            checkLmHead(*weights);
            return OutputHead(m_spec, *weights, mathOf(plan)).comparison(flat(x), targets, dense);
        });
    }

    LossGradient lossGradient(const Plan& plan, const at::Tensor& x, const Batch& batch, Scalarisation of,
                              std::span<const int> targets, std::span<const float> weights,
                              const TeacherTargets* teacher) const override {
        checkGradientMemory();
        checkStream(x, batch);
        const bool needsTargets = of != Scalarisation::logitNorm && of != Scalarisation::pooledNorm;
        const bool isEncoder = m_spec.family == Family::encoder;
        if (needsTargets && !isEncoder)
            checkTargets(targets, batch.tokens(), m_spec.vocab);
        if (!weights.empty() && weights.size() != targets.size())
            throw Error(fmt::format("{} weights were given for {} targets", weights.size(), targets.size()));
        return guarded([&] {
            const auto headWeights = ownPlan(plan).gradientEmbeddingAndHead();
            if (!isEncoder)
                checkLmHead(*headWeights);
            else if (needsTargets)
                checkLabels(targets, batch.rows, headWeights->classifier.out);
            return lossGradientOf(gradientMathOf(plan), m_spec, *headWeights, x, batch, of,
                                  {targets, weights, teacher});
        });
    }

    std::unique_ptr<KvCache> cache(const Plan& plan, int rows, int capacity, std::optional<int> layer) const override {
        if (m_spec.family == Family::encoder)
            throw Error("is an encoder: it cannot continue texts", m_model.card().path);
        return guarded([&] { return std::make_unique<EngineCache>(plan, m_spec, rows, capacity, m_device, layer); });
    }

private:
    std::shared_ptr<const Plan> planned(const PruningMask& mask, const TypeChoice& choice,
                                        std::shared_ptr<const PlanAdapters> adapters) const {
        mask.checkFits(m_spec);
        if (m_device.is_cpu())
            std::call_once(m_memoryChecked, [&] {
                checkRunMemory(m_model, choice.type, {m_store.budget(), m_form == WeightForm::packed});
            });
        // Training multiplies many tokens by each weight, forward and backward: one copy that is not packed is enough.
        const WeightForm form = adapters ? WeightForm::plain : m_form;
        const bool hasFactors = adapters && !adapters->factors.empty();
        return std::make_shared<EnginePlan>(m_model, m_store, mask, choice.reason,
                                            Conversion{choice.type, form, m_device, hasFactors}, std::move(adapters));
    }

    std::unique_ptr<const LayerMath> mathFor(ComputeType type) const {
        if (m_form == WeightForm::packed)
            return fusedMath(type);
        return m_device.is_cpu() ? plainMath(type) : deviceMath(type);
    }

    /// Gradients need the weights in float32, whatever the type of the plan is.
    void checkGradientMemory() const {
        if (m_device.is_cpu())
            std::call_once(m_gradientMemoryChecked, [&] {
                checkRunMemory(m_model, ComputeType::float32, {m_store.budget(), m_form == WeightForm::packed});
            });
    }

    /// The weights of all layers for a step on a ThreadTeam. Empty if it does not suit them, or they do not stay in
    /// memory together. @param begins called with 0 before the weights of each layer are made
    std::vector<EnginePlan::LayerPointer> teamLayers(const Plan& plan, const Batch& batch,
                                                     const std::function<void(int layer)>& begins) const {
        std::vector<EnginePlan::LayerPointer> weights;
        const EnginePlan& own = ownPlan(plan);
        if (!own.keepsStepLayers() || own.hasAdapters() || batch.tokens() > PackedMatrix::fewRows)
            return weights;
        const LayerMath& math = mathOf(plan);
        for (int layer = 0; layer < m_spec.layerCount(); ++layer) {
            begins(0);
            weights.push_back(guarded([&] { return own.stepLayer(layer, batch); }));
            if (!math.suitsTeam(*weights.back(), batch.tokens()))
                return {};
        }
        return weights;
    }

    template <typename Work>
    std::invoke_result_t<Work> guarded(const Work& work) const {
        return withoutGraph(m_model.card().path, work);
    }

    const EnginePlan& ownPlan(const Plan& plan) const { return dynamic_cast<const EnginePlan&>(plan); }

    const LayerMath& mathOf(const Plan& plan) const {
        switch (plan.type()) {
        case ComputeType::bfloat16:
            return *m_bfloat16;
        case ComputeType::float16:
            return *m_float16;
        default:
            return *m_float32;
        }
    }

    const LayerMath& gradientMathOf(const Plan& plan) const { return m_device.is_cpu() ? *m_gradient : mathOf(plan); }

    AttentionInput inputOf(const PlanLayer& layer, const Batch& batch) const {
        AttentionInput input{m_spec, layer, batch.rows, batch.positions, {}, {}, {}};
        for (int row = 0; row < batch.rows; ++row) {
            input.first.push_back(batch.first(row));
            input.lengths.push_back(batch.length(row));
        }
        const int last = batch.positions + *std::ranges::max_element(input.first);
        input.rotary = m_rotary.table(layer.spec.rotary, last, m_device);
        return input;
    }

    void useCache(AttentionInput& input, KvCache& cache, int layer) const {
        auto& own = dynamic_cast<EngineCache&>(cache);
        const std::int64_t last = keyCount(input);
        if (own.rows() != input.rows || own.capacity() < last)
            throw Error(
                fmt::format("A cache of {} rows and {} positions has no room for a batch of {} rows up to position {}",
                            own.rows(), own.capacity(), input.rows, last));
        LayerCache& kept = own.layer(layer);
        const bool hasScores = input.layer.spec.attention == AttentionKind::full && !input.layer.dropped;
        if ((kept.keys.defined() ? kept.keys.size(1) : 0) != (hasScores ? input.layer.spec.kvHeads : 0))
            throw Error(fmt::format("A cache made for another mask does not fit layer {}", layer));
        if (kept.keys.defined())
            input.cache = &kept;
    }

    at::Tensor flat(const at::Tensor& x) const { return x.contiguous().reshape({-1, x.size(-1)}); }
    at::Tensor shaped(const at::Tensor& x, const Batch& batch) const {
        return x.reshape({batch.rows, batch.positions, -1});
    }

    at::Tensor lastPositions(const at::Tensor& x, const Batch& batch) const {
        std::vector<std::int64_t> last;
        for (int row = 0; row < batch.rows; ++row)
            last.push_back(std::int64_t{row} * batch.positions + batch.length(row) - 1);
        return flat(x).index_select(0, at::tensor(last).to(m_device));
    }

    /// Checks that the rows of a batch that is run without a cache begin at position 0.
    static void checkWhole(const Batch& batch) {
        if (std::ranges::any_of(batch.firstPosition, [](int first) { return first > 0; }))
            throw Error("A batch that continues texts needs the cache of their beginnings");
    }

    void checkStream(const at::Tensor& x, const Batch& batch) const {
        checkBatch(batch);
        if (x.dim() != 3 || x.size(0) != batch.rows || x.size(1) != batch.positions || x.size(2) != m_spec.hidden)
            throw Error(
                fmt::format("The shape of the stream does not match a batch of {} rows, {} positions and width {}",
                            batch.rows, batch.positions, m_spec.hidden));
    }

    void checkTargets(std::span<const int> targets, std::int64_t expected, std::int64_t limit) const {
        if (static_cast<std::int64_t>(targets.size()) != expected)
            throw Error(fmt::format("The batch needs {} targets, but {} were given", expected, targets.size()));
        if (std::ranges::any_of(targets, [&](int target) { return target >= limit; }))
            throw Error(fmt::format("has no target {}: it has {} of them", std::ranges::max(targets), limit),
                        m_model.card().path);
    }

    static void checkVariant(const LayerMask& variant, const LayerSpec& layer) {
        if (variant.heads.size() != static_cast<std::size_t>(layer.heads) ||
            variant.neurons.size() != static_cast<std::size_t>(layer.ffn))
            throw Error(
                fmt::format("A variant of {} heads and {} neurons does not fit a layer of {} heads and {} neurons",
                            variant.heads.size(), variant.neurons.size(), layer.heads, layer.ffn));
    }

    void checkLabels(std::span<const int> labels, int rows, std::int64_t classes) const {
        if (classes == 0)
            throw Error("has no classifier: it cannot label texts", m_model.card().path);
        checkTargets(labels, rows, classes);
        if (std::ranges::any_of(labels, [](int label) { return label < 0; }))
            throw Error("Every row needs a label, and labels count from 0");
    }

    void checkLmHead(const EmbeddingAndHead& weights) const {
        if (weights.lmHead.out == 0)
            throw Error("has no LM head (lm_head): no text can be scored", m_model.card().path);
    }

    const Model& m_model;
    const ModelSpec& m_spec;
    at::Device m_device;
    mutable WeightStore m_store;
    mutable std::once_flag m_memoryChecked; ///< set when the first plan had enough memory
    mutable std::once_flag m_gradientMemoryChecked;
    RotaryCache m_rotary;
    WeightForm m_form;
    std::int64_t m_freeBytes;
    std::unique_ptr<const LayerMath> m_gradient;
    std::unique_ptr<const LayerMath> m_float32;
    std::unique_ptr<const LayerMath> m_bfloat16;
    std::unique_ptr<const LayerMath> m_float16;
};

} // namespace

std::unique_ptr<const Runner> makeRunner(const Model& model, const OpenOptions& options) {
    return std::make_unique<ModelRunner>(model, options);
}

} // namespace secateur
