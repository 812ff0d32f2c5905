#include "analysis/metrics/forward_metrics.h"

#include "analysis/metrics/attention_metrics.h"
#include "analysis/metrics/layer_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace secateur {

namespace {

constexpr double noValue = std::numeric_limits<double>::quiet_NaN();

// --- the residual stream ---------------------------------------------------------------------------------------------

/// The value of a layer: one sum divided by another.
std::vector<double> ratioOf(const ForwardLayer& layer, TokenSum sum, TokenSum count) {
    const bool hasValue = layer.kept.block && layer.part.at(count) > 0;
    return {hasValue ? layer.part.at(sum) / layer.part.at(count) : noValue};
}

/// Whether the request wants a cosine of the streams before the norm of a post-norm model.
bool isBeforeNorm(const ForwardLayer& layer) {
    return layer.request.flag("before_norm") && layer.spec.normPlace == NormPlace::after;
}

std::vector<double> attentionRatio(const ForwardLayer& layer) {
    return layer.part.at(TokenSum::updates) > 0 ? ratioOf(layer, TokenSum::update, TokenSum::input)
                                                : std::vector{noValue};
}

std::vector<double> attentionImportance(const ForwardLayer& layer) {
    return ratioOf(layer, isBeforeNorm(layer) ? TokenSum::attentionSum : TokenSum::attention, TokenSum::updates);
}

std::vector<double> mlpImportance(const ForwardLayer& layer) {
    return layer.kept.neurons.empty()
               ? std::vector{noValue}
               : ratioOf(layer, isBeforeNorm(layer) ? TokenSum::mlpSum : TokenSum::mlp, TokenSum::tokens);
}

std::vector<double> blockInfluence(const ForwardLayer& layer) {
    return ratioOf(layer, TokenSum::block, TokenSum::tokens);
}

std::vector<double> tokenSimilarity(const ForwardLayer& layer) {
    return ratioOf(layer, TokenSum::similarity, TokenSum::pairs);
}

std::vector<double> tokenSpread(const ForwardLayer& layer) {
    return ratioOf(layer, TokenSum::spread, TokenSum::pairs);
}

std::vector<std::string> streamNotes(const ForwardPass& pass, const MetricRequest& request) {
    std::vector<std::string> notes;
    if (request.flag("before_norm") && pass.spec.normPlace != NormPlace::after)
        notes.emplace_back(
            "before_norm=true changes nothing here: this model normalises the inputs of sublayers, not the sums");
    if (pass.undirected > 0)
        notes.push_back(fmt::format("{:.0f} vectors have length 0: their cosine counts as 0.5", pass.undirected));
    return notes;
}

std::vector<std::string> sinkNotes(const ForwardPass& pass, const MetricRequest& request) {
    if (pass.narrowLayers == 0 || request.flag("visible_only"))
        return {};
    return {fmt::format("in {} of {} layers late queries do not see the key, which lowers the mean: see the option "
                        "visible_only",
                        pass.narrowLayers, pass.spec.layers.size())};
}

void checkAttentionOptions(const MetricRequest& request) {
    std::get<ForwardMetric>(request.info->computation).attention(request, 0, true);
}

// --- heads and neurons -----------------------------------------------------------------------------------------------

std::vector<double> divided(std::vector<double> sums, double count) {
    for (double& sum : sums)
        sum = count > 0 ? sum / count : noValue;
    return sums;
}

std::vector<double> ampOfHeads(const ForwardLayer& layer) {
    return divided(layer.part.contributions, layer.part.at(TokenSum::rows));
}

std::vector<double> ampOfNeurons(const ForwardLayer& layer) {
    return divided(layer.part.neurons.magnitudes, layer.part.at(TokenSum::rows));
}

/// Replaces values by their z-scores, with the sample standard deviation.
void standardise(std::vector<double>& values) {
    const auto count = static_cast<double>(values.size());
    double mean = 0;
    for (const double value : values)
        mean += value / count;
    double squares = 0;
    for (const double value : values)
        squares += (value - mean) * (value - mean);
    const double deviation = std::sqrt(squares / (count - 1));
    for (double& value : values)
        value = deviation > 0 ? (value - mean) / deviation : 0;
}

/// Sums the values of the columns of each head.
std::vector<double> byHead(const std::vector<double>& columns, std::size_t heads) {
    std::vector<double> values(columns.empty() ? 0 : heads);
    const std::size_t width = heads > 0 ? columns.size() / heads : 0;
    for (std::size_t i = 0; i < columns.size(); ++i)
        values[i / width] += columns[i];
    return values;
}

/// The values of kept units' columns. @param all values of all columns @param width columns of a unit
std::vector<double> columnsOfUnits(const std::vector<double>& all, const std::vector<std::size_t>& units,
                                   std::size_t width) {
    std::vector<double> columns;
    for (const std::size_t unit : units)
        columns.insert(columns.end(), all.begin() + static_cast<std::ptrdiff_t>(unit * width),
                       all.begin() + static_cast<std::ptrdiff_t>((unit + 1) * width));
    return columns;
}

/// Wanda-SP score of each column (resources/manual/metrics.md, Wanda-SP and FLAP).
std::vector<double> wandaOf(const ColumnTotals& totals, const std::vector<double>& magnitudes, double rows) {
    std::vector<double> values = totals.squares;
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = rows > 0 ? magnitudes[i] * std::sqrt(values[i] / rows) : noValue;
    return values;
}

/// FLAP's score WIFV of each column.
std::vector<double> fluctuationsOf(const ColumnTotals& totals, const std::vector<double>& squares, double tokens) {
    std::vector<double> values = totals.squares;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double variance = (values[i] - totals.sums[i] * totals.sums[i] / tokens) / (tokens - 1);
        values[i] = tokens > 1 ? std::max(0.0, variance) * squares[i] : noValue;
    }
    return values;
}

