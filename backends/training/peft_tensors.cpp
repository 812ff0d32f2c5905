#include "backends/training/peft_tensors.h"

#include "analysis/base/error.h"
#include "backends/base/json_object.h"
#include "backends/formats/hf_weights.h"
#include "backends/formats/safetensors_bytes.h"
#include "backends/training/peft_config.h"
#include "backends/training/peft_names.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

namespace secateur {

namespace {

constexpr std::string_view root = "base_model.model.";
constexpr std::string_view lowerName = ".lora_A.weight";
constexpr std::string_view upperName = ".lora_B.weight";

using PeftParts = std::vector<PeftWeight>; ///< the weights of one matrix: one, or queries, keys and values

/// The name by which PEFT saves a module. It always saves a classifier as a whole.
std::string savedName(const std::string& module) {
    return module.starts_with("classifier.") ? "classifier" : module;
}

/// The rows of a part, and the columns of the matrix.
std::pair<std::int64_t, std::int64_t> sizesOf(const Model& model, const PeftWeight& weight) {
    const auto shape = expectedShape(model.spec(), weight.place.first, weight.place.second);
    return {shape.at(0), shape.at(1)};
}

/// Copies a matrix [rows, columns] to a place in another one.
void copyBlock(std::span<const float> block, std::int64_t columns, std::vector<float>& target, std::int64_t width,
               std::int64_t row, std::int64_t column) {
    for (std::size_t i = 0; i < block.size(); ++i) {
        const auto index = static_cast<std::int64_t>(i);
        target[static_cast<std::size_t>((row + index / columns) * width + column + index % columns)] = block[i];
    }
}

/// The updates of queries, keys and values as one of their fused matrix. @param parts in the order of the rows
PeftUpdate fused(const Adapter& adapter, const Model& model, const PeftParts& parts) {
    PeftUpdate made{.in = sizesOf(model, parts.front()).second, .transposed = parts.front().transposed};
    for (const PeftWeight& part : parts) {
        const auto found = adapter.updates.find(part.place);
        made.parts.push_back(found == adapter.updates.end() ? 0 : found->second.rank);
        if (found != adapter.updates.end() && made.update.rank == 0)
            made.update.scale = found->second.scale;
        made.update.rank += made.parts.back();
        made.out += sizesOf(model, part).first;
    }
    LowRankUpdate& update = made.update;
    update.b.resize(static_cast<std::size_t>(made.out * update.rank));
    std::int64_t row = 0;
    std::int64_t column = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (made.parts[i] > 0) {
            const LowRankUpdate& own = adapter.updates.at(parts[i].place);
            std::vector<float> b = own.b;
            for (float& number : b) // the matrix has one scale
                number = static_cast<float>(number * (own.scale / update.scale));
            update.a.insert(update.a.end(), own.a.begin(), own.a.end());
            copyBlock(b, own.rank, update.b, update.rank, row, column);
        }
        row += sizesOf(model, parts[i]).first;
        column += made.parts[i];
    }
    return made;
}

/// The matrices of a model that can have updates, by module.
std::map<std::string, PeftParts> matricesOf(const std::vector<PeftWeight>& weights) {
    std::map<std::string, PeftParts> matrices;
    for (const PeftWeight& weight : weights)
        if (canHaveUpdate(weight.place.second))
            matrices[weight.module].push_back(weight);
    return matrices;
}

void addUpdates(const Adapter& adapter, const Model& model, const std::vector<PeftWeight>& weights,
                PeftModules& modules) {
    std::size_t added = 0;
    for (const auto& [name, parts] : matricesOf(weights)) {
        const auto count =
            std::ranges::count_if(parts, [&](const PeftWeight& part) { return adapter.updates.contains(part.place); });
        added += static_cast<std::size_t>(count);
        if (count == 0)
            continue;
        if (parts.front().part != FusedPart::whole) {
            modules.updates.emplace(name, fused(adapter, model, parts));
            continue;
        }
        const auto [out, in] = sizesOf(model, parts.front());
        modules.updates.emplace(name, PeftUpdate{.update = adapter.updates.at(parts.front().place),
                                                 .in = in,
                                                 .out = out,
                                                 .transposed = parts.front().transposed});
    }
    if (added != adapter.updates.size())
        throw Error("has updates of projections for which PEFT has no names", model.card().path);
}

void addTensors(const Adapter& adapter, const Model& model, const std::vector<PeftWeight>& weights,
                PeftModules& modules) {
    for (const PeftWeight& weight : weights)
        if (adapter.weights.contains(weight.place) || weight.place.second == WeightName::classifier)
            modules.saved.insert(savedName(weight.module));
    for (const PeftWeight& weight : weights) {
        if (!canBeReplaced(weight.place.second) || !modules.saved.contains(savedName(weight.module)))
            continue;
        const auto& [layer, name] = weight.place;
        PeftTensor tensor{expectedShape(model.spec(), layer, name), {}};
        if (const auto own = adapter.weights.find(weight.place); own != adapter.weights.end()) {
            tensor.numbers = own->second;
        } else {
            const at::Tensor numbers = model.tensor(layer, name).to(at::kFloat).contiguous();
            tensor.numbers.assign(numbers.data_ptr<float>(), numbers.data_ptr<float>() + numbers.numel());
        }
        modules.tensors.emplace(weight.module + "." + weight.kind, std::move(tensor));
    }
}

using HeaderJson = nlohmann::ordered_json;

std::vector<float> numbersOf(const TensorEntry& entry) {
    constexpr std::array<std::string_view, 3> types{"F32", "F16", "BF16"};
    if (std::ranges::find(types, entry.type->name) == types.end())
        throw Error(fmt::format("is stored as {}; expected {}", entry.type->name, fmt::join(types, ", ")),
                    entry.subject());
    const at::Tensor values = readTensor(entry).to(at::kFloat).contiguous();
    return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
}

/// Whether numbers are those of a weight of the model.
bool isOf(const Model& model, const WeightPlace& place, const std::vector<float>& numbers) {
    const at::Tensor own = model.tensor(place.first, place.second).to(at::kFloat).contiguous();
    return std::equal(numbers.begin(), numbers.end(), own.data_ptr<float>(), own.data_ptr<float>() + own.numel());
}

void checkShape(const TensorEntry& entry, const std::vector<std::int64_t>& expected) {
    if (entry.shape != expected)
        throw Error(fmt::format("has shape {}, but the model and adapter_config.json need {}", shapeText(entry.shape),
                                shapeText(expected)),
                    entry.subject());
}

/// Reads the adapter in a file of PEFT.
class AdapterReader {
public:
    AdapterReader(const std::shared_ptr<const MappedFile>& file, const PeftConfig& config, const Model& model)
        : m_file(file)
        , m_config(config)
        , m_model(model) {
        for (const std::string_view prefix : peftPrefixes(model)) {
            const std::vector<PeftWeight> weights = peftWeights(model, prefix);
            m_matrices.merge(matricesOf(weights));
            for (const PeftWeight& weight : weights)
                if (weight.part == FusedPart::whole)
                    m_whole.emplace(weight.module + "." + weight.kind, weight.place);
        }
        const std::map<std::string, std::string> metadata = safetensorsMetadata(file);
        if (const auto parts = metadata.find("parts"); parts != metadata.end())
            m_parts.emplace(JsonObject::parse(parts->second, file->path() + ": parts"));
    }

