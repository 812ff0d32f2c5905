#include "backends/engine/open_model.h"

#include "analysis/base/error.h"
#include "analysis/model/kernels.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "backends/base/memory_error.h"
#include "backends/engine/adapted_model.h"
#include "backends/engine/stored_weights.h"
#include "backends/formats/checkpoint.h"
#include "backends/formats/formats.h"
#include "backends/formats/hub_cache.h"
#include "backends/formats/rotary_rows.h"
#include "backends/formats/tensor_slots.h"
#include "backends/kernels/machine_kernels.h"

#include <ATen/ATen.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <set>

namespace secateur {

namespace {

std::string commonestType(const std::vector<TensorSlot>& used) {
    std::map<std::string_view, std::int64_t> elements;
    for (const TensorSlot& slot : used)
        elements[slot.entry->type->name] += slot.elements();
    const auto most = std::ranges::max_element(elements, {}, [](const auto& item) { return item.second; });
    return most == elements.end() ? std::string() : std::string(most->first);
}

/// A warning about tensors of the checkpoint that are not used; empty if there are none. @param known names that are
/// not reported
std::vector<std::string> unusedWarning(const Checkpoint& checkpoint, const std::vector<TensorSlot>& used,
                                       std::span<const std::string_view> known) {
    std::set<const TensorEntry*> read;
    for (const TensorSlot& slot : used)
        read.insert(slot.entry);
    std::vector<std::string> unused;
    for (const TensorEntry& entry : checkpoint.tensors()) {
        const auto isThis = [&](std::string_view pattern) { return fits(entry.name, pattern); };
        if (!read.contains(&entry) && std::ranges::none_of(known, isThis))
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

/// Reorders rotary rows from adjacent pairs to two halves: row 2i + j of a head becomes row j * dim/2 + i.
at::Tensor halfRotation(const at::Tensor& rows, int heads, int headDim) {
    at::Tensor pairs = rows.reshape({heads, headDim / 2, 2, -1});
    return pairs.transpose(1, 2).reshape(rows.sizes());
}

class CheckpointModel : public Model, public StoredSource {
public:
    CheckpointModel(std::unique_ptr<const Checkpoint> checkpoint, CheckpointDescription description,
                    const std::string& path, std::string_view format, std::shared_ptr<const Kernels> kernels,
                    OpenOptions options)
        : m_options(std::move(options))
        , m_kernels(std::move(kernels))
        , m_checkpoint(std::move(checkpoint))
        , m_slots(*m_checkpoint, description, path)
        , m_pairsRotaryRows(description.pairsRotaryRows)
        , m_addsOneToNorms(description.addsOneToNorms) {
        m_card.path = path;
        m_card.format = format;
        m_card.name = std::move(description.name);
        m_card.spec = std::move(description.spec);
        m_card.tokenizer = std::move(description.tokenizer);
        m_card.warnings = std::move(description.warnings);
        describeTensors(description.unused);
    }

    const ModelCard& card() const override { return m_card; }

    bool has(int layer, WeightName name) const override { return slot(layer, name).entry != nullptr; }

    at::Tensor tensor(int layer, WeightName name) const override {
        const TensorSlot found = slot(layer, name);
        if (!found.entry)
            throw Error(fmt::format("has no {}{}", title(name), layer < 0 ? "" : fmt::format(" in layer {}", layer)),
                        m_card.path);
        found.entry->file->checkWhole();
        try {
            return asHuggingFace(readSlot(found), layer, name);
        } catch (const c10::Error& error) {
            throw torchError(error, found.entry->subject());
        }
    }

    std::string place(int layer, WeightName name) const override {
        const TensorSlot found = slot(layer, name);
        return found.entry ? found.entry->subject() : std::string();
    }

    void expect(int layer, WeightName name) const override {
        if (const TensorSlot found = slot(layer, name); found.entry)
            found.entry->file->expect(found.bytes());
    }

    void release(int layer, WeightName name) const override {
        if (const TensorSlot found = slot(layer, name); found.entry)
            found.entry->file->release(found.bytes());
    }

    at::Tensor rows(int layer, WeightName name, std::span<const std::int64_t> indices) const override {
        const TensorSlot found = slot(layer, name);
        const bool isConverted = found.entry && found.entry->type->reading == StorageType::Reading::dequantised;
        return isConverted ? readRows(found, storedOrder(layer, name, indices)) : Model::rows(layer, name, indices);
    }

    std::optional<StoredRows> storedRows(int layer, WeightName name) const override {
        if (storedType(layer, name).empty())
            return {};
        const TensorSlot found = slot(layer, name);
        std::vector<std::int64_t> all(static_cast<std::size_t>(found.rows));
        std::iota(all.begin(), all.end(), 0);
        const std::vector<std::int64_t> order = storedOrder(layer, name, all);
        return StoredRows{found.entry->type->name, found.bytes(), {order.begin(), order.end()}, found.entry->file};
    }

    std::string_view storedType(int layer, WeightName name) const override {
        const TensorSlot found = slot(layer, name);
        const bool isMatrix = found.entry && !found.transposed && found.entry->shape.size() == 2 && !isNorm(name);
        return isMatrix ? std::string_view(found.entry->type->name) : std::string_view();
    }

    const Runner& runner() const override {
        std::call_once(m_runnerMade, [this] { m_runner = makeRunner(*this, m_options); });
        return *m_runner;
    }

    const Kernels& kernels() const override { return *m_kernels; }

    void checkFiles() const override {
        for (const auto& file : m_files)
            file->checkWhole();
    }

    std::vector<std::string> overwrittenFiles() const {
        std::vector<std::string> names;
        for (const auto& file : m_files)
            if (file->isOverwritten())
                names.push_back(file->path());
        return names;
    }

    std::string fingerprint() const override {
        std::call_once(m_fingerprintTaken, [this] {
            m_fingerprint = fingerprintOf(*m_checkpoint);
            checkFiles();
        });
        return m_fingerprint;
    }

private:
    TensorSlot slot(int layer, WeightName name) const {
        if (layer < -1 || layer >= m_card.spec.layerCount())
            return {};
        // If embeddings are tied, the LM head is the embedding, even if the file also contains an lm_head.
        if (layer == -1 && name == WeightName::lmHead && m_card.spec.tiedEmbeddings)
            name = WeightName::embedding;
        return m_slots.slot(layer, name);
    }

    /// Whether the file has the rotary rows of a weight in adjacent pairs.
    bool hasPairedRows(int layer, WeightName name) const {
        return m_pairsRotaryRows && layer >= 0 && (name == WeightName::query || name == WeightName::key);
    }

    /// The indices that rows of a weight have in the file.
    std::vector<std::int64_t> storedOrder(int layer, WeightName name, std::span<const std::int64_t> indices) const {
        std::vector<std::int64_t> rows(indices.begin(), indices.end());
        if (!hasPairedRows(layer, name))
            return rows;
        const std::int64_t size = m_card.spec.layers[static_cast<std::size_t>(layer)].headDim;
        for (std::int64_t& row : rows)
            row = pairedRow(row, size);
        return rows;
    }

    at::Tensor asHuggingFace(at::Tensor weight, int layer, WeightName name) const {
        if (m_addsOneToNorms && isNorm(name))
            return weight - 1;
        if (!m_pairsRotaryRows || layer < 0)
            return weight;
        const LayerSpec& spec = m_card.spec.layers[static_cast<std::size_t>(layer)];
        if (name == WeightName::query || name == WeightName::queryBias)
            return halfRotation(weight, spec.heads, spec.headDim);
        if (name == WeightName::key || name == WeightName::keyBias)
            return halfRotation(weight, spec.kvHeads, spec.headDim);
        return weight;
    }

    void describeTensors(std::span<const std::string_view> known) {
        for (const TensorSlot& used : m_slots.used())
            m_card.parameters += used.elements();
        std::set<std::shared_ptr<const MappedFile>> files;
        for (const TensorEntry& item : m_checkpoint->tensors()) {
            m_card.bytes += static_cast<std::int64_t>(item.data.size());
            files.insert(item.file);
        }
        m_files.assign(files.begin(), files.end());
        m_card.dtype = commonestType(m_slots.used());
        for (std::string& warning : unusedWarning(*m_checkpoint, m_slots.used(), known))
            m_card.warnings.push_back(std::move(warning));
        if (m_card.spec.family == Family::decoder && !has(-1, WeightName::lmHead))
            m_card.warnings.emplace_back(
                "there is no LM head (lm_head): weights can be measured, but no text can be scored");
    }

    OpenOptions m_options;
    std::shared_ptr<const Kernels> m_kernels;
    std::unique_ptr<const Checkpoint> m_checkpoint;
    TensorSlots m_slots;
    std::vector<std::shared_ptr<const MappedFile>> m_files;
    bool m_pairsRotaryRows;
    bool m_addsOneToNorms;
    ModelCard m_card;
    mutable std::once_flag m_fingerprintTaken;
    mutable std::string m_fingerprint;
    mutable std::once_flag m_runnerMade;
    mutable std::unique_ptr<const Runner> m_runner;
};

} // namespace

std::shared_ptr<const Model> modelFrom(std::unique_ptr<const Checkpoint> checkpoint, const std::string& path,
                                       std::string_view format, std::shared_ptr<const Kernels> kernels,
                                       const OpenOptions& options) {
    CheckpointDescription description = checkpoint->describe();
    return std::make_shared<CheckpointModel>(std::move(checkpoint), std::move(description), path, format,
                                             std::move(kernels), options);
}

namespace {

/// Runs a function that opens files, and converts exceptions of the standard library to Error.
template <typename Work>
auto opening(const std::string& path, Work work) {
    try {
        return work();
    } catch (const std::filesystem::filesystem_error& error) {
        throw Error(error.code().message(), error.path1().empty() ? path : error.path1().string());
    } catch (const std::bad_alloc&) {
        throw memoryError(path);
    }
}

} // namespace

std::shared_ptr<const Model> openModel(const std::string& given, const Progress& progress, const OpenOptions& options) {
    auto kernels = kernelsOf(options.device);
    return opening(given, [&] {
        const std::string path = snapshotOf(given);
        progress.report(0, "opening " + path);
        const FormatInfo& format = formatOf(path);
        auto checkpoint = format.open(path, progress.part(0, 0.9));
        auto model = modelFrom(std::move(checkpoint), path, format.id, std::move(kernels), options);
        progress.report(1, "opened " + path);
        return model;
    });
}

std::vector<std::string> overwrittenFiles(const Model& model) {
    std::vector<std::string> warnings;
    if (const auto* own = dynamic_cast<const CheckpointModel*>(&baseOf(model)))
        for (const std::string& name : own->overwrittenFiles())
            warnings.push_back(name + " was written to while it was open: the results may mix old and new weights");
    return warnings;
}

std::vector<TensorInfo> listTensors(const std::string& given) {
    return opening(given, [&] {
        const std::string path = snapshotOf(given);
        const auto checkpoint = formatOf(path).open(path, {});
        std::vector<TensorInfo> list;
        for (const TensorEntry& entry : checkpoint->tensors())
            list.push_back({entry.name, std::string(entry.type->name), entry.shape,
                            static_cast<std::int64_t>(entry.data.size()),
                            std::filesystem::path(entry.file->path()).filename().string()});
        return list;
    });
}

} // namespace secateur