std::vector<double> wandaOfHeads(const ForwardLayer& layer) {
    const ColumnTotals& totals = layer.part.context;
    if (totals.squares.empty())
        return {};
    const std::vector<std::size_t>& heads = layer.kept.heads;
    const ColumnSizes& sizes = layer.weights.columns(layer.layer, WeightName::output);
    const std::vector<double> own = columnsOfUnits(sizes.magnitudes, heads, totals.squares.size() / heads.size());
    return byHead(wandaOf(totals, own, layer.part.at(TokenSum::rows)), heads.size());
}

std::vector<double> wandaOfNeurons(const ForwardLayer& layer) {
    const ColumnTotals& totals = layer.part.neurons;
    if (totals.squares.empty())
        return {};
    const ColumnSizes& sizes = layer.weights.columns(layer.layer, WeightName::down);
    return wandaOf(totals, columnsOfUnits(sizes.magnitudes, layer.kept.neurons, 1), layer.part.at(TokenSum::rows));
}

std::vector<double> flapOfHeads(const ForwardLayer& layer) {
    const ColumnTotals& totals = layer.part.context;
    if (totals.squares.empty())
        return {};
    const std::vector<std::size_t>& heads = layer.kept.heads;
    const std::size_t width = totals.squares.size() / heads.size();
    const ColumnSizes& sizes = layer.weights.columns(layer.layer, WeightName::output);
    std::vector<double> values =
        fluctuationsOf(totals, columnsOfUnits(sizes.squares, heads, width), layer.part.at(TokenSum::tokens));
    for (double& value : values)
        value *= value;
    if (!layer.request.flag("raw"))
        standardise(values);
    return divided(byHead(values, heads.size()), static_cast<double>(width));
}

std::vector<double> flapOfNeurons(const ForwardLayer& layer) {
    const ColumnTotals& totals = layer.part.neurons;
    if (totals.squares.empty())
        return {};
    const ColumnSizes& sizes = layer.weights.columns(layer.layer, WeightName::down);
    std::vector<double> values =
        fluctuationsOf(totals, columnsOfUnits(sizes.squares, layer.kept.neurons, 1), layer.part.at(TokenSum::tokens));
    if (!layer.request.flag("raw"))
        standardise(values);
    return values;
}

// --- the table -------------------------------------------------------------------------------------------------------

constexpr OptionInfo exclude{"exclude_first", "bool", "false",
                             "leave out position 0, whose activations are far larger than all others in many decoders"};
constexpr OptionInfo beforeNorm{"before_norm", "bool", "false",
                                "for post-norm models (encoders): compare the sums before the norm"};
constexpr OptionInfo key{"key", "integer", "0", "position of the key; negative counts from the end, -1 is the last"};
constexpr OptionInfo visibleOnly{"visible_only", "bool", "false",
                                 "mean over the queries that can see the key instead of all queries"};
constexpr OptionInfo raw{"raw", "bool", "false", "do not standardise over the layer"};

constexpr std::array tokenOptions{exclude};
constexpr std::array importanceOptions{beforeNorm, exclude};
constexpr std::array flapOptions{exclude, raw};
constexpr std::array sinkOptions{
    exclude, key,
    OptionInfo{"lengths", "text", "",
               "prefix lengths in tokens, separated by slashes, each with a value of its own; empty = whole sequences"},
    visibleOnly};
