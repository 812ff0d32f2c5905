#pragma once

#include "analysis/figures/figure_info.h"
#include "analysis/gallery/paper_curves.h"
#include "analysis/gallery/published.h"

#include <array>
#include <functional>
#include <string>
#include <string_view>

namespace secateur {

// The figures and tables of the BOS-sink paper. Their rows are in bos_items.cpp. They throw Error if the session lacks
// what they show, with the command that measures it.

inline constexpr std::string_view bosPaper = "bos"; ///< Paper::id

inline constexpr OptionInfo bosColours{"colours", "text", "viridis", "viridis, cividis or magma"};
inline constexpr OptionInfo bosScale{"scale", "text", "linear", "linear, log or auto, as for the figure heads"};
inline constexpr OptionInfo bosOf{
    "of", "text", "auto",
    "quality of the model without each head: accuracy, loss, or auto (accuracy if the session has it, else loss)"};

inline constexpr std::array bosMapOptions{
    bosColours, OptionInfo{"head", "text", "auto", "LAYER.HEAD; auto is the head with the highest sink score"},
    bosScale};
inline constexpr std::array bosPatternOptions{
    bosColours,
    OptionInfo{"heads", "text", "auto",
               "heads, LAYER.HEAD separated by '/'; auto is, of each class of attention_pattern, the head with the "
               "largest margin"},
    bosScale};
inline constexpr std::array bosSheetOptions{
    bosColours, bosScale, OptionInfo{"side", "integer", "48", "maximum number of cells along an edge of each map"}};
inline constexpr std::array bosAblationOptions{bosOf};
inline constexpr std::array bosRatioOptions{paperSetOption};
inline constexpr std::array bosTableOptions{
    publishedOption,
    OptionInfo{"ratio", "text", "auto",
               "pruning ratios in per cent, separated by '/'; auto is the paper's for its models, and otherwise 12.5"}};

// What figures of results share.

/// The latest result of a metric on the dense model that a condition allows, a whole one if there is any. Null if there
/// is none.
const MetricResult* latestDense(const Session& session, std::string_view metric,
                                const std::function<bool(const MetricResult&)>& isWanted);
/// The text of a result: "MMLU prompts (1,024 tokens)".
std::string bosDataText(const MetricResult& result);
/// A figure with the model's name as its title.
Figure bosFigure(const Session& session, FigureKind kind);

// @throws UsageError
void checkBosMap(const FigureOptions& options);
void checkBosPatterns(const FigureOptions& options);
void checkBosSheet(const FigureOptions& options);
void checkBosAblation(const FigureOptions& options);
void checkBosTable(const FigureOptions& options);

/// Figure 1: the attention map of one head over the prompt.
Figure drawBosMap(const PromptInputs& inputs, const FigureOptions& options);
/// Figure 6: the attention maps of four heads, one of each class of attention_pattern.
Figure drawBosPatterns(const PromptInputs& inputs, const FigureOptions& options);
/// Figures 8 to 10: the attention maps of all heads, layers down and heads across. A cell of a map is the maximum over
/// several tokens where the prompt is longer than the map. Maps are one cell apart.
Figure drawBosSheet(const PromptInputs& inputs, const FigureOptions& options);

/// Figure 2: a point for each head, its sink score and the quality of the model without it.
Figure drawBosAblation(const Session& session, const FigureOptions& options);
/// Figure 3: the mean of figure 2 over the heads of each layer, and the layer's sink score.
Figure drawBosLayers(const Session& session, const FigureOptions& options);
/// Figure 4: mean sink score against the length of the prefix, with least-squares lines, for all heads and for those
/// with a mean over lengths of at least 0.6 and 0.8.
Figure drawBosLengths(const Session& session, const FigureOptions& options);
/// Figure 5: a point for each head, the mean over lengths and the coefficient of variation of its sink score.
Figure drawBosVariation(const Session& session, const FigureOptions& options);

/// Figure 7: accuracy on MMLU and perplexity against the ratio of cut heads.
Figure drawBosRatios(const Session& session, const FigureOptions& options);
/// The ratio of the paper's tables, in per cent.
double bosRatioOf(const ModelCard& model);
/// Table 1: strategies of heads. Table 2: strategies of blocks.
Figure drawBosHeadTable(const Session& session, const FigureOptions& options);
Figure drawBosBlockTable(const Session& session, const FigureOptions& options);

} // namespace secateur
