#include "analysis/metrics/forward_metrics.h"

#include "analysis/metrics/attention_metrics.h"

#include <algorithm>
#include <array>

namespace secateur {

namespace {

constexpr OptionInfo exclude{"exclude_first", "bool", "false",
                             "leave out position 0: the first token of decoders is often far longer than all others"};
constexpr OptionInfo beforeNorm{"before_norm", "bool", "false",
                                "of encoders, whose norms follow the sums: compare the sums themselves"};
constexpr OptionInfo key{"key", "integer", "0", "position of the key; negative counts from the end, -1 is the last"};
constexpr OptionInfo visibleOnly{"visible_only", "bool", "false",
                                 "mean over the queries that can see the key, not over all"};
constexpr OptionInfo raw{"raw", "bool", "false", "leave the layer's values as they are, not standardised"};

constexpr std::array tokenOptions{exclude};
constexpr std::array importanceOptions{beforeNorm, exclude};
constexpr std::array flapOptions{exclude, raw};
constexpr std::array sinkOptions{
    exclude, key,
    OptionInfo{"lengths", "text", "", "tokens of prefixes, by slashes: a value for each; empty = whole sequences"},
    visibleOnly};
constexpr std::array variationOptions{
    exclude, key,
    OptionInfo{"lengths", "text", "64/128/256/512/1024/2048/4096",
               "tokens of prefixes, by slashes, of which those that there are count; natural = whole sequences"},
    visibleOnly};
constexpr std::array entropyOptions{
    OptionInfo{"epsilon", "number", "1e-7", "what variants B and C add to probabilities"}, exclude,
    OptionInfo{"normalised", "bool", "false", "over the logarithm of the keys that a query sees: 1 is uniform"},
    OptionInfo{"variant", "text", "C", "A: -sum a ln a; B: -sum a ln(a + epsilon); C: epsilon added twice"}};
constexpr std::array patternOptions{
    OptionInfo{"band", "integer", "0", "keys behind a query that count as its diagonal too"},
    OptionInfo{"diagonal", "number", "0.5", "least share of the diagonal, key 0 left out"},
    exclude,
    OptionInfo{"first_query", "integer", "8", "queries before it, which see little, are left out"},
    OptionInfo{"sink", "number", "0.5", "least share of key 0"},
    OptionInfo{"uniform", "number", "0.85", "least entropy, over that of uniform attention"}};

constexpr std::string_view gateNormPaper = "Gate-Norm: data-free attention pruning";
constexpr std::string_view llmDrop = "He et al., LLM-Drop";
constexpr std::string_view harp = "HARP";
constexpr std::string_view bosSink = "BOS-sink; Gu et al.";
constexpr std::string_view ownMetric = "Secateur, after the BOS-sink paper's four patterns";
constexpr std::string_view greedyGnormPaper = "Greedy-Gnorm, AE";
constexpr std::string_view amp = "AMP, as its repository measures it";
constexpr std::string_view wanda = "FLAP's repository, Wanda-SP; dense statistics";
constexpr std::string_view flapPaper = "FLAP, WIFV; dense statistics";

MetricInfo row(std::string_view id, std::string_view title, std::string_view summary, std::string_view formula,
               std::string_view unit, std::string_view source, Scope scope, PruneFirst first,
               std::span<const OptionInfo> options, std::span<const std::string_view> classes = {}) {
    return {id, title, summary, formula, unit, source, scope, Needs::forward, first, options, classes};
}

const std::array forwardTable{
    ForwardMetric{row("attention_ratio", "attention ratio",
                      "How long what attention adds is, beside what enters the layer", "Σ_t ‖a_t‖ / Σ_t ‖x_t‖", "",
                      gateNormPaper, Scope::layer, PruneFirst::low, tokenOptions),
                  Observes::stream},
    ForwardMetric{row("attention_importance", "attention importance", "How far attention turns the stream",
                      "1 − mean_t cos(x_t, x_t + a_t)", "", llmDrop, Scope::layer, PruneFirst::low, importanceOptions),
                  Observes::stream},
    ForwardMetric{row("mlp_importance", "MLP importance", "How far the MLP turns the stream",
                      "1 − mean_t cos(y_t, y_t + f_t)", "", llmDrop, Scope::layer, PruneFirst::low, importanceOptions),
                  Observes::stream},
    ForwardMetric{row("block_influence", "block influence", "How far a block turns the stream",
                      "1 − mean_t cos(x_t, z_t)", "", "ShortGPT", Scope::layer, PruneFirst::low, tokenOptions),
                  Observes::stream},
    ForwardMetric{row("token_similarity", "token similarity", "How alike the tokens of a sequence leave a layer",
                      "mean_{i<j} cos(z_i, z_j)", "", harp, Scope::layer, PruneFirst::high, tokenOptions),
                  Observes::similarity},
    ForwardMetric{row("token_spread", "token spread", "How far the tokens of a sequence are from their mean",
                      "‖Z − 1 z̄‖_F / ‖Z‖_F", "", harp, Scope::layer, PruneFirst::low, tokenOptions),
                  Observes::similarity},
    ForwardMetric{row("sink_head", "sink of heads", "What share of its attention a head pays to the first token",
                      "mean_t α_{t,k}", "", bosSink, Scope::head, PruneFirst::high, sinkOptions),
                  Observes::attention},
    ForwardMetric{row("sink_layer", "sink of layers", "The mean of a layer's heads' shares for the first token",
                      "mean_h mean_t α_{t,k}", "", bosSink, Scope::layer, PruneFirst::high, sinkOptions),
                  Observes::attention},
    ForwardMetric{row("sink_cv", "variation of the sink",
                      "How much a head's share for the first token varies with text and length",
                      "σ / μ of mean_t α_{t,k}", "", bosSink, Scope::head, PruneFirst::low, variationOptions),
                  Observes::attention},
    ForwardMetric{row("attention_pattern", "attention pattern",
                      "Whether a head looks at the first token, at each token itself, everywhere, or otherwise",
                      "sink: mean α_{t,0} ≥ ½; diagonal: mean α_{t,t} ≥ ½; uniform: entropy ≥ 0.85 of the most", "",
                      ownMetric, Scope::head, PruneFirst::neither, patternOptions, patternClasses()),
                  Observes::attention},
    ForwardMetric{row("attention_entropy", "attention entropy", "How widely a head's attention is spread",
                      "mean_t −Σ_k (α_{t,k} + ε) ln(α_{t,k} + ε)", "nats", greedyGnormPaper, Scope::head, PruneFirst::high,
                      entropyOptions),
                  Observes::attention},
    ForwardMetric{row("amp_head", "AMP per head", "How much a head adds to the stream", "mean_t ‖W_o⁽ʰ⁾ c_t⁽ʰ⁾‖₁", "",
                      amp, Scope::head, PruneFirst::low, tokenOptions),
                  Observes::contributions},
    ForwardMetric{row("amp_neuron", "AMP per neuron", "How active a neuron is", "mean_t |h_{t,m}|", "", amp,
                      Scope::neuron, PruneFirst::low, tokenOptions),
                  Observes::neurons},
    ForwardMetric{row("wanda_sp_head", "Wanda-SP per head",
                      "The weights that a head writes with, times how large what they multiply is",
                      "Σ_{j∈h} mean_o |W_{oj}| √(Σ_t c_{t,j}²)", "", wanda, Scope::head, PruneFirst::low, tokenOptions),
                  Observes::context},
    ForwardMetric{row("wanda_sp_neuron", "Wanda-SP per neuron",
                      "The weights that a neuron writes with, times how large it is", "mean_o |W_{om}| √(Σ_t h_{t,m}²)",
                      "", wanda, Scope::neuron, PruneFirst::low, tokenOptions),
                  Observes::neurons},
    ForwardMetric{row("flap_head", "FLAP per head", "How much what a head writes fluctuates, beside its layer's others",
                      "mean_{j∈h} z((Var(c_j) ‖W_{:,j}‖²)²)", "", flapPaper, Scope::head, PruneFirst::low, flapOptions),
                  Observes::context},
    ForwardMetric{row("flap_neuron", "FLAP per neuron",
                      "How much what a neuron writes fluctuates, beside its layer's others", "z(Var(h_m) ‖W_{:,m}‖²)",
                      "", flapPaper, Scope::neuron, PruneFirst::low, flapOptions),
                  Observes::neurons},
};

} // namespace

std::span<const ForwardMetric> forwardMetrics() {
    return forwardTable;
}

const ForwardMetric& forwardMetric(const MetricRequest& request) {
    return *std::ranges::find(forwardTable, request.info, [](const ForwardMetric& metric) { return &metric.info; });
}

void checkForwardOptions(const MetricRequest& request) {
    if (forwardMetric(request).observes == Observes::attention)
        AttentionMetric(request, 0, true);
}

} // namespace secateur
