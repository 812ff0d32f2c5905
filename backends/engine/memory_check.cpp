#include "backends/engine/memory_check.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/model/model.h"
#include "backends/base/runtime.h"
#include "backends/base/torch_version.h"
#include "backends/engine/plan_layer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#if SECATEUR_TORCH_AT_LEAST(2, 11)
#include <ATen/DeviceAccelerator.h>
#endif

#include <algorithm>
#include <limits>

namespace secateur {

std::int64_t deviceBudget([[maybe_unused]] const std::string& device) {
#if SECATEUR_TORCH_AT_LEAST(2, 11)
    if (at::hasCUDA()) {
        const at::Device own(device);
        const auto index = own.has_index() ? own.index() : c10::DeviceIndex(0);
        return static_cast<std::int64_t>(at::accelerator::getMemoryInfo(index).first / 4 * 3);
    }
#endif
    return std::numeric_limits<std::int64_t>::max();
}

namespace {

/// Bytes of activations and logits.
std::int64_t workspaceOf(const ModelSpec& spec, bool isPacked) {
    constexpr std::int64_t usual = 192'000'000; // 16 million logits twice, and the streams of a batch
    constexpr std::int64_t tokens = 256;        // runs of plain weights verify exports: all their streams and logits
    constexpr std::int64_t others = 32'000'000;
    return isPacked ? usual : tokens * (spec.vocab + std::int64_t{spec.hidden} * spec.layerCount()) * 4 + others;
}

/// Bytes of a model's weights as a run holds them.
struct WeightBytes {
    std::int64_t head = 0;   ///< the converted LM head
    std::int64_t layer = 0;  ///< the largest converted layer
    std::int64_t layers = 0; ///< all converted layers
    std::int64_t copy = 0;   ///< the largest matrix or layer in float32, while it is packed

    WeightBytes(const Model& model, ComputeType type, bool isPacked) {
        const ModelSpec& spec = model.spec();
        const PruningMask dense(spec);
        for (int index = 0; index < spec.layerCount(); ++index) {
            const std::int64_t bytes = expectedBytes(spec, index, dense.layer(index), type);
            layer = std::max(layer, bytes);
            layers += bytes;
        }
        const bool isFloat = type == ComputeType::float32;
        const std::int64_t headNumbers = model.has(-1, WeightName::lmHead) ? std::int64_t{spec.vocab} * spec.hidden : 0;
        head = headNumbers * (isFloat ? 4 : 2);
        const bool isStoredSo = model.card().dtype == (isFloat ? "F32" : "BF16");
        if (isPacked && !isStoredSo)
            copy = std::max(headNumbers * 4, isFloat ? layer : 2 * layer);
    }

    /// What a run cannot do without.
    std::int64_t least(std::int64_t budget) const {
        return copy + (budget < layer ? std::max(head, layer) : head + 2 * layer);
    }
};

} // namespace

std::int64_t leastRunBytes(const Model& model, ComputeType type, const WeightHolding& holding) {
    return WeightBytes(model, type, holding.isPacked).least(holding.budget) +
           workspaceOf(model.spec(), holding.isPacked);
}

std::int64_t bytesBesideWeights(const Model& model, ComputeType type, const WeightHolding& holding,
                                std::int64_t available) {
    constexpr std::int64_t others = 64'000'000;
    const WeightBytes weights(model, type, holding.isPacked);
    const std::int64_t held =
        std::max(weights.least(holding.budget), weights.copy + std::min(weights.head + weights.layers, holding.budget));
    return std::max<std::int64_t>(0, available - held - others);
}

std::int64_t defaultBudget(const Model& model, ComputeType type, bool isPacked, std::int64_t available) {
    const std::int64_t half = available / 2;
    return leastRunBytes(model, type, {half, isPacked}) <= available ? half : 0;
}

namespace {

/// @param needed bytes besides OpenBLAS's buffers
void checkSpace(const Model& model, std::int64_t needed) {
    constexpr std::int64_t buffer = 128 << 20;
    const std::int64_t left = addressSpaceLeft();
    const std::int64_t all = needed + at::get_num_threads() * buffer;
    if (all > left)
        throw Error(fmt::format("needs about {} of address space to compute, but {} are left of the limit",
                                shortBytes(static_cast<double>(all)), shortBytes(static_cast<double>(left))),
                    model.card().path, "Raise the limit (ulimit -v), or use fewer --threads");
}

} // namespace

void checkProducts(const Model& model) {
    constexpr std::int64_t workspace = 64'000'000;
    checkSpace(model, workspace);
}

void checkRunMemory(const Model& model, ComputeType type, const WeightHolding& holding) {
    const std::int64_t needed = leastRunBytes(model, type, holding);
    const std::int64_t available = availableMemory();
    if (needed <= available)
        return checkSpace(model, needed);
    throw Error(fmt::format("needs about {} of memory to run, but {} are available",
                            shortBytes(static_cast<double>(needed)), shortBytes(static_cast<double>(available))),
                model.card().path,
                "Close other programs, or raise the limit of this process (ulimit -v) or of its control group");
}

} // namespace secateur