constexpr std::array variationOptions{
    exclude, key,
    OptionInfo{"lengths", "text", "64/128/256/512/1024/2048/4096",
               "prefix lengths in tokens, separated by slashes; longer ones than the sequences are left out; natural = "
               "whole sequences"},
    visibleOnly};
constexpr std::array entropyOptions{
    OptionInfo{"epsilon", "number", "1e-7", "added to probabilities by variants B and C"}, exclude,
    OptionInfo{"normalised", "bool", "false",
               "divide by the logarithm of the number of visible keys, so that 1 is uniform"},
    OptionInfo{"variant", "text", "C",
               "A: -sum a ln a; B: -sum a ln(a + epsilon); C: -sum (a + epsilon) ln(a + epsilon)"}};
constexpr std::array patternOptions{
    OptionInfo{"band", "integer", "0", "number of keys before a query that count as its diagonal"},
    OptionInfo{"diagonal", "number", "0.5",
               "threshold of the class diagonal: mean probability on the diagonal, key 0 left out"},
    exclude,
    OptionInfo{"first_query", "integer", "8", "first query that counts; earlier ones see few keys"},
    OptionInfo{"sink", "number", "0.5", "threshold of the class sink: mean probability on key 0"},
    OptionInfo{"uniform", "number", "0.85", "threshold of the class uniform: entropy relative to uniform attention"}};

constexpr std::string_view gateNormSource = "Gate-Norm: data-free attention pruning";
constexpr std::string_view llmDrop = "He et al., LLM-Drop";
constexpr std::string_view harp = "HARP";
constexpr std::string_view bosSink = "BOS-sink; Gu et al.";
constexpr std::string_view ownMetric = "Secateur, after the BOS-sink paper's four patterns";
constexpr std::string_view entropyPaper = "Greedy-Gnorm, AE";
constexpr std::string_view amp = "AMP, as its repository measures it";
constexpr std::string_view wanda = "FLAP's repository, Wanda-SP; dense statistics";
constexpr std::string_view flapPaper = "FLAP, WIFV; dense statistics";

MetricInfo forwardRow(std::string_view id, std::string_view title, std::string_view summary, std::string_view formula,
                      std::string_view source, Scope scope, PruneFirst first, std::optional<CutUnit> ranks,
                      std::span<const OptionInfo> options, ForwardMetric metric) {
    return {id,    title,          summary, formula, "",      source,
            scope, Needs::forward, first,   ranks,   options, metric.attention ? checkAttentionOptions : nullptr,
            metric};
}

MetricInfo streamRow(std::string_view id, std::string_view title, std::string_view summary, std::string_view formula,
                     std::string_view source, CutUnit ranks, std::span<const OptionInfo> options,
                     std::vector<double> (*finish)(const ForwardLayer&)) {
    return forwardRow(id, title, summary, formula, source, Scope::layer, PruneFirst::low, ranks, options,
                      {.reads = SharedSums::stream, .finish = finish, .notes = streamNotes});
}

/// The table row of a metric of heads or neurons whose smallest values are pruned first.
MetricInfo unitRow(std::string_view id, std::string_view title, std::string_view summary, std::string_view formula,
                   std::string_view source, Scope scope, std::span<const OptionInfo> options, SharedSums reads,
                   std::vector<double> (*finish)(const ForwardLayer&)) {
    return forwardRow(id, title, summary, formula, source, scope, PruneFirst::low, unitOfColumns(scope), options,
                      {.reads = reads, .finish = finish});
}

MetricInfo ofClasses(MetricInfo row, std::span<const std::string_view> classes) {
    row.classes = classes;
    return row;
}

MetricInfo inNats(MetricInfo row) {
    row.unit = "nats";
    return row;
}

