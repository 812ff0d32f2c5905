#include "backends/engine/engine_plan.h"

#include "analysis/base/error.h"
#include "backends/base/runtime.h"
#include "backends/engine/layer_adapters.h"
#include "backends/engine/plan_memory.h"
#include "backends/engine/stored_weights.h"
#include "backends/kernels/machine_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

namespace secateur {

namespace {

TypeChoice onProcessor(std::string_view storedAs) {
    if (storedAs != "BF16")
        return {ComputeType::float32,
                fmt::format("float32: rounding {} numbers to bfloat16 would change them", storedAs)};
    if (!multipliesBfloat16Fast())
        return {ComputeType::float32, "float32: bfloat16 is not faster on this processor"};
    return {ComputeType::bfloat16, "bfloat16: the checkpoint's own type, which this processor multiplies faster"};
}

TypeChoice onDevice(std::string_view storedAs) {
    if (storedAs == "BF16")
        return {ComputeType::bfloat16, "bfloat16: the checkpoint's own type"};
    if (storedAs == "F16")
        return {ComputeType::float16, "float16: the checkpoint's own type"};
    return {ComputeType::float32, fmt::format("float32: rounding {} numbers to 16 bits would change them", storedAs)};
}

} // namespace

TypeChoice chooseType(ComputeType wanted, bool isProcessor, std::string_view storedAs) {
    if (wanted == ComputeType::automatic)
        return isProcessor ? onProcessor(storedAs) : onDevice(storedAs);
    if (isProcessor && wanted == ComputeType::float16)
        throw Error("float16 is supported on CUDA devices only", {}, "Use float32 or bfloat16");
    if (isProcessor && wanted == ComputeType::bfloat16 && !multipliesBfloat16())
        throw Error("This processor cannot multiply bfloat16", {}, "Use float32");
    return {wanted, {}};
}

std::shared_ptr<const void> WeightStore::find(const std::string& key, const Room& room,
                                              const std::function<Item()>& make) {
    const std::int64_t most = std::min(room.most, m_budget);
    std::shared_ptr<Slot> slot;
    {
        const std::lock_guard lock(m_mutex);
        if (const auto known = m_slots.find(key); known == m_slots.end() || known->second->item.isLost())
            std::erase_if(m_slots, [](const auto& other) { return other.second->item.isLost(); });
        std::shared_ptr<Slot>& entry = m_slots[key];
        if (!entry)
            entry = std::make_shared<Slot>();
        slot = entry;
        slot->lastUse = ++m_clock;
        if (slot->item.weights)
            return slot->item.weights;
        const bool isFreed = shrink(slot.get(), most - room.expected);
        if (isFreed && m_budget < room.expected) // otherwise the next weights reuse the memory
            returnFreedMemory();
    }
    const std::lock_guard making(slot->making);
    Item made = slot->item.weights ? slot->item : make();
    const std::lock_guard lock(m_mutex);
    slot->item = made;
    shrink(slot.get(), most);
    return made.weights;
}

bool WeightStore::shrink(const Slot* except, std::int64_t most) {
    bool isSmaller = false;
    std::int64_t bytes = 0;
    for (const auto& [_, slot] : m_slots)
        bytes += slot->item.bytes;
    while (bytes > most) {
        auto oldest = m_slots.end();
        for (auto it = m_slots.begin(); it != m_slots.end(); ++it) {
            const bool isIdle = it->second.get() != except && it->second->item.weights;
            if (isIdle && (oldest == m_slots.end() || it->second->lastUse < oldest->second->lastUse))
                oldest = it;
        }
        if (oldest == m_slots.end())
            break;
        bytes -= oldest->second->item.bytes;
        m_slots.erase(oldest);
        isSmaller = true;
    }
    return isSmaller;
}

namespace {

void append(std::string& key, const std::vector<bool>& flags) {
    unsigned bits = 1; // the highest set bit shows how many flags follow
    for (const bool flag : flags) {
        bits = bits << 1 | (flag ? 1U : 0U);
        if (bits & 0x100U) {
            key += static_cast<char>(bits);
            bits = 1;
        }
    }
    key += static_cast<char>(bits);
}

void append(std::string& key, const std::vector<float>& values) {
    key += fmt::format("{} ", values.size());
    key.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

/// Appends the address of a compensation's weight, because its numbers are too many for a key (WeightStore::Named).
/// Equal numbers at two addresses are converted twice.
void append(std::string& key, const SharedWeight& weight) {
    key += fmt::format("{} ", static_cast<const void*>(weight.get()));
}

/// The key of a layer's weights under a mask. @param layer index in the file, which layers that share weights have in
/// common
std::string keyOf(int layer, const LayerMask& mask, const Conversion& conversion) {
    std::string key = fmt::format("{} {} {} {} {} {} {} {} ", layer, static_cast<int>(conversion.type),
                                  static_cast<int>(conversion.form), layer >= 0 && conversion.repeatsValues,
                                  static_cast<int>(mask.attention), mask.alpha, mask.mlp, mask.block);
    append(key, mask.heads);
    append(key, mask.neurons);
    if (const LayerCompensation& own = compensationOf(mask); !own.empty()) {
        for (const auto* values : {&own.headScale, &own.neuronScale, &own.attentionBias, &own.mlpBias})
            append(key, *values);
        append(key, own.outputWeight);
        append(key, own.downWeight);
    }
    return key;
}

std::int64_t lmHeadBytes(const ModelSpec& spec, ComputeType type) {
    return std::int64_t{spec.vocab} * spec.hidden * (type == ComputeType::float32 ? 4 : 2);
}

std::int64_t totalBytes(const ModelSpec& spec, const PruningMask& mask, ComputeType type) {
    std::int64_t bytes = lmHeadBytes(spec, type);
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        if (mask.tiedTo(layer).front() == layer)
            bytes += expectedBytes(spec, layer, mask.layer(layer), type);
    return bytes;
}

/// Maximum number of bytes of a plan's weights that stay in the store. A plan that does not fit is run layer by layer.
/// Each layer is then needed again only after all others, so keeping two layers is enough.
std::int64_t keptBytes(const ModelSpec& spec, const Plan& plan) {
    if (plan.isResident())
        return std::numeric_limits<std::int64_t>::max();
    std::int64_t largest = 0;
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        largest = std::max(largest, expectedBytes(spec, layer, plan.mask().layer(layer), plan.type()));
    return 2 * largest;
}

/// Whether steps of generation read stored weights, by layer + 1. Rounded weights are not those of the file.
std::vector<bool> storedLayers(const Model& model, const Conversion& conversion) {
    std::vector<bool> isStored;
    for (int layer = -1; layer < model.spec().layerCount(); ++layer)
        isStored.push_back(conversion.form == WeightForm::packed && conversion.type == ComputeType::float32 &&
                           hasStoredProjections(model, layer));
    return isStored;
}

Conversion transposed(Conversion conversion) {
    conversion.form = WeightForm::transposed;
    return conversion;
}

/// Releases the mapped pages of a layer's weights after these were converted.
void releaseFile(const Model& model, int layer) {
    for (std::size_t name = 0; name < weightNameCount; ++name)
        model.release(layer, static_cast<WeightName>(name));
}

} // namespace

EnginePlan::EnginePlan(const Model& model, WeightStore& store, PruningMask mask, std::string reason,
                       const Conversion& conversion, std::shared_ptr<const PlanAdapters> adapters)
    : Plan(mask, conversion.type, std::move(reason), totalBytes(model.spec(), mask, conversion.type) <= store.budget())
    , m_model(model)
    , m_store(store)
    , m_conversion(conversion)
    , m_adapters(std::move(adapters))
    , m_keptBytes(keptBytes(model.spec(), *this))
    , m_isStored(storedLayers(model, conversion)) {}

Conversion EnginePlan::gradientConversion() const {
    Conversion conversion = m_conversion;
    if (conversion.device.is_cpu())
        conversion.type = ComputeType::float32;
    return conversion;
}

Conversion EnginePlan::stepConversion(int index) const {
    Conversion conversion = m_conversion;
    if (isStored(index))
        conversion.form = WeightForm::stored;
    return conversion;
}

EnginePlan::LayerPointer EnginePlan::stepLayer(int index, const Batch& batch) const {
    return adapted(stored(index, mask().layer(index), stepConversion(index), stepKey(index)), index, batch);
}

const std::string& EnginePlan::stepKey(int index) const {
    std::call_once(m_stepKeysMade, [&] {
        for (int layer = 0; layer < m_model.spec().layerCount(); ++layer) {
            const LayerMask& own = mask().layer(layer);
            m_stepKeys.push_back(
                keyOf(m_model.spec().storedLayer(layer), own, ownConversion(layer, own, stepConversion(layer))));
        }
    });
    return m_stepKeys[static_cast<std::size_t>(index)];
}

std::shared_ptr<const EmbeddingAndHead> EnginePlan::stepEmbeddingAndHead() const {
    return adapted(storedEmbeddingAndHead(stepConversion(-1)));
}

Conversion EnginePlan::ownConversion(int index, const LayerMask& mask, Conversion conversion) const {
    const AttentionKind attention = m_model.spec().layers[static_cast<std::size_t>(index)].attention;
    const bool hasValuesOnly = attention == AttentionKind::valueOnly || mask.attention == AttentionCut::bypassQk;
    conversion.repeatsValues = conversion.repeatsValues && hasValuesOnly; // all other layers are equal for both
    return conversion;
}

EnginePlan::LayerPointer EnginePlan::stored(int index, const LayerMask& mask, const Conversion& conversion) const {
    return stored(index, mask, conversion,
                  keyOf(m_model.spec().storedLayer(index), mask, ownConversion(index, mask, conversion)));
}

EnginePlan::LayerPointer EnginePlan::stored(int index, const LayerMask& mask, const Conversion& conversion,
                                            const std::string& key) const {
    const std::function<PlanLayer()> make = [&] {
        PlanLayer made = makePlanLayer(m_model, index, mask, ownConversion(index, mask, conversion));
        m_model.checkFiles();
        if (conversion.form != WeightForm::stored)
            releaseFile(m_model, index);
        return made;
    };
    const std::int64_t expected =
        conversion.form == WeightForm::stored ? 0 : expectedBytes(m_model.spec(), index, mask, conversion.type);
    const LayerCompensation& own = compensationOf(mask);
    return m_store.get(key, {m_keptBytes, expected}, make, {own.outputWeight, own.downWeight});
}

EnginePlan::LayerPointer EnginePlan::layer(int index, const LayerMask& mask) const {
    return stored(index, mask, m_conversion);
}

EnginePlan::LayerPointer EnginePlan::gradientLayer(int index) const {
    const Conversion conversion = gradientConversion();
    LayerPointer own = stored(index, mask().layer(index), conversion);
    if (conversion.form == WeightForm::plain)
        return own;
    const LayerPointer back = stored(index, mask().layer(index), transposed(conversion));
    auto both = std::make_shared<PlanLayer>(*own);
    for (Linear PlanLayer::*const linear :
         {&PlanLayer::projections, &PlanLayer::output, &PlanLayer::gateUp, &PlanLayer::down})
        ((*both).*linear).transposed = ((*back).*linear).transposed;
    return both;
}

std::shared_ptr<const EmbeddingAndHead> EnginePlan::storedEmbeddingAndHead(const Conversion& conversion) const {
    const std::function<EmbeddingAndHead()> make = [&] {
        EmbeddingAndHead made = makeEmbeddingAndHead(m_model, conversion);
        m_model.checkFiles();
        return made;
    };
    const std::int64_t expected =
        conversion.form == WeightForm::stored ? 0 : lmHeadBytes(m_model.spec(), conversion.type);
    return m_store.get(keyOf(-1, {}, conversion), {m_keptBytes, expected}, make);
}

EnginePlan::LayerPointer EnginePlan::adapted(LayerPointer own, int index, const Batch& batch) const {
    if (!m_adapters)
        return own;
    return std::make_shared<const PlanLayer>(
        withAdapters(*own, m_model.spec(), index, mask().layer(index), *m_adapters, dropoutKeyOf(batch)));
}

std::shared_ptr<const EmbeddingAndHead> EnginePlan::adapted(std::shared_ptr<const EmbeddingAndHead> own) const {
    if (!m_adapters)
        return own;
    return std::make_shared<const EmbeddingAndHead>(withAdapters(*own, m_model.spec(), *m_adapters));
}

std::shared_ptr<const EmbeddingAndHead> EnginePlan::embeddingAndHead() const {
    return adapted(storedEmbeddingAndHead(m_conversion));
}

std::shared_ptr<const EmbeddingAndHead> EnginePlan::gradientEmbeddingAndHead() const {
    const Conversion conversion = gradientConversion();
    std::shared_ptr<const EmbeddingAndHead> own = storedEmbeddingAndHead(conversion);
    if (conversion.form == WeightForm::plain)
        return adapted(own);
    const std::shared_ptr<const EmbeddingAndHead> back = storedEmbeddingAndHead(transposed(conversion));
    auto both = std::make_shared<EmbeddingAndHead>(*own);
    for (Linear EmbeddingAndHead::*const linear : {&EmbeddingAndHead::lmHead, &EmbeddingAndHead::pooler,
                                                   &EmbeddingAndHead::classifierDense, &EmbeddingAndHead::classifier})
        ((*both).*linear).transposed = ((*back).*linear).transposed;
    return adapted(std::move(both));
}

std::int64_t EnginePlan::bytesWith(const EnginePlan& other) const {
    const ModelSpec& spec = m_model.spec();
    std::int64_t bytes = totalBytes(spec, mask(), type()) + totalBytes(spec, other.mask(), other.type());
    if (type() != other.type())
        return bytes;
    bytes -= lmHeadBytes(spec, type());
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        if (mask().tiedTo(layer).front() == layer && mask().layer(layer) == other.mask().layer(layer))
            bytes -= expectedBytes(spec, layer, mask().layer(layer), type());
    return bytes;
}

bool EnginePlan::staysBeside(const EnginePlan& other) const {
    return bytesWith(other) <= m_store.budget();
}

HeldWeights heldWeights(const Model& model, const PruningMask& mask, ComputeType type) {
    if (type == ComputeType::automatic)
        type = chooseType(type, true, model.card().dtype).type;
    const std::vector<bool> isStored = storedLayers(model, {.type = type, .form = WeightForm::packed});
    const bool areAll = std::ranges::all_of(isStored, std::identity());
    return {type, totalBytes(model.spec(), mask, type), areAll ? model.card().bytes : 0};
}

bool stayTogether(const Plan& a, const Plan& b) {
    return dynamic_cast<const EnginePlan&>(a).staysBeside(dynamic_cast<const EnginePlan&>(b));
}

} // namespace secateur
