#include "analysis/metrics/gradient_scalars.h"

#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>

namespace secateur {

namespace {

/// "auto" for metrics without the option.
std::string optionOf(const MetricRequest& request) {
    const std::string option = request.option("scalarisation");
    return option.empty() ? "auto" : option;
}

bool isOfLoss(const MetricRequest& request) {
    return std::get<GradientMetric>(request.info->computation).isOfLoss;
}

/// +1 or -1 for each target of a sequence, independent of the batch that it is in.
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
