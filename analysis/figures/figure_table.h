#pragma once

#include "analysis/base/options.h"
#include "analysis/base/progress.h"
#include "analysis/figures/figure.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "analysis/session/session.h"
#include "analysis/text/tokenizer.h"
#include "analysis/text/sequences.h"

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

/// Values of a figure's options, complete with their defaults.
using FigureOptions = std::map<std::string, std::string>;

/// A model under a mask, and a prompt for it.
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
    const Plan& plan;     ///< of model.runner(); its mask is the one that was asked for
    std::string maskName; ///< for captions; empty = dense
    std::span<const TokenSequence> sequences;
    std::span<const int> labels = {}; ///< of a classifier: the class of each sequence; empty = not known
    std::int64_t batchTokens = 4096;  ///< that run at once
    Progress progress = {};
};

// What a figure is drawn from, with the function that draws it. References: a row without a function does not compile.

struct FromSession {
    Figure (&draw)(const Session&, const FigureOptions&);
    /// Options whose values name results, separated by '/': of a model, these are measured first.
    std::array<std::string_view, 2> results{};
};
struct FromPrompt {
    Figure (&draw)(const PromptInputs&, const FigureOptions&);
};
struct FromText {
    Figure (&draw)(const TextInputs&, const FigureOptions&);
    double forwards;  ///< forward passes over the text, for the forecast
    double backwards; ///< backward passes over it
};
using FigureSource = std::variant<FromSession, FromPrompt, FromText>;

/// One row of the figure table.
struct FigureInfo {
    std::string_view id;
    std::string_view summary;
    std::span<const OptionInfo> options;
    FigureSource source;
    /// Checks what the types of the options leave open, before anything is read or run; null = nothing.
    /// @throws UsageError
    void (*check)(const FigureOptions&) = nullptr;
};

std::span<const FigureInfo> allFigures();

/// A figure that was asked for.
struct FigureRequest {
    const FigureInfo* figure;
    FigureOptions options;
    std::string text; ///< as it was written: "heads:log=true"
};
/// Reads "id[:key=value]..." and checks the options. @param table that it is searched in
/// @throws UsageError, listing the known figures when there is none of this id
FigureRequest parseFigureRequest(std::string_view text, std::span<const FigureInfo> table = allFigures());

/// The results that a figure names in its options, as requests to measure them. @throws UsageError
std::vector<MetricRequest> metricsOf(const FigureRequest& request);

/// Draws a figure from a session. @throws UsageError; Error when the session lacks what the figure needs, and for a
/// figure that needs the model
Figure drawFigure(const FigureRequest& request, const Session& session);
Figure makeFigure(const Session& session, std::string_view text, std::span<const FigureInfo> table = allFigures());

} // namespace secateur
