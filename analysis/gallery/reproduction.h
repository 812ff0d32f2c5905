#pragma once

#include "analysis/gallery/paper.h"

#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// What became of a step of a recipe.
enum class StepState {
    planned,    ///< not run, because only the plan was asked for
    notWanted,  ///< left out by the user
    held,       ///< the session held its results already
    impossible, ///< RecipeStep::reason
    done,
    failed,
};
std::string_view name(StepState state);

struct ReproducedStep {
    RecipeStep step;
    StepState state = StepState::planned;
    double expectedSeconds = 0;
    double seconds = 0;  ///< 0 if it did not run
    std::string error{}; ///< sentence of a step that failed
};

/// A figure or table of the paper and its files.
struct ReproducedItem {
    const FigureInfo* figure = nullptr;
    std::vector<std::string> files{}; ///< names in the folder of figures; empty = it could not be drawn
    std::string caption{};
    std::string command{}; ///< command line that draws it
    std::string error{};   ///< sentence about what it lacks
};

/// A run of a paper's recipe.
struct Reproduction {
    const Paper* paper = nullptr;
    std::string model{};   ///< name of the model
    std::string session{}; ///< path
    std::string folder{};  ///< of the figures; empty if none were drawn
    std::string size{};    ///< "quick" or "paper"
    std::vector<ReproducedStep> steps{};
    std::vector<std::string> missingFiles{}; ///< usual names
    std::vector<ReproducedItem> items{};
};

/// The page that lists the figures and tables of a folder with their captions, files and commands, and what could not
/// be drawn: a document in HTML that needs nothing but the files of the folder.
std::string indexPage(const Reproduction& run);

} // namespace secateur
