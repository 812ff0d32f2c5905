#include "analysis/metrics/gradient_metrics.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace secateur {

namespace {

constexpr OptionInfo scalarisation{
    "scalarisation", "text", "auto",
    "what is differentiated: task_loss, logit_norm, gold_logprob or pooled_norm; auto = see the README"};

constexpr std::array normOptions{
    OptionInfo{"code_compat_batch", "integer", "0",
               "as the authors' code: one gradient for each batch of so many sequences; 0 = one for each sequence"},
    scalarisation};
constexpr std::array maskOptions{
    OptionInfo{"abs", "text", "sample",
               "what the magnitude is taken of: sample = each sequence, token = each token, batch"},
    OptionInfo{"batch", "integer", "32", "sequences of a batch, of abs=batch"},
    OptionInfo{"layer_normalised", "bool", "false", "over the root of the sum of squares of the layer's values"},
    scalarisation, OptionInfo{"tis_abs", "bool", "false", "sum of the magnitudes of A ∂L/∂A over all pairs of tokens"}};
constexpr std::array squareOptions{
    OptionInfo{"passes", "integer", "4", "backward passes with random signs that it is estimated from"}};
constexpr std::array attributionOptions{
    OptionInfo{"position", "text", "mean", "of decoders, the tokens whose probability counts: mean = all, last"},
    OptionInfo{"sequences", "integer", "200", "the first of them, at most"},
    OptionInfo{"steps", "integer", "20", "points between no attention and all of it"}};

constexpr std::string_view greedyGnormSource = "Greedy-Gnorm; of each sequence, as the paper has it";
constexpr std::string_view michel = "Michel et al.; the same as TIS";
constexpr std::string_view ownGradientMetric = "Secateur";
constexpr std::string_view attribution = "Hao et al., self-attention attribution";

MetricInfo row(std::string_view id, std::string_view title, std::string_view summary, std::string_view formula,
               std::string_view source, std::span<const OptionInfo> options, bool isSlow = false) {
    return {id,          title,           summary,         formula, "", source,
            Scope::head, Needs::gradient, PruneFirst::low, options, {}, isSlow};
}

const std::array gradientTable{
    GradientMetric{row("gnorm", "gradient norm",
                       "How much a head's queries, keys and values together bear on what the model says",
                       "E‖∂F/∂W_q⁽ʰ⁾‖ · E‖∂F/∂W_k⁽ʰ⁾‖ · E‖∂F/∂W_v⁽ʰ⁾‖", greedyGnormSource, normOptions),
                   FromGradients::norms},
    GradientMetric{row("gnorm_q", "gradient norm of queries", "How much a head's queries bear on what the model says",
                       "E‖∂F/∂W_q⁽ʰ⁾‖_F", greedyGnormSource, normOptions),
                   FromGradients::norms},
    GradientMetric{row("gnorm_k", "gradient norm of keys", "How much a head's keys bear on what the model says",
                       "E‖∂F/∂W_k⁽ʰ⁾‖_F", greedyGnormSource, normOptions),
                   FromGradients::norms},
    GradientMetric{row("gnorm_v", "gradient norm of values", "How much a head's values bear on what the model says",
                       "E‖∂F/∂W_v⁽ʰ⁾‖_F", greedyGnormSource, normOptions),
                   FromGradients::norms},
    GradientMetric{row("head_mask_gradient", "head mask gradient",
                       "How steeply a sequence's loss moves when a head begins to be turned down", "E|∂L/∂ξ_h|", michel,
                       maskOptions),
                   FromGradients::magnitudes},
    GradientMetric{row("head_gate_gradient", "head gate gradient",
                       "Which way, and how steeply, the loss moves when a head is turned up", "∂L/∂ξ_h", ownGradientMetric, {}),
                   FromGradients::gates},
    GradientMetric{row("head_fisher", "head Fisher information",
                       "How much single tokens' losses move when a head begins to be turned down",
                       "mean_t (∂l_t/∂ξ_h)²", ownGradientMetric, squareOptions),
                   FromGradients::squares},
    GradientMetric{row("self_attribution", "self-attention attribution",
                       "How much of the right answer's probability the strongest link of a head carries",
                       "E max_{ij} A_ij ∫ ∂F/∂A_ij(τA) dτ", attribution, attributionOptions, true),
                   FromGradients::attribution},
};

void checkOneOf(const MetricRequest& request, std::string_view name, const std::vector<std::string>& known) {
    const std::string value = request.option(name);
    if (std::ranges::find(known, value) == known.end())
        throw UsageError(fmt::format("{}={} is none of {}", name, value, join(known, ", ")),
                         std::string(request.info->id));
}

void checkAtLeast(const MetricRequest& request, std::string_view name, int least) {
    if (wholeOption(request, name) < least)
        throw UsageError(fmt::format("{}={} should be {} or more", name, request.option(name), least),
                         std::string(request.info->id));
}

} // namespace

std::span<const GradientMetric> gradientMetrics() {
    return gradientTable;
}

const GradientMetric& gradientMetric(const MetricRequest& request) {
    return *std::ranges::find(gradientTable, request.info, [](const GradientMetric& metric) { return &metric.info; });
}

int wholeOption(const MetricRequest& request, std::string_view name) {
    const std::string text = request.option(name);
    int value = 0;
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || last != text.data() + text.size())
        throw UsageError(fmt::format("{}={} is out of range", name, text), std::string(request.info->id));
    return value;
}

void checkGradientOptions(const MetricRequest& request) {
    for (const OptionInfo& option : request.info->options) {
        if (option.name == "scalarisation")
            checkOneOf(request, option.name, {"auto", "task_loss", "logit_norm", "gold_logprob", "pooled_norm"});
        else if (option.name == "abs")
            checkOneOf(request, option.name, {"sample", "token", "batch"});
        else if (option.name == "position")
            checkOneOf(request, option.name, {"mean", "last"});
        else if (option.type == "integer")
            checkAtLeast(request, option.name, option.name == "code_compat_batch" ? 0 : 1);
    }
    if (request.info->id == "head_mask_gradient" && request.flag("tis_abs") && request.option("abs") != "sample")
        throw UsageError("tis_abs=true takes the magnitude of every pair of tokens; abs does not go with it",
                         std::string(request.info->id));
}

} // namespace secateur
