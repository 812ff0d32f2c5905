#pragma once

#include "analysis/base/options.h"
#include "analysis/figures/figure_info.h"

#include <array>

namespace secateur {

// The rows of general_figures.cpp that draw the curves of a session: their options, checks and functions.

inline constexpr OptionInfo curveSetOption{"set", "integer", "-1",
                                           "which set of curves of the session, counted from 0; -1 = the last"};
inline constexpr OptionInfo curveStrategiesOption{
    "strategies", "text", "", "strategies or result ids, separated by '/', with '.' and '-' in place of ':' and '='; "
                              "empty = all"};
inline constexpr OptionInfo cutKindOption{
    "unit", "text", "auto",
    "heads, neurons, attention, mlps, blocks, or parameters (of attention and MLPs); auto is the unit that all masks "
    "cut, or parameters if they cut several"};

inline constexpr std::array curvesOptions{
    OptionInfo{"x", "text", "params",
               "params, kv or flops (share removed), units, heads, neurons, attention, mlps or blocks (number removed), "
               "seconds (of choosing) or speed (tokens per second)"},
    OptionInfo{"y", "text", "auto",
               "delta (rise of the loss), loss, perplexity, pooled (distance of pooled outputs) or task; auto is task "
               "if one is named, else the first of these that was measured"},
    OptionInfo{"task", "text", "", "NAME or NAME/METRIC; empty = the first task of the sweep"},
    curveStrategiesOption,
    OptionInfo{"scale", "text", "auto",
               "vertical axis: auto, linear or log; auto is log for perplexity, linear for tasks, and otherwise as for "
               "the figure layers"},
    OptionInfo{"pareto", "bool", "true", "draw the Pareto front of all points"},
    OptionInfo{"mask", "text", "", "name of a mask to highlight"},
    curveSetOption,
};
inline constexpr std::array removalMapOptions{cutKindOption, curveStrategiesOption, curveSetOption};
inline constexpr std::array agreementOptions{
    OptionInfo{"budget", "text", "",
               "budget of the masks: 8, 12.5% or params.20%; empty = the largest of those that most strategies have"},
    cutKindOption,
    curveStrategiesOption,
    curveSetOption,
};
inline constexpr std::array stabilityOptions{
    OptionInfo{"of", "text", "masks", "masks (Jaccard index of the cuts) or scores (Spearman's rank correlation)"},
    cutKindOption,
    curveStrategiesOption,
    curveSetOption,
};

// @throws UsageError
void checkCurves(const FigureOptions& options);
void checkCurveMap(const FigureOptions& options);
void checkAgreement(const FigureOptions& options);
void checkStability(const FigureOptions& options);

// @throws as the functions of curve_figures.h and curve_maps.h
Figure drawCurves(const Session& session, const FigureOptions& options);
Figure drawRemovalMap(const Session& session, const FigureOptions& options);
Figure drawAgreement(const Session& session, const FigureOptions& options);
Figure drawStability(const Session& session, const FigureOptions& options);

} // namespace secateur