    Adapter read() {
        for (const TensorEntry& entry : safetensorsEntries(m_file))
            sort(entry);
        for (const auto& [module, pair] : m_updates)
            addUpdate(module, pair);
        if (m_adapter.empty())
            throw Error("has no update and no trained weight", m_file->path());
        // PEFT stores all weights of a module.
        std::erase_if(m_adapter.weights, [&](const auto& item) { return isOf(m_model, item.first, item.second); });
        return std::move(m_adapter);
    }

private:
    struct Matrices {
        std::optional<TensorEntry> a;
        std::optional<TensorEntry> b;
    };

    void sort(const TensorEntry& entry) {
        if (!entry.name.starts_with(root))
            throw Error(fmt::format("has another name than tensors of PEFT, which begin with {}", root),
                        entry.subject());
        const std::string name = entry.name.substr(root.size());
        if (name.ends_with(lowerName))
            m_updates[name.substr(0, name.size() - lowerName.size())].a = entry;
        else if (name.ends_with(upperName))
            m_updates[name.substr(0, name.size() - upperName.size())].b = entry;
        else
            addWeight(entry, name);
    }

    /// PEFT also stores embeddings and LM heads that it does not change.
    void addWeight(const TensorEntry& entry, const std::string& name) {
        const auto found = m_whole.find(name);
        if (found == m_whole.end())
            throw Error("is not a weight that an adapter changes: the low-rank update of a projection, or a whole "
                        "weight of a norm, the pooler or the classifier",
                        entry.subject());
        checkShape(entry, expectedShape(m_model.spec(), found->second.first, found->second.second));
        std::vector<float> numbers = numbersOf(entry);
        if (canBeReplaced(found->second.second))
            m_adapter.weights[found->second] = std::move(numbers);
        else if (!isOf(m_model, found->second, numbers))
            throw Error(fmt::format("changes the {}, which is not read", title(found->second.second)), entry.subject());
    }

