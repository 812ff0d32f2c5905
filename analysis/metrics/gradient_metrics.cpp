#include "analysis/metrics/gradient_metrics.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/metrics/gradient_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>

namespace secateur {

namespace {

void divide(std::vector<double>& values, double by) {
    for (double& value : values)
        value /= by;
}

// --- gradient norms --------------------------------------------------------------------------------------------------

std::vector<HeadSum> allNorms(const MetricRequest&) {
    return {HeadSum::queryNorm, HeadSum::keyNorm, HeadSum::valueNorm};
}

template <HeadSum sum>
std::vector<HeadSum> only(const MetricRequest&) {
    return {sum};
}

BatchRule authorsBatches(const MetricRequest& request) {
    const int rows = request.whole("code_compat_batch");
    return {rows, rows > 0};
}

std::vector<double> productOfNorms(const GradientLayer& layer) {
    std::vector<double> product;
    for (const HeadSum sum : std::get<GradientMetric>(layer.request.info->computation).sums(layer.request)) {
        std::vector<double> values = layer.sums(sum);
        divide(values, layer.passes.front()->rows);
        product.resize(values.size(), 1);
        for (std::size_t i = 0; i < values.size(); ++i)
            product[i] *= values[i];
    }
    return product;
}

// --- gradients of the heads' gates -----------------------------------------------------------------------------------

HeadSum magnitudeOf(const MetricRequest& request) {
    if (request.flag("tis_abs"))
        return HeadSum::pairMagnitude;
    const std::string of = request.option("abs");
    return of == "token" ? HeadSum::tokenMagnitude : of == "batch" ? HeadSum::batchMagnitude : HeadSum::gateMagnitude;
}

std::vector<HeadSum> magnitudeSums(const MetricRequest& request) {
    return {magnitudeOf(request)};
}

BatchRule magnitudeBatches(const MetricRequest& request) {
    return {request.option("abs") == "batch" ? request.whole("batch") : 0, false};
}

std::vector<double> meanMagnitude(const GradientLayer& layer) {
    const HeadSum sum = magnitudeOf(layer.request);
    const PassSums& pass = *layer.passes.front();
    std::vector<double> values = layer.sums(sum);
    divide(values, sum == HeadSum::batchMagnitude ? pass.batches : pass.rows);
    if (!layer.request.flag("layer_normalised"))
        return values;
    double squares = 0;
    for (const double value : values)
        squares += value * value;
    divide(values, std::sqrt(squares) + 1e-20);
    return values;
}

std::vector<double> meanGate(const GradientLayer& layer) {
    std::vector<double> values = layer.sums(HeadSum::gate);
    divide(values, layer.passes.front()->targets);
    return values;
}

int signPasses(const MetricRequest& request) {
    return request.whole("passes");
}

std::vector<double> meanSquare(const GradientLayer& layer) {
    const double targets = layer.passes.front()->targets;
    std::vector<double> values(layer.heads.size());
    for (std::size_t pass = 0; pass < layer.passes.size(); ++pass) {
        const std::vector<double> sums = layer.sums(HeadSum::gateSquare, pass);
        for (std::size_t i = 0; i < sums.size(); ++i)
            values[i] += sums[i] / (targets * static_cast<double>(layer.passes.size()));
    }
    return values;
}

// --- options ---------------------------------------------------------------------------------------------------------

constexpr OptionInfo scalarisation{
    "scalarisation", "text", "auto",
    "scalar that is differentiated: task_loss, logit_norm, gold_logprob or pooled_norm; auto = the loss where there is "
    "one, except for gradient norms of classifiers (logit_norm)"};

constexpr std::array normOptions{
    OptionInfo{"code_compat_batch", "integer", "0",
               "number of sequences that share one gradient, as in the authors' code; 0 = one gradient for each "
               "sequence"},
    scalarisation};
constexpr std::array maskOptions{
    OptionInfo{"abs", "text", "sample",
               "what the magnitude is taken of: each sequence (sample), each token (token) or each batch (batch)"},
    OptionInfo{"batch", "integer", "32", "sequences of a batch, for abs=batch"},
    OptionInfo{"layer_normalised", "bool", "false", "divide by the root of the summed squares of the layer's values"},
    scalarisation, OptionInfo{"tis_abs", "bool", "false", "sum the magnitudes of A ∂L/∂A over all pairs of tokens"}};
constexpr std::array squareOptions{
    OptionInfo{"passes", "integer", "4", "number of backward passes with random signs of the token losses"}};
constexpr std::array attributionOptions{
    OptionInfo{"position", "text", "mean",
               "for decoders: mean probability of all next tokens, or of the last one (last)"},
    OptionInfo{"sequences", "integer", "200", "maximum number of sequences"},
    OptionInfo{"steps", "integer", "20", "number of points between no attention and full attention"}};

void checkOneOf(const MetricRequest& request, std::string_view name, const std::vector<std::string>& known) {
    const std::string value = request.option(name);
    if (std::ranges::find(known, value) == known.end())
        throw UsageError(fmt::format("{}={} must be one of {}", name, value, join(known, ", ")),
                         std::string(request.info->id));
}

void checkAtLeast(const MetricRequest& request, std::string_view name, int least) {
    if (request.whole(name) < least)
        throw UsageError(fmt::format("{}={} should be {} or more", name, request.option(name), least),
                         std::string(request.info->id));
}

void checkScalarisation(const MetricRequest& request) {
    checkOneOf(request, scalarisation.name, {"auto", "task_loss", "logit_norm", "gold_logprob", "pooled_norm"});
}

void checkNormOptions(const MetricRequest& request) {
    checkAtLeast(request, "code_compat_batch", 0);
    checkScalarisation(request);
}

void checkMaskOptions(const MetricRequest& request) {
    checkOneOf(request, "abs", {"sample", "token", "batch"});
    checkAtLeast(request, "batch", 1);
    checkScalarisation(request);
    if (request.flag("tis_abs") && request.option("abs") != "sample")
        throw UsageError("tis_abs=true takes the magnitude of every pair of tokens and excludes abs",
                         std::string(request.info->id));
}

void checkSquareOptions(const MetricRequest& request) {
    checkAtLeast(request, "passes", 1);
}

void checkAttributionOptions(const MetricRequest& request) {
    checkOneOf(request, "position", {"mean", "last"});
    checkAtLeast(request, "sequences", 1);
    checkAtLeast(request, "steps", 1);
}

// --- the table -------------------------------------------------------------------------------------------------------

constexpr std::string_view greedyGnormSource = "Greedy-Gnorm; for each sequence, as in the paper";
constexpr std::string_view michel = "Michel et al.; the same as TIS";
constexpr std::string_view ownGradientMetric = "Secateur";
constexpr std::string_view haoPaper = "Hao et al., self-attention attribution";

MetricInfo gradientRow(std::string_view id, std::string_view title, std::string_view summary, std::string_view formula,
                       std::string_view source, std::span<const OptionInfo> options,
                       void (*check)(const MetricRequest&), GradientMetric metric) {
    return {id,      title, summary, formula, "", source, Scope::head, Needs::gradient, PruneFirst::low, CutUnit::head,
            options, check, metric};
}

MetricInfo normRow(std::string_view id, std::string_view title, std::string_view summary, std::string_view formula,
                   std::vector<HeadSum> (*sums)(const MetricRequest&)) {
    return gradientRow(id, title, summary, formula, greedyGnormSource, normOptions, checkNormOptions,
                       {.sums = sums, .finish = productOfNorms, .batches = authorsBatches, .isOfLoss = false});
}

MetricInfo slow(MetricInfo row) {
    row.isSlow = true;
    return row;
}

const std::array gradientTable{
    normRow("gnorm", "gradient norm", "Greedy-Gnorm score: product of the gradient norms of W_q, W_k and W_v",
            "E‖∂F/∂W_q⁽ʰ⁾‖ · E‖∂F/∂W_k⁽ʰ⁾‖ · E‖∂F/∂W_v⁽ʰ⁾‖", allNorms),
    normRow("gnorm_q", "gradient norm of queries", "Mean norm of the gradient of a head's W_q", "E‖∂F/∂W_q⁽ʰ⁾‖_F",
            only<HeadSum::queryNorm>),
    normRow("gnorm_k", "gradient norm of keys", "Mean norm of the gradient of a head's W_k", "E‖∂F/∂W_k⁽ʰ⁾‖_F",
            only<HeadSum::keyNorm>),
    normRow("gnorm_v", "gradient norm of values", "Mean norm of the gradient of a head's W_v", "E‖∂F/∂W_v⁽ʰ⁾‖_F",
            only<HeadSum::valueNorm>),
    gradientRow("head_mask_gradient", "head mask gradient",
                "Mean magnitude of the gradient of a sequence's loss with respect to the head's gate", "E|∂L/∂ξ_h|",
                michel, maskOptions, checkMaskOptions,
                {.sums = magnitudeSums, .finish = meanMagnitude, .batches = magnitudeBatches}),
    gradientRow("head_gate_gradient", "head gate gradient",
                "Signed gradient of the loss with respect to the head's gate", "∂L/∂ξ_h", ownGradientMetric, {},
                nullptr, {.sums = only<HeadSum::gate>, .finish = meanGate}),
    gradientRow("head_fisher", "head Fisher information",
                "Mean squared gradient of a token's loss with respect to the head's gate", "mean_t (∂l_t/∂ξ_h)²",
                ownGradientMetric, squareOptions, checkSquareOptions,
                {.sums = only<HeadSum::gateSquare>, .finish = meanSquare, .drawings = signPasses}),
    slow(gradientRow("self_attribution", "self-attention attribution",
                     "Largest attribution of the right answer's probability to one attention probability of the head",
                     "E max_{ij} A_ij ∫ ∂F/∂A_ij(τA) dτ", haoPaper, attributionOptions, checkAttributionOptions,
                     {.work = selfAttribution, .passes = selfAttributionPasses})),
};

} // namespace

std::span<const MetricInfo> gradientMetrics() {
    return gradientTable;
}

BatchRule batchRuleOf(const MetricRequest& request) {
    const auto rule = std::get<GradientMetric>(request.info->computation).batches;
    return rule ? rule(request) : BatchRule{};
}

namespace {

/// The option `scalarisation`; "auto" for metrics without it.
std::string optionOf(const MetricRequest& request) {
    const std::string option = request.option("scalarisation");
    return option.empty() ? "auto" : option;
}

bool isOfLoss(const MetricRequest& request) {
    return std::get<GradientMetric>(request.info->computation).isOfLoss;
}

/// Draws +1 or -1 for each target of a sequence. The signs do not depend on the batch that the sequence is in.
class Signs {
public:
    Signs(std::size_t sequence, int drawing)
        : m_random(std::uint64_t{sequence} * 1000003 + static_cast<std::uint64_t>(drawing)) {
        m_random.discard(8);
    }
    float next() { return m_random() >> 63 ? 1.F : -1.F; }

private:
    std::mt19937_64 m_random;
};

} // namespace

GradientScalars::GradientScalars(const Model& model, std::span<const TokenSequence> sequences,
                                 std::span<const int> labels)
    : m_sequences(sequences)
    , m_labels(labels)
    , m_isDecoder(model.spec().family == Family::decoder)
    , m_hasClassifier(model.has(-1, WeightName::classifier))
    , m_path(model.card().path) {
    if (!labels.empty() && labels.size() != sequences.size())
        throw Error(fmt::format("{} labels do not go with {} texts", labels.size(), sequences.size()));
}

int GradientScalars::targets(std::size_t sequence) const {
    return m_isDecoder ? static_cast<int>(m_sequences[sequence].ids.size()) - 1 : 1;
}

Scalarisation GradientScalars::own(const MetricRequest& request) const {
    if (m_isDecoder)
        return Scalarisation::taskLoss;
    if (!m_hasClassifier)
        return Scalarisation::pooledNorm;
    const bool ofLosses = isOfLoss(request);
    return ofLosses && hasTargets() ? Scalarisation::taskLoss : Scalarisation::logitNorm;
}

bool GradientScalars::standsIn(const MetricRequest& request) const {
    return optionOf(request) == "auto" && isOfLoss(request) && !hasTargets();
}

Scalarisation GradientScalars::scalarisation(const MetricRequest& request) const {
    const std::string option = optionOf(request);
    if (option == "auto")
        return own(request);
    const auto refuse = [&](const std::string& what, const char* hint) {
        throw UsageError(fmt::format("scalarisation={} {}", option, what), std::string(request.info->id), hint);
    };
    if (option == "pooled_norm") {
        if (m_isDecoder)
            refuse("is for encoders: a decoder has no pooled output", "");
        return Scalarisation::pooledNorm;
    }
    if (!m_isDecoder && !m_hasClassifier)
        refuse("needs a classifier, and this model has none", "scalarisation=pooled_norm needs none");
    if (option == "logit_norm")
        return Scalarisation::logitNorm;
    if (!hasTargets())
        refuse("needs the label of every text", "Name a task of labelled texts: --task FILE --format classification");
    return option == "task_loss" ? Scalarisation::taskLoss : Scalarisation::goldLogProb;
}

BackwardScalar GradientScalars::scalar(const ScalarChoice& choice, const Batch& batch,
                                       std::span<const std::size_t> sequences) const {
    BackwardScalar scalar{choice.of, {}, {}};
    if (choice.of == Scalarisation::logitNorm || choice.of == Scalarisation::pooledNorm)
        return scalar;
    if (m_isDecoder) {
        decoderTargets(choice, batch, sequences, scalar);
        return scalar;
    }
    for (const std::size_t sequence : sequences) {
        scalar.targets.push_back(m_labels[sequence]);
        scalar.weights.push_back(choice.signs ? Signs(sequence, *choice.signs).next() : 1.F);
    }
    return scalar;
}

void GradientScalars::decoderTargets(const ScalarChoice& choice, const Batch& batch,
                                     std::span<const std::size_t> sequences, BackwardScalar& scalar) const {
    scalar.targets.assign(static_cast<std::size_t>(batch.tokens()), -1);
    scalar.weights.assign(scalar.targets.size(), 0);
    for (std::size_t row = 0; row < sequences.size(); ++row) {
        const std::vector<int>& ids = m_sequences[sequences[row]].ids;
        const bool isMean = choice.of == Scalarisation::taskLoss && !choice.signs;
        const float share = isMean ? 1.F / static_cast<float>(std::max(1, targets(sequences[row]))) : 1.F;
        Signs signs(sequences[row], choice.signs.value_or(0));
        for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
            const std::size_t at = row * static_cast<std::size_t>(batch.positions) + i;
            scalar.targets[at] = ids[i + 1];
            scalar.weights[at] = choice.signs ? signs.next() : share;
        }
    }
}

} // namespace secateur
