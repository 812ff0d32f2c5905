#pragma once

#include "analysis/figures/figure_info.h"
#include "analysis/model/model_card.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A number that a paper prints (resources/papers/published.csv).
struct PublishedValue {
    std::string_view item;  ///< figure id: "gate_norm_table1"
    std::string_view model; ///< the paper's name of the model: "Vicuna-7B"
    std::string_view row;
    std::string_view budget;
    std::string_view column;
    double value = 0;
    bool isDoubtful = false; ///< flagged in the file: contradicts another number of the paper, or is uncertain
    /// Result id of the row's strategy, "dense", or a result id followed by "+recovered"; empty = none of ours.
    std::string_view strategy;
    std::string_view ourBudget; ///< the budget as our strategies write it; "0" for the dense model
};

/// The lower-case letters and digits of a name, by which names of models and tasks are compared: "ARC-Easy" as
/// "arceasy".
std::string plainName(std::string_view name);

/// All published values, in the order of the file.
std::span<const PublishedValue> publishedValues();

/// The published values of an item for a model.
/// @param choice `auto` (the opened model, by its name and its structure), `none`, or the paper's name of a model
/// @throws UsageError for a model that the item does not have; it lists those that it has
std::vector<PublishedValue> publishedFor(std::string_view item, const ModelCard& model, std::string_view choice);

/// The names of the models that an item has published values of; empty = it has none.
std::vector<std::string> publishedModels(std::string_view item);

/// Checks the option `published`. @throws UsageError for an unknown model
void checkPublished(const FigureOptions& options);

/// The option `published` of the tables that have published values.
inline constexpr OptionInfo publishedOption{
    "published", "text", "auto",
    "published numbers to compare with: auto (those of the model if it is one of the paper's), none, or the paper's "
    "name of a model"};

} // namespace secateur
