#pragma once

#include "analysis/base/options.h"
#include "analysis/base/progress.h"
#include "analysis/figures/figure.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "analysis/session/session.h"
#include "analysis/text/sequences.h"
#include "analysis/text/tokenizer.h"
#include "analysis/weights/stored_tensors.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace secateur {

/// Values of all options of a figure, including default values.
using FigureOptions = std::map<std::string, std::string>;

/// A model under a mask, and a prompt to run.
struct PromptInputs {
    std::shared_ptr<const Model> model;
    PruningMask mask;
    ComputeType type = ComputeType::automatic;
    PromptTokens prompt;
    Progress progress;
};

/// A model under a mask, and the sequences of a calibration text.
struct TextInputs {
    const Model& model;
    const Plan& plan;     ///< plan of model.runner() under the requested mask
    std::string maskName; ///< name of the mask for captions; empty = dense
    std::span<const TokenSequence> sequences;
    std::span<const int> labels = {}; ///< for a classifier, the class of each sequence; empty = not known
    std::int64_t batchTokens = 4096;  ///< maximum number of tokens in a batch
    Progress progress = {};
};

/// The weights of a checkpoint, and those of another one to compare with.
struct WeightInputs {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const StoredTensors> tensors;
    std::shared_ptr<const StoredTensors> reference = {}; ///< null = none
    Progress progress = {};
};

// A structure for each kind of input that figures are drawn from. `draw` is a reference, so that a row without a
// function does not compile.

struct FromSession {
    Figure (&draw)(const Session&, const FigureOptions&);
    /// Names of the options whose values are lists of results, separated by '/'. If the figure is drawn from a model
    /// instead of a session, these results are measured first.
    std::array<std::string_view, 2> results{};
};
struct FromPrompt {
    Figure (&draw)(const PromptInputs&, const FigureOptions&);
};
struct FromText {
    Figure (&draw)(const TextInputs&, const FigureOptions&);
    double forwards;            ///< number of forward passes over the text, for forecasts of the time
    double backwards;           ///< number of backward passes over the text
    std::int64_t sequences = 0; ///< number of sequences that are read, from the first; 0 = all
};
struct FromWeights {
    Figure (&draw)(const WeightInputs&, const FigureOptions&);
};
using FigureSource = std::variant<FromSession, FromPrompt, FromText, FromWeights>;

/// What makes a figure one of a paper's figures or tables.
struct PaperItem {
    std::string_view paper; ///< Paper::id (analysis/gallery/paper.h)
    std::string_view title; ///< "Figure 3", "Table 1"
    /// RecipeStep::id of the steps that measure what the figure shows; empty = the checkpoint or the prompt suffices
    std::span<const std::string_view> steps = {};
};

/// A row of the figure table.
struct FigureInfo {
    std::string_view id;
    std::string_view summary;
    std::span<const OptionInfo> options;
    FigureSource source;
    /// Checks options beyond their types, before anything is read or run. Null = there is nothing to check.
    /// @throws UsageError
    void (*check)(const FigureOptions&) = nullptr;
    /// Null = a figure of no paper.
    const PaperItem* item = nullptr;
    /// The figures of this row that a report shows unless the user chooses others, each as the text of its options:
    /// "metric=gate_norm_head", or empty for default values. Null = without options, if it is an item of a paper.
    std::vector<std::string> (*inReport)(const Session&) = nullptr;
};

} // namespace secateur
