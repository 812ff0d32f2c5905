#pragma once

#include "analysis/masks/projection_weight.h"
#include "analysis/running/plan_adapters.h"
#include "analysis/running/runner.h"
#include "backends/engine/plan_layer.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

struct TypeChoice {
    ComputeType type;   ///< never ComputeType::automatic
    std::string reason; ///< why the type was chosen; empty if the user chose it
};

/// @param isProcessor whether the device is the CPU, not a CUDA device
/// @param storedAs type in which most weights of the checkpoint are stored: "BF16", "Q4_1"
/// @throws Error if the device does not support the type
TypeChoice chooseType(ComputeType wanted, bool isProcessor, std::string_view storedAs);

/// Keeps converted weights within a memory budget and finds them by a key. Frees the least recently used weights first.
/// Weights stay in memory while a caller has a pointer to them. Thread-safe.
class WeightStore {
public:
    /// Numbers that a key names by their addresses. Once they are gone, nobody can ask for the key again.
    using Named = std::array<SharedWeight, 2>;

    struct Item {
        std::shared_ptr<const void> weights;
        std::int64_t bytes = 0;
        std::vector<std::weak_ptr<const std::vector<float>>> named = {};

        bool isLost() const {
            return std::ranges::any_of(named, [](const auto& numbers) { return numbers.expired(); });
        }
    };

    explicit WeightStore(std::int64_t budget)
        : m_budget(budget) {}

    std::int64_t budget() const { return m_budget; }

    /// Bytes of a store.
    struct Room {
        std::int64_t most;     ///< maximum bytes in the store, if the budget allows as many
        std::int64_t expected; ///< approximate bytes of the weights that are wanted
    };

    /// The weights of a key. If the store does not have them, makes them; if several threads ask, only once. Before and
    /// after that, frees other weights until the store has room for them. @param named may have null pointers
    template <typename Weights>
    std::shared_ptr<const Weights> get(const std::string& key, const Room& room, const std::function<Weights()>& make,
                                       const Named& named = {}) {
        return std::static_pointer_cast<const Weights>(find(key, room, [&] {
            auto made = std::make_shared<const Weights>(make());
            Item item{made, made->bytes};
            std::ranges::copy_if(named, std::back_inserter(item.named),
                                 [](const SharedWeight& numbers) { return numbers != nullptr; });
            return item;
        }));
    }

private:
    struct Slot {
        std::mutex making;
        Item item;
        std::uint64_t lastUse = 0;
    };

    std::shared_ptr<const void> find(const std::string& key, const Room& room, const std::function<Item()>& make);
    /// Frees weights until the store contains at most `most` bytes. Returns whether it freed any.
    bool shrink(const Slot* except, std::int64_t most);

    std::int64_t m_budget;
    std::mutex m_mutex;
    std::uint64_t m_clock = 0;
    std::map<std::string, std::shared_ptr<Slot>> m_slots;
};

/// The engine's implementation of Plan. Its weights are made when they are needed. For sources only: includes ATen.
class EnginePlan : public Plan {
public:
    /// @param model, store must outlive this object @param adapters may be null
    EnginePlan(const Model& model, WeightStore& store, PruningMask mask, std::string reason,
               const Conversion& conversion, std::shared_ptr<const PlanAdapters> adapters = {});

    using LayerPointer = std::shared_ptr<const PlanLayer>;
    LayerPointer layer(int index) const { return layer(index, mask().layer(index)); }
    /// The weights of a layer for steps of generation: what the file stores of them stays there. A short prompt is a
    /// step too, so that it does not wait for conversions.
    LayerPointer stepLayer(int index, const Batch& batch) const;
    std::shared_ptr<const EmbeddingAndHead> stepEmbeddingAndHead() const;
    static constexpr std::int64_t stepTokens = 32; ///< maximum number of tokens of a step
    /// Whether the file stores all projections of a layer, or the LM head for layer -1, in types that steps read.
    bool isStored(int index) const { return m_isStored[static_cast<std::size_t>(index + 1)]; }
    /// Whether the weights for steps of all layers stay in memory, or in the file, together.
    bool keepsStepLayers() const { return isResident() || std::ranges::all_of(m_isStored, std::identity()); }
    /// The weights of a layer under a mask other than the plan's.
    LayerPointer layer(int index, const LayerMask& mask) const;
    /// The weights of a layer for the backward pass. On the CPU they are float32. They are packed together with their
    /// transposes, unless the engine uses ATen only.
    LayerPointer gradientLayer(int index) const;
    /// The output projection of all heads, including cut heads: that of the plan's compensation, or in the stored type.
    /// Without the factors of the compensation.
    at::Tensor outputWeight(int index) const {
        return projectionWeight(m_model, index, WeightName::output, compensationOf(mask().layer(index)));
    }
    std::shared_ptr<const EmbeddingAndHead> embeddingAndHead() const;
    std::shared_ptr<const EmbeddingAndHead> gradientEmbeddingAndHead() const;
    bool hasAdapters() const { return m_adapters != nullptr; }
    /// layer(), or gradientLayer(), with the plan's adapters. @param batch that the layer will run on
    LayerPointer adaptedLayer(int index, const Batch& batch) const { return adapted(layer(index), index, batch); }
    LayerPointer adaptedGradientLayer(int index, const Batch& batch) const {
        return adapted(gradientLayer(index), index, batch);
    }
    /// Whether the weights of both plans fit the memory budget together. Shared weights count once.
    bool staysBeside(const EnginePlan& other) const;

private:
    LayerPointer adapted(LayerPointer own, int index, const Batch& batch) const;
    std::shared_ptr<const EmbeddingAndHead> adapted(std::shared_ptr<const EmbeddingAndHead> own) const;
    std::int64_t bytesWith(const EnginePlan& other) const;
    Conversion gradientConversion() const;
    /// @param index of a layer, or -1
    Conversion stepConversion(int index) const;
    /// The conversion of a layer under a mask, with the settings that make no difference left out.
    Conversion ownConversion(int index, const LayerMask& mask, Conversion conversion) const;
    LayerPointer stored(int index, const LayerMask& mask, const Conversion& conversion) const;
    /// @param key of the weights in the store
    LayerPointer stored(int index, const LayerMask& mask, const Conversion& conversion, const std::string& key) const;
    const std::string& stepKey(int index) const;
    std::shared_ptr<const EmbeddingAndHead> storedEmbeddingAndHead(const Conversion& conversion) const;

    const Model& m_model;
    WeightStore& m_store;
    Conversion m_conversion;
    std::shared_ptr<const PlanAdapters> m_adapters; ///< null = none
    std::int64_t m_keptBytes;                       ///< maximum bytes of weights kept in the store
    std::vector<bool> m_isStored;                   ///< by layer + 1
    mutable std::once_flag m_stepKeysMade;
    mutable std::vector<std::string> m_stepKeys; ///< by layer; made once, as they have a bit for each neuron
};

} // namespace secateur
