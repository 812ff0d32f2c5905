#include "analysis/gallery/published.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace secateur {

// Of resources/papers (published_text.cpp, made by CMake).
extern const std::string_view publishedText;
extern const std::string_view publishedModelsText;

namespace {

/// The fields of a line without quotes.
std::vector<std::string_view> fieldsOf(std::string_view line, char separator) {
    std::vector<std::string_view> fields;
    for (std::size_t at = 0; at <= line.size();) {
        const std::size_t end = std::min(line.find(separator, at), line.size());
        fields.push_back(line.substr(at, end - at));
        at = end + 1;
    }
    return fields;
}

/// The lines behind the header.
std::vector<std::string_view> linesOf(std::string_view text) {
    std::vector<std::string_view> lines = fieldsOf(text, '\n');
    lines.erase(lines.begin());
    std::erase(lines, std::string_view());
    return lines;
}

template <typename Number>
Number numberIn(std::string_view text) {
    Number number{};
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || end != text.data() + text.size())
        throw Error(fmt::format("\"{}\" is no number", text), "resources/papers");
    return number;
}

/// A model of the papers (resources/papers/models.csv).
struct PublishedModel {
    std::string_view name;
    std::vector<std::string_view> paperNames;
    std::vector<std::string_view> checkpointNames; ///< plain names
    int layers = 0;
    int heads = 0;
    int kvHeads = 0;
};

const std::vector<PublishedModel>& publishedModels() {
    static const std::vector<PublishedModel> models = [] {
        std::vector<PublishedModel> all;
        for (const std::string_view line : linesOf(publishedModelsText)) {
            const std::vector<std::string_view> fields = fieldsOf(line, ',');
            all.push_back({fields.at(0), fieldsOf(fields.at(1), ';'), fieldsOf(fields.at(2), ';'),
                           numberIn<int>(fields.at(3)), numberIn<int>(fields.at(4)), numberIn<int>(fields.at(5))});
        }
        return all;
    }();
    return models;
}

/// Whether a checkpoint is another training of a model, by its name.
bool isTunedFurther(std::string_view plain, std::string_view checkpointName) {
    constexpr std::array others{"chat", "instruct", "tuned", "lora", "code", "guard", "pruned", "distill"};
    const std::string_view rest = plain.substr(plain.find(checkpointName) + checkpointName.size());
    return rest.starts_with("it") ||
           std::ranges::any_of(others, [&](const char* other) { return plain.find(other) != std::string_view::npos; });
}

bool hasName(const PublishedModel& model, std::string_view plain) {
    return std::ranges::any_of(model.checkpointNames, [&](std::string_view name) {
        const std::size_t at = plain.find(name);
        if (at == std::string_view::npos || isTunedFurther(plain, name))
            return false;
        // "vicuna13b" and "distilbert..." contain other names: only names of publishers may stand in front.
        const std::string_view before = plain.substr(0, at);
        return before.empty() || before.ends_with("meta") || before.ends_with("metallama") ||
               before.ends_with("huggyllama") || before.ends_with("lmsys") || before.ends_with("google") ||
               before.ends_with("microsoft") || before.ends_with("qwen");
    });
}

bool hasStructure(const PublishedModel& model, const ModelSpec& spec) {
    return spec.layerCount() == model.layers && std::ranges::all_of(spec.layers, [&](const LayerSpec& layer) {
               return layer.heads == model.heads && layer.kvHeads == model.kvHeads;
           });
}

/// The model that was opened, if it is one of the papers'; null if not.
const PublishedModel* openedModel(const ModelCard& card) {
    const std::string name = plainName(card.name);
    for (const PublishedModel& model : publishedModels())
        if (hasStructure(model, card.spec) && hasName(model, name))
            return &model;
    return nullptr;
}

/// The model with this name, as lists or as a paper writes it; null if there is none.
const PublishedModel* namedModel(std::string_view name) {
    const std::string plain = plainName(name);
    for (const PublishedModel& model : publishedModels())
        if (plainName(model.name) == plain ||
            std::ranges::any_of(model.paperNames, [&](std::string_view one) { return plainName(one) == plain; }))
            return &model;
    return nullptr;
}

std::vector<PublishedValue> valuesOf(std::string_view item, const PublishedModel& model) {
    std::vector<PublishedValue> values;
    for (const PublishedValue& value : publishedValues())
        if (value.item == item && std::ranges::find(model.paperNames, value.model) != model.paperNames.end())
            values.push_back(value);
    return values;
}

} // namespace

std::string plainName(std::string_view name) {
    std::string plain;
    for (const char c : name)
        if (std::isalnum(static_cast<unsigned char>(c)))
            plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return plain;
}

std::span<const PublishedValue> publishedValues() {
    static const std::vector<PublishedValue> values = [] {
        std::vector<PublishedValue> all;
        for (const std::string_view line : linesOf(publishedText)) {
            const std::vector<std::string_view> fields = fieldsOf(line, ',');
            all.push_back({fields.at(0), fields.at(1), fields.at(2), fields.at(3), fields.at(4),
                           numberIn<double>(fields.at(5)), !fields.at(6).empty(), fields.at(7), fields.at(8)});
        }
        return all;
    }();
    return values;
}

std::vector<std::string> publishedModels(std::string_view item) {
    std::vector<std::string> names;
    for (const PublishedModel& model : publishedModels())
        if (!valuesOf(item, model).empty())
            names.emplace_back(model.name);
    return names;
}

std::vector<PublishedValue> publishedFor(std::string_view item, const ModelCard& card, std::string_view choice) {
    if (choice == "none")
        return {};
    if (choice == "auto") {
        const PublishedModel* model = openedModel(card);
        return model ? valuesOf(item, *model) : std::vector<PublishedValue>();
    }
    const PublishedModel* model = namedModel(choice);
    std::vector<PublishedValue> values = model ? valuesOf(item, *model) : std::vector<PublishedValue>();
    if (values.empty()) {
        const std::vector<std::string> known = publishedModels(item);
        throw UsageError(
            known.empty() ? fmt::format("{} has no published numbers", item)
                          : fmt::format("has no published numbers in {}; it has those of {}", item, join(known, ", ")),
            fmt::format("published={}", choice));
    }
    return values;
}

void checkPublished(const FigureOptions& options) {
    const auto found = options.find(std::string(publishedOption.name));
    if (found == options.end() || found->second == "auto" || found->second == "none")
        return;
    if (!namedModel(found->second)) {
        std::vector<std::string> known;
        for (const PublishedModel& model : publishedModels())
            known.emplace_back(model.name);
        throw UsageError(fmt::format("unknown model; use auto, none or one of {}", join(known, ", ")),
                         fmt::format("published={}", found->second));
    }
}

} // namespace secateur