const std::array forwardTable{
    streamRow("attention_ratio", "attention ratio", "Norm of the attention update relative to the layer's input (r_l)",
              "Σ_t ‖a_t‖ / Σ_t ‖x_t‖", gateNormSource, CutUnit::attention, tokenOptions, attentionRatio),
    streamRow("attention_importance", "attention importance",
              "1 − cosine similarity of the residual stream before and after attention",
              "1 − mean_t cos(x_t, x_t + a_t)", llmDrop, CutUnit::attention, importanceOptions, attentionImportance),
    streamRow("mlp_importance", "MLP importance",
              "1 − cosine similarity of the residual stream before and after the MLP", "1 − mean_t cos(y_t, y_t + f_t)",
              llmDrop, CutUnit::mlp, importanceOptions, mlpImportance),
    streamRow("block_influence", "block influence",
              "1 − cosine similarity of the residual stream before and after the block (BI)",
              "1 − mean_t cos(x_t, z_t)", "ShortGPT", CutUnit::block, tokenOptions, blockInfluence),
    forwardRow("token_similarity", "token similarity",
               "Mean cosine similarity of the tokens of a sequence at the layer's output", "mean_{i<j} cos(z_i, z_j)",
               harp, Scope::layer, PruneFirst::high, {}, tokenOptions,
               {.reads = SharedSums::similarity, .finish = tokenSimilarity}),
    forwardRow("token_spread", "token spread",
               "Distance of the tokens of a sequence from their mean, relative to their norm", "‖Z − 1 z̄‖_F / ‖Z‖_F",
               harp, Scope::layer, PruneFirst::low, {}, tokenOptions,
               {.reads = SharedSums::similarity, .finish = tokenSpread}),
    forwardRow("sink_head", "sink score per head", "Mean attention probability on the first token (BOS sink score)",
               "mean_t α_{t,k}", bosSink, Scope::head, PruneFirst::high, CutUnit::head, sinkOptions,
               {.attention = sinkOfHeads, .notes = sinkNotes}),
    forwardRow("sink_layer", "sink score per layer", "Mean BOS sink score of a layer's heads", "mean_h mean_t α_{t,k}",
               bosSink, Scope::layer, PruneFirst::high, CutUnit::block, sinkOptions,
               {.attention = sinkOfLayers, .notes = sinkNotes}),
    forwardRow("sink_cv", "variation of the sink score",
               "Coefficient of variation of the BOS sink score over sequences and prefix lengths",
               "σ / μ of mean_t α_{t,k}", bosSink, Scope::head, PruneFirst::low, CutUnit::head, variationOptions,
               {.attention = sinkVariation, .notes = sinkNotes}),
    ofClasses(forwardRow("attention_pattern", "attention pattern",
                         "Class of a head's attention: on the first token, on the diagonal, uniform, or other",
                         "sink: mean α_{t,0} ≥ ½; diagonal: mean α_{t,t} ≥ ½; uniform: entropy ≥ 0.85 of the largest",
                         ownMetric, Scope::head, PruneFirst::neither, CutUnit::head, patternOptions,
                         {.attention = attentionPattern}),
              patternClasses()),
    inNats(forwardRow("attention_entropy", "attention entropy", "Mean entropy of a head's attention probabilities",
                      "mean_t −Σ_k (α_{t,k} + ε) ln(α_{t,k} + ε)", entropyPaper, Scope::head, PruneFirst::high,
                      CutUnit::head, entropyOptions, {.attention = attentionEntropy})),
    unitRow("amp_head", "AMP per head", "Mean L1 norm of what a head adds to the residual stream",
            "mean_t ‖W_o⁽ʰ⁾ c_t⁽ʰ⁾‖₁", amp, Scope::head, tokenOptions, SharedSums::contributions, ampOfHeads),
    unitRow("amp_neuron", "AMP per neuron", "Mean magnitude of a neuron's activation", "mean_t |h_{t,m}|", amp,
            Scope::neuron, tokenOptions, SharedSums::neurons, ampOfNeurons),
    unitRow("wanda_sp_head", "Wanda-SP per head",
            "Wanda score of the head's output projection: mean |W| times the norm of its inputs over N sequences",
            "Σ_{j∈h} mean_o |W_{oj}| √(Σ_t c_{t,j}² / N)", wanda, Scope::head, tokenOptions, SharedSums::context,
            wandaOfHeads),
    unitRow("wanda_sp_neuron", "Wanda-SP per neuron",
            "Wanda score of the neuron's down projection: mean |W| times the norm of its activation over N sequences",
            "mean_o |W_{om}| √(Σ_t h_{t,m}² / N)", wanda, Scope::neuron, tokenOptions, SharedSums::neurons,
            wandaOfNeurons),
    unitRow("flap_head", "FLAP per head",
            "Variance of the inputs of the head's output projection times squared column norms; squared, standardised "
            "over the layer, mean over the head",
            "mean_{j∈h} z((Var(c_j) ‖W_{:,j}‖²)²)", flapPaper, Scope::head, flapOptions, SharedSums::context,
            flapOfHeads),
    unitRow("flap_neuron", "FLAP per neuron",
            "Variance of the neuron's activation times its squared column norm, standardised over the layer",
            "z(Var(h_m) ‖W_{:,m}‖²)", flapPaper, Scope::neuron, flapOptions, SharedSums::neurons, flapOfNeurons),
};

} // namespace

std::span<const MetricInfo> forwardMetrics() {
    return forwardTable;
}

} // namespace secateur
