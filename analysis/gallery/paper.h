#pragma once

#include "analysis/campaigns/presets.h"
#include "analysis/figures/figure_info.h"
#include "analysis/session/command_line.h"
#include "analysis/session/session.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A paper whose figures and tables are redrawn from a session.
struct Paper {
    std::string_view id;     ///< "gate_norm"; also the name of its recipe
    std::string_view title;  ///< "Gate-Norm"
    std::string_view source; ///< the method, as a phrase
};

/// All papers, in the order of the gallery.
std::span<const Paper> allPapers();
/// @throws UsageError that lists the known papers
const Paper& paper(std::string_view id);

/// The figures and tables of a paper, in its order.
std::vector<const FigureInfo*> itemsOf(const Paper& paper);

/// What a recipe is run on.
struct RecipeChoice {
    std::string model;   ///< path of the checkpoint
    std::string session; ///< path of the session .h5 that the commands write to
    SweepSize size = SweepSize::quick;
    /// Paths of texts and tasks by their usual names: "wiki.test.raw", "arc_easy.jsonl", "mmlu". A name that is missing
    /// has no file.
    std::map<std::string, std::string> files = {};
    /// Sizes of these files in bytes, by the same names; a missing size is not known.
    std::map<std::string, std::int64_t> bytes = {};
};

/// The usual names of the files that recipes use (RecipeChoice::files): texts, tasks and data for training.
std::span<const std::string_view> recipeFiles();

/// A step of a paper's recipe: one command, whose results are kept in the session.
struct RecipeStep {
    std::string id;      ///< "measure"; unique in the paper
    std::string summary; ///< noun phrase: "Gate-norm and attention ratio, on 8,192 tokens"
    /// Arguments of secateur-cli, beginning with the verb. Run again, the command continues what was stopped.
    CommandLine arguments;
    /// Expected cost: number of tokens that run forward through all layers. A backward pass counts twice.
    double tokens = 0;
    bool isDone = false;                        ///< whether the session holds all that the step measures
    std::vector<std::string> missingFiles = {}; ///< usual names of files without which parts of the step are left out
    std::string reason = {};                    ///< why the step cannot run on this model; empty = it can
};

/// The steps of a paper's recipe for the model of a session.
std::vector<RecipeStep> recipeSteps(const Paper& paper, const RecipeChoice& choice, const Session& session);

} // namespace secateur