    void addUpdate(const std::string& module, const Matrices& pair) {
        if (!pair.a || !pair.b)
            throw Error(fmt::format("has no {}, which belongs to it", pair.a ? "lora_B" : "lora_A"),
                        (pair.a ? pair.a : pair.b)->subject());
        const auto found = m_matrices.find(module);
        if (found == m_matrices.end())
            throw Error("updates a module that the model does not have, or that is no projection of attention or MLPs",
                        pair.a->subject());
        const PeftParts& parts = found->second;
        std::int64_t out = 0;
        for (const PeftWeight& part : parts)
            out += sizesOf(m_model, part).first;
        LowRankUpdate update;
        update.rank = m_config.rankOf(module);
        update.scale = m_config.scaleOf(module, update.rank);
        checkShape(*pair.a, {update.rank, sizesOf(m_model, parts.front()).second});
        checkShape(*pair.b, {out, update.rank});
        update.a = numbersOf(*pair.a);
        update.b = numbersOf(*pair.b);
        addParts(parts, std::move(update), ranksOf(module, parts, update.rank));
    }

    /// The ranks of the parts of a fused matrix that Secateur wrote. All have the whole rank if PEFT did.
    std::vector<std::int64_t> ranksOf(const std::string& module, const PeftParts& parts, int rank) const {
        const std::vector<std::int64_t> whole(parts.size(), rank);
        if (!m_parts || parts.size() == 1)
            return whole;
        const std::vector<std::int64_t> stated = m_parts->sizes(module).value_or(std::vector<std::int64_t>());
        std::int64_t sum = 0;
        for (const std::int64_t part : stated)
            sum += part <= rank ? part : rank + 1;
        return stated.size() == parts.size() && sum == rank ? stated : whole;
    }

    /// @param ranks columns of B that each part has: disjoint, or all of them
    void addParts(const PeftParts& parts, LowRankUpdate update, const std::vector<std::int64_t>& ranks) {
        if (parts.size() == 1) {
            m_adapter.updates[parts.front().place] = std::move(update);
            return;
        }
        const bool isShared = std::ranges::all_of(ranks, [&](std::int64_t rank) { return rank == update.rank; });
        const auto in = std::ssize(update.a) / update.rank;
        std::int64_t row = 0;
        std::int64_t first = 0;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const std::int64_t rows = sizesOf(m_model, parts[i]).first;
            if (ranks[i] > 0)
                m_adapter.updates[parts[i].place] = part(update, in, row, rows, first, ranks[i]);
            row += rows;
            first += isShared ? 0 : ranks[i];
        }
    }

    /// Some rows of B with some of its columns, and the rows of A that belong to them.
    static LowRankUpdate part(const LowRankUpdate& whole, std::int64_t in, std::int64_t row, std::int64_t rows,
                              std::int64_t first, std::int64_t rank) {
        LowRankUpdate own{.rank = static_cast<int>(rank), .scale = whole.scale, .a = {}, .b = {}};
        own.a.assign(whole.a.begin() + first * in, whole.a.begin() + (first + rank) * in);
        for (std::int64_t i = row; i < row + rows; ++i) {
            const auto begin = whole.b.begin() + i * whole.rank + first;
            own.b.insert(own.b.end(), begin, begin + rank);
        }
        return own;
    }

    const std::shared_ptr<const MappedFile>& m_file;
    const PeftConfig& m_config;
    const Model& m_model;
    std::map<std::string, PeftParts> m_matrices; ///< by module, under every prefix
    std::map<std::string, WeightPlace> m_whole;  ///< by the name of the tensor, under every prefix
    std::optional<JsonObject> m_parts;           ///< fusedPartsText()
    std::map<std::string, Matrices> m_updates;
    Adapter m_adapter;
};

} // namespace

PeftModules peftModules(const Adapter& adapter, const Model& model) {
    const std::vector<PeftWeight> weights = peftWeights(model);
    PeftModules modules;
    addUpdates(adapter, model, weights, modules);
    addTensors(adapter, model, weights, modules);
    return modules;
}

std::string fusedPartsText(const PeftModules& modules) {
    HeaderJson parts = HeaderJson::object();
    for (const auto& [name, module] : modules.updates)
        if (!module.parts.empty())
            parts[name] = module.parts;
    return parts.dump();
}

std::string tensorBytes(const PeftModules& modules, const TensorMetadata& metadata) {
    std::map<std::string, FloatTensor> tensors;
    for (const auto& [name, module] : modules.updates) {
        const LowRankUpdate& update = module.update;
        tensors[fmt::format("{}{}{}", root, name, lowerName)] = {{update.rank, module.in}, update.a};
        tensors[fmt::format("{}{}{}", root, name, upperName)] = {{module.out, update.rank}, update.b};
    }
    for (const auto& [name, tensor] : modules.tensors)
        tensors[fmt::format("{}{}", root, name)] = {tensor.shape, tensor.numbers};
    return safetensorsBytes(tensors, metadata);
}

Adapter adapterFrom(const std::shared_ptr<const MappedFile>& file, const PeftConfig& config, const Model& model) {
    return AdapterReader(file, config, model).read();
}

} // namespace secateur
