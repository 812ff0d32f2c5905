#include "backends/checkpoint_model.h"

#include "analysis/error.h"
#include "backends/architectures.h"
#include "backends/fingerprint.h"
#include "backends/tensor_names.h"

#include <ATen/ATen.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <set>

namespace secateur {

namespace {

constexpr auto kinds = static_cast<std::size_t>(Which::down) + 1;

/// The tensors of one layer, or of none; nullptr where the model has no such tensor.
using Slots = std::array<const TensorEntry*, kinds>;

const TensorEntry* find(const Checkpoint& checkpoint, const ModelSpec& spec, const TensorNames& names, int layer,
                        Which which, const std::string& path) {
    if (!isRequired(spec, layer, which))
        return nullptr;
    const std::string name = names.name(layer, which);
    const TensorEntry* entry = checkpoint.find(name);
    if (!entry)
        throw Error(fmt::format("has no tensor {}", name), path,
                    "The checkpoint is incomplete or its configuration is another model's");
    const auto expected = expectedShape(spec, layer, which);
    if (entry->shape != expected)
        throw Error(fmt::format("has shape {}, but the configuration asks for {}", shapeText(entry->shape),
                                shapeText(expected)),
                    entry->subject());
    return entry;
}

std::vector<Slots> findAll(const Checkpoint& checkpoint, const CheckpointDescription& description,
                           const std::string& path) {
    const ModelSpec& spec = description.spec;
    const TensorNames names(*description.architecture, description.tensors, checkpoint);
    std::vector<Slots> all(spec.layers.size() + 1);
    for (int layer = -1; layer < spec.layerCount(); ++layer) {
        Slots& slots = all[static_cast<std::size_t>(layer + 1)];
        for (std::size_t kind = 0; kind < kinds; ++kind) {
            const auto which = static_cast<Which>(kind);
            if (isOfLayer(which) == (layer >= 0))
                slots[kind] = find(checkpoint, spec, names, layer, which, path);
        }
    }
    return all;
}

std::string commonestType(const std::set<const TensorEntry*>& used) {
    std::map<std::string_view, std::int64_t> elements;
    for (const TensorEntry* entry : used)
        elements[entry->type->name] += entry->elements();
    const auto most = std::ranges::max_element(elements, {}, [](const auto& item) { return item.second; });
    return most == elements.end() ? std::string() : std::string(most->first);
}

/// A sentence on the tensors that nothing reads, or nothing.
std::vector<std::string> unusedWarning(const Checkpoint& checkpoint, const std::set<const TensorEntry*>& used,
                                       const ArchitectureInfo& architecture) {
    std::vector<std::string> unused;
    for (const TensorEntry& entry : checkpoint.tensors()) {
        const auto ends = [&](std::string_view suffix) { return entry.name.ends_with(suffix); };
        if (!used.contains(&entry) && std::ranges::none_of(architecture.unusedSuffixes, ends))
            unused.push_back(entry.name);
    }
    if (unused.empty())
        return {};
    constexpr std::size_t shown = 3;
    const std::size_t count = unused.size();
    unused.resize(std::min(count, shown));
    return {fmt::format("{} tensor{} ignored: {}{}", count, count == 1 ? " is" : "s are", fmt::join(unused, ", "),
                        count > shown ? ", ..." : "")};
}

/// Undoes the reordering of each head's rows to consecutive pairs: row 2i + j of a head becomes row j * dim/2 + i.
at::Tensor halfRotation(const at::Tensor& rows, int heads, int headDim) {
    at::Tensor pairs = rows.reshape({heads, headDim / 2, 2, -1});
    return pairs.transpose(1, 2).reshape(rows.sizes());
}

class CheckpointModel : public Model {
public:
    CheckpointModel(std::unique_ptr<const Checkpoint> checkpoint, CheckpointDescription description,
                    const std::string& path, std::string_view format)
        : m_checkpoint(std::move(checkpoint))
        , m_slots(findAll(*m_checkpoint, description, path))
        , m_pairsRotaryRows(description.pairsRotaryRows) {
        m_card.path = path;
        m_card.format = format;
        m_card.name = std::move(description.name);
        m_card.spec = std::move(description.spec);
        m_card.tokenizer = std::move(description.tokenizer);
        describeTensors(*description.architecture);
    }

    const ModelCard& card() const override { return m_card; }

    bool has(int layer, Which which) const override { return entry(layer, which) != nullptr; }

    at::Tensor tensor(int layer, Which which) const override {
        const TensorEntry* found = entry(layer, which);
        if (!found)
            throw Error(fmt::format("has no tensor of kind {} in layer {}", static_cast<int>(which), layer),
                        m_card.path);
        at::Tensor result = readTensor(*found);
        if (!m_pairsRotaryRows)
            return result;
        try {
            const bool isQuery = which == Which::query || which == Which::queryBias;
            const bool isKey = which == Which::key || which == Which::keyBias;
            if (!isQuery && !isKey)
                return result;
            const LayerSpec& spec = m_card.spec.layers[static_cast<std::size_t>(layer)];
            return halfRotation(result, isQuery ? spec.heads : spec.kvHeads, spec.headDim);
        } catch (const c10::Error& error) {
            throw Error(error.what_without_backtrace(), found->subject());
        }
    }

    std::string fingerprint() const override {
        std::call_once(m_fingerprintTaken, [this] { m_fingerprint = fingerprintOf(*m_checkpoint); });
        return m_fingerprint;
    }

private:
    const TensorEntry* entry(int layer, Which which) const {
        if (layer < -1 || layer >= m_card.spec.layerCount())
            return nullptr;
        // Tied embeddings read out through the embedding, also where the file holds a read-out of its own.
        if (which == Which::readOut && m_card.spec.tiedEmbeddings)
            which = Which::embedding;
        return m_slots[static_cast<std::size_t>(layer + 1)][static_cast<std::size_t>(which)];
    }

    void describeTensors(const ArchitectureInfo& architecture) {
        std::set<const TensorEntry*> used;
        for (const Slots& slots : m_slots)
            used.insert(slots.begin(), slots.end());
        used.erase(nullptr);
        for (const TensorEntry* item : used)
            m_card.parameters += item->elements();
        for (const TensorEntry& item : m_checkpoint->tensors())
            m_card.bytes += static_cast<std::int64_t>(item.data.size());
        m_card.dtype = commonestType(used);
        m_card.warnings = unusedWarning(*m_checkpoint, used, architecture);
    }

    std::unique_ptr<const Checkpoint> m_checkpoint;
    std::vector<Slots> m_slots; ///< by layer + 1
    bool m_pairsRotaryRows;
    ModelCard m_card;
    mutable std::once_flag m_fingerprintTaken;
    mutable std::string m_fingerprint;
};

} // namespace

std::shared_ptr<const Model> modelFrom(std::unique_ptr<const Checkpoint> checkpoint, const std::string& path,
                                       std::string_view format) {
    CheckpointDescription description = checkpoint->describe();
    return std::make_shared<CheckpointModel>(std::move(checkpoint), std::move(description), path, format);
}

} // namespace secateur
