#include "backends/training/label_classes.h"

#include "analysis/base/error.h"
#include "analysis/tasks/answer_generation.h"
#include "backends/formats/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <set>

namespace secateur {

namespace {

/// A label as a whole number; empty if it is a name.
std::optional<long long> numberIn(const std::string& label) {
    long long number = 0;
    const char* const end = label.data() + label.size();
    const auto [last, error] = std::from_chars(label.data(), end, number);
    return error == std::errc() && last == end ? std::optional(number) : std::nullopt;
}

/// The different labels in order: of numbers by value, of names by their bytes.
std::vector<std::string> differentLabels(const std::vector<LabelledText>& texts) {
    std::set<std::string> known;
    for (const LabelledText& text : texts)
        known.insert(text.label);
    std::vector<std::string> labels(known.begin(), known.end());
    if (std::ranges::all_of(labels, [](const std::string& label) { return numberIn(label).has_value(); }))
        std::ranges::stable_sort(labels, {}, numberIn);
    return labels;
}

/// Whether a model's classifier knows all labels.
bool knowsAll(const std::vector<LabelledText>& texts, const std::vector<std::string>& names, std::size_t classes) {
    try {
        for (const LabelledText& text : texts)
            classOf(text, names, classes);
    } catch (const Error&) {
        return false;
    }
    return true;
}

} // namespace

int LabelClasses::indexOf(const LabelledText& text) const {
    if (isOfModel)
        return static_cast<int>(classOf(text, names, names.size()));
    const auto found = std::ranges::find(names, text.label);
    if (found == names.end())
        throw Error(fmt::format("has the unknown label \"{}\"", text.label), fmt::format("line {}", text.line));
    return static_cast<int>(found - names.begin());
}

LabelClasses classesOf(const std::vector<LabelledText>& texts, const ModelCard& model) {
    if (model.spec.classes == 0)
        return {differentLabels(texts)};
    const auto count = static_cast<std::size_t>(model.spec.classes);
    std::vector<std::string> names = classNames(model);
    if (!knowsAll(texts, names, count))
        return {differentLabels(texts), false, true};
    for (std::size_t i = names.size(); i < count; ++i)
        names.push_back(std::to_string(i));
    return {std::move(names), true, false};
}

} // namespace secateur
