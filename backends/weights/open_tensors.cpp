#include "backends/weights/open_tensors.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "backends/base/memory_error.h"
#include "backends/formats/formats.h"
#include "backends/formats/hub_cache.h"
#include "backends/formats/tensor_slots.h"
#include "backends/weights/block_layouts.h"
#include "backends/weights/tensor_grids.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <new>
#include <utility>

namespace secateur {

namespace {

/// The weights in the tensors of a checkpoint.
using PartsOfTensors = std::map<const TensorEntry*, std::vector<TensorPart>>;

int pairedHeadsOf(const CheckpointDescription& description, int layer, WeightName weight) {
    if (!description.pairsRotaryRows || layer < 0)
        return 0;
    const LayerSpec& spec = description.spec.layers[static_cast<std::size_t>(layer)];
    if (weight == WeightName::query || weight == WeightName::queryBias)
        return spec.heads;
    return weight == WeightName::key || weight == WeightName::keyBias ? spec.kvHeads : 0;
}

PartsOfTensors partsOf(const TensorSlots& slots, const CheckpointDescription& description) {
    PartsOfTensors parts;
    for (int layer = -1; layer < description.spec.layerCount(); ++layer) {
        if (layer >= 0 && description.spec.firstSharing(layer) != layer)
            continue;
        for (std::size_t index = 0; index < weightNameCount; ++index) {
            const auto weight = static_cast<WeightName>(index);
            const TensorSlot slot = slots.slot(layer, weight);
            if (!slot.entry)
                continue;
            parts[slot.entry].push_back({.layer = layer,
                                         .weight = weight,
                                         .begin = slot.begin,
                                         .rows = slot.rows,
                                         .transposed = slot.transposed,
                                         .pairedHeads = pairedHeadsOf(description, layer, weight),
                                         .offset = description.addsOneToNorms && isNorm(weight) ? 1.0 : 0.0});
        }
    }
    return parts;
}

StoredTensor storedTensor(const TensorEntry& entry) {
    const BlockLayout* const layout = blockLayout(*entry.type);
    return {.name = entry.name,
            .type = std::string(entry.type->name),
            .shape = entry.shape,
            .bytes = static_cast<std::int64_t>(entry.data.size()),
            .file = std::filesystem::path(entry.file->path()).filename().string(),
            .isReadable = isReadable(*entry.type),
            .hasScales = layout != nullptr,
            .hasMinima = layout && !layout->zeroCodes.empty(),
            .scaleElements = layout ? layout->scaleElements : 0,
            .parts = {}};
}

class CheckpointTensors : public StoredTensors {
public:
    CheckpointTensors(std::unique_ptr<const Checkpoint> checkpoint, std::string path)
        : m_checkpoint(std::move(checkpoint))
        , m_path(std::move(path)) {
        for (const TensorEntry& entry : m_checkpoint->tensors())
            m_entries.push_back(&entry);
        std::ranges::sort(m_entries, {}, [](const TensorEntry* entry) { return naturalKey(entry->name); });
        PartsOfTensors parts = describe();
        for (const TensorEntry* entry : m_entries) {
            m_tensors.push_back(storedTensor(*entry));
            if (const auto found = parts.find(entry); found != parts.end())
                m_tensors.back().parts = std::move(found->second);
        }
    }

    const std::string& path() const override { return m_path; }
    const std::vector<StoredTensor>& tensors() const override { return m_tensors; }
    const std::optional<ModelSpec>& spec() const override { return m_spec; }
    const std::vector<std::string>& warnings() const override { return m_warnings; }

    std::shared_ptr<const NumberGrid> grid(std::size_t tensor, TensorPlane plane) const override {
        return tensorGrid(*m_entries.at(tensor), plane);
    }

    std::shared_ptr<const NumberGrid> weightGrid(std::size_t tensor, std::size_t part) const override {
        const TensorPart& weight = m_tensors.at(tensor).parts.at(part);
        const int headSize = weight.layer < 0 ? 0 : m_spec->layers[static_cast<std::size_t>(weight.layer)].headDim;
        return secateur::weightGrid(*m_entries[tensor], weight, headSize);
    }

    StoredNumber number(std::size_t tensor, std::int64_t row, std::int64_t column) const override {
        return storedNumber(*m_entries.at(tensor), row * m_tensors[tensor].columns() + column);
    }

private:
    /// The weights of the model in the tensors; none, with a warning, if the configuration cannot be read or does not
    /// fit.
    PartsOfTensors describe() {
        try {
            CheckpointDescription description = m_checkpoint->describe();
            PartsOfTensors parts = partsOf(TensorSlots(*m_checkpoint, description, m_path), description);
            m_spec = std::move(description.spec);
            m_warnings = std::move(description.warnings);
            return parts;
        } catch (const Error& error) {
            m_warnings.push_back(std::string("the weights of the model are not known: ") + error.what());
            return {};
        }
    }

    std::unique_ptr<const Checkpoint> m_checkpoint;
    std::string m_path;
    std::vector<const TensorEntry*> m_entries; ///< in natural order
    std::vector<StoredTensor> m_tensors;
    std::optional<ModelSpec> m_spec;
    std::vector<std::string> m_warnings;
};

} // namespace

std::shared_ptr<const StoredTensors> openTensors(const std::string& given, const Progress& progress) {
    try {
        const std::string path = snapshotOf(given);
        progress.report(0, "opening " + path);
        return std::make_shared<CheckpointTensors>(formatOf(path).open(path, progress), path);
    } catch (const std::filesystem::filesystem_error& error) {
        throw Error(error.code().message(), error.path1().empty() ? given : error.path1().string());
    } catch (const std::bad_alloc&) {
        throw memoryError(given);
    }
}

} // namespace secateur
