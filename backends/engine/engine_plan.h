#pragma once

#include "analysis/running/plan.h"
#include "backends/engine/plan_layer.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace secateur {

struct TypeChoice {
    ComputeType type;   ///< never automatic
    std::string reason; ///< empty where a person chose
};

/// @param isProcessor or a CUDA device
/// @param storedAs the type of most of the checkpoint's numbers: "BF16", "Q4_1"
/// @throws Error when the type cannot be had
TypeChoice chooseType(ComputeType wanted, bool isProcessor, std::string_view storedAs);

/// Converted weights by key, no more bytes of them than they may take: what was not used for longest goes first.
/// Thread-safe; what somebody holds stays alive until he lets go.
class WeightStore {
public:
    struct Item {
        std::shared_ptr<const void> weights;
        std::int64_t bytes = 0;
    };

    explicit WeightStore(std::int64_t budget)
        : m_budget(budget) {}

    std::int64_t budget() const { return m_budget; }

    /// What is kept under the key, made first if need be. Two threads that want the same wait for one making.
    /// @param most bytes of weights that are kept beside it, within the budget
    template <typename Weights>
    std::shared_ptr<const Weights> get(const std::string& key, std::int64_t most,
                                       const std::function<Weights()>& make) {
        return std::static_pointer_cast<const Weights>(find(key, most, [&] {
            auto made = std::make_shared<const Weights>(make());
            const std::int64_t bytes = made->bytes;
            return Item{std::move(made), bytes};
        }));
    }

private:
    struct Slot {
        std::mutex making;
        Item item;
        std::uint64_t lastUse = 0;
    };

    std::shared_ptr<const void> find(const std::string& key, std::int64_t most, const std::function<Item()>& make);
    void shrink(const Slot* except, std::int64_t most);

    std::int64_t m_budget;
    std::mutex m_mutex;
    std::uint64_t m_clock = 0;
    std::map<std::string, std::shared_ptr<Slot>> m_slots;
};

/// A plan and where its weights come from. For sources only: pulls in ATen.
class EnginePlan : public Plan {
public:
    /// @param model and store must outlive it
    EnginePlan(const Model& model, WeightStore& store, PruningMask mask, std::string reason,
               const Conversion& conversion);

    using LayerPointer = std::shared_ptr<const PlanLayer>;
    LayerPointer layer(int index) const { return layer(index, mask().layer(index)); }
    /// A layer under another mask than the plan's.
    LayerPointer layer(int index, const LayerMask& mask) const;
    /// As gradients need it: on the processor in float32, packed both ways unless the engine is a plain one.
    LayerPointer gradientLayer(int index) const;
    /// Attention's output projection as stored, with all heads of the model.
    at::Tensor outputWeight(int index) const { return m_model.tensor(index, WeightName::output); }
    std::shared_ptr<const EmbeddingAndHead> embeddingAndHead() const;
    std::shared_ptr<const EmbeddingAndHead> gradientEmbeddingAndHead() const;
    /// Whether the weights of both fit their budget; those that they share count once.
    bool staysBeside(const EnginePlan& other) const;

private:
    std::int64_t bytesWith(const EnginePlan& other) const;
    Conversion gradientConversion() const;
    LayerPointer stored(int index, const LayerMask& mask, const Conversion& conversion) const;
    std::shared_ptr<const EmbeddingAndHead> storedEmbeddingAndHead(const Conversion& conversion) const;

    const Model& m_model;
    WeightStore& m_store;
    Conversion m_conversion;
    std::int64_t m_keptBytes; ///< of weights, at most, beside the one in use
};

} // namespace secateur
