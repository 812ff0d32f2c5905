#include "analysis/prediction/prediction.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/model/far_model.h"
#include "analysis/model/kernels.h"
#include "analysis/running/runner.h"
#include "analysis/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace secateur {

namespace {

std::size_t number(Gate::Of of) {
    return static_cast<std::size_t>(of);
}

bool anyCut(const std::vector<bool>& kept) {
    return std::ranges::find(kept, false) != kept.end();
}

/// The unit whose ablation measures the effect of closing this kind of gate alone. Empty for bypasses.
std::optional<CutUnit> ablatedUnit(Gate::Of of) {
    constexpr std::array units{CutUnit::head, CutUnit::attention, CutUnit::mlp, CutUnit::block};
    return number(of) < units.size() ? std::optional(units[number(of)]) : std::nullopt;
}

bool isAblationOfLoss(const MetricResult& result) {
    return std::holds_alternative<AblationMetric>(result.request.info->computation) &&
           result.measurement.maskDigest == "dense" && !result.request.options.contains("of");
}

/// For each gate, the measured change of the loss in nats if only this gate is closed; NaN = not measured.
std::vector<double> singlesOf(const Session& session, const GateEffects& effects) {
    std::vector<double> singles(effects.gates.size(), std::numeric_limits<double>::quiet_NaN());
    for (const MetricResult& result : session.results)
        for (std::size_t gate = 0; isAblationOfLoss(result) && gate < singles.size(); ++gate) {
            const Gate& own = effects.gates[gate];
            const auto layer = static_cast<std::size_t>(own.layer);
            const auto column = own.head < 0 ? std::size_t{0} : static_cast<std::size_t>(own.head);
            const bool isOfGate = ablatedUnit(own.of) && result.request.info->ranks == ablatedUnit(own.of);
            if (!isOfGate || layer >= result.values.rows() || column >= result.values.columns())
                continue;
            const double value = result.values(layer, column);
            if (std::isfinite(value) && result.errorAt(layer, column) == 0) // screened values have errors
                singles[gate] = value;
        }
    return singles;
}

} // namespace

Predictor::Predictor(const ModelSpec& spec, std::shared_ptr<const PredictionBasis> basis, std::vector<double> singles)
    : m_spec(spec)
    , m_basis(std::move(basis))
    , m_singles(std::move(singles))
    , m_places(spec.layers.size()) {
    const GateEffects& effects = m_basis->effects;
    const bool isWhole =
        effects.slopes.size() == effects.gates.size() && effects.factors.columns() == effects.gates.size() &&
        effects.neuronSlopes.rows() == spec.layers.size() && effects.neuronFisher.rows() == spec.layers.size() &&
        effects.neuronFisher.columns() == effects.neuronSlopes.columns();
    if (!isWhole || (!m_singles.empty() && m_singles.size() != effects.gates.size()))
        throw Error("The gradients for predictions belong to another model");
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        m_places[static_cast<std::size_t>(layer)].heads.assign(
            static_cast<std::size_t>(spec.layers[static_cast<std::size_t>(layer)].heads), -1);
    for (std::size_t gate = 0; gate < effects.gates.size(); ++gate) {
        const Gate& own = effects.gates[gate];
        Places& places = m_places.at(static_cast<std::size_t>(own.layer));
        (own.of == Gate::Of::head ? places.heads.at(static_cast<std::size_t>(own.head))
                                  : places.others[number(own.of)]) = static_cast<std::ptrdiff_t>(gate);
        m_diagonal.push_back(effects.fisher(gate, gate));
    }
}

double Predictor::ownEstimate(std::size_t gate) const {
    return m_diagonal[gate] / 2 - m_basis->effects.slopes[gate];
}

void Predictor::close(int layer, Gate::Of of, std::ptrdiff_t place, Cuts& cuts) const {
    if (place < 0) {
        cuts.refusal = fmt::format("there are no gradients for the cut units of layer {}", layer);
        return;
    }
    const auto gate = static_cast<std::size_t>(place);
    cuts.gates[gate] = 1;
    cuts.sizes[number(of)] += m_diagonal[gate] / 2;
    if (!m_singles.empty() && std::isfinite(m_singles[gate]))
        cuts.replaced += m_singles[gate] - ownEstimate(gate);
}

void Predictor::cutHeads(int layer, const LayerMask& mask, Cuts& cuts) const {
    const Places& places = m_places[static_cast<std::size_t>(layer)];
    for (std::size_t head = 0; head < mask.heads.size(); ++head)
        if (!mask.heads[head])
            close(layer, Gate::Of::head, places.heads[head], cuts);
}

void Predictor::cutNeurons(int layer, const LayerMask& mask, Cuts& cuts) const {
    const GateEffects& effects = m_basis->effects;
    const auto row = static_cast<std::size_t>(layer);
    for (std::size_t neuron = 0; neuron < mask.neurons.size(); ++neuron)
        if (!mask.neurons[neuron]) {
            cuts.neuronSlope += effects.neuronSlopes(row, neuron);
            cuts.neuronFisher += effects.neuronFisher(row, neuron);
        }
}

void Predictor::bypass(int layer, double alpha, Cuts& cuts) const {
    const Places& places = m_places[static_cast<std::size_t>(layer)];
    const std::ptrdiff_t closed = places.others[number(Gate::Of::attention)];
    const std::ptrdiff_t opened = places.others[number(Gate::Of::bypass)];
    if (closed < 0 || opened < 0) {
        cuts.refusal = fmt::format("there are no gradients for a bypass of queries and keys in layer {}", layer);
        return;
    }
    const auto from = static_cast<std::size_t>(closed);
    const auto to = static_cast<std::size_t>(opened);
    cuts.gates[from] = 1;
    cuts.gates[to] = -alpha;
    cuts.sizes[number(Gate::Of::bypass)] +=
        (m_diagonal[from] + alpha * alpha * m_diagonal[to]) / 2 - alpha * m_basis->effects.fisher(from, to);
}

void Predictor::cutLayer(int layer, const LayerMask& mask, Cuts& cuts) const {
    const LayerSpec& own = m_spec.layers[static_cast<std::size_t>(layer)];
    const Places& places = m_places[static_cast<std::size_t>(layer)];
    const auto closeWhole = [&](Gate::Of of) { close(layer, of, places.others[number(of)], cuts); };
    const bool hasAttention = own.attention != AttentionKind::none;
    const bool bypasses = mask.attention == AttentionCut::bypassQk && mask.alpha != 0 && mask.keptHeads() > 0;
    const bool attentionGoes = hasAttention && !bypasses &&
                               (mask.attention != AttentionCut::keep || (!mask.heads.empty() && mask.keptHeads() == 0));
    const bool mlpGoes = own.ffn > 0 && mask.keptNeurons() == 0;
    if (!mask.block || (attentionGoes && mlpGoes))
        return closeWhole(Gate::Of::block);
    if (attentionGoes)
        closeWhole(Gate::Of::attention);
    else if (bypasses && anyCut(mask.heads))
        cuts.refusal = fmt::format("layer {} is bypassed and has cut heads", layer);
    else if (bypasses)
        bypass(layer, mask.alpha, cuts);
    else
        cutHeads(layer, mask, cuts);
    if (mlpGoes)
        closeWhole(Gate::Of::mlp);
    else
        cutNeurons(layer, mask, cuts);
}

Predictor::Cuts Predictor::cutsOf(const PruningMask& mask) const {
    Cuts cuts;
    if (mask.architecture() != m_spec.architecture || mask.structure() != m_spec.structure()) {
        cuts.refusal = "the mask is for another model";
        return cuts;
    }
    if (mask.isCompensated()) {
        cuts.refusal = "the mask has a compensation, whose effect is not predicted";
        return cuts;
    }
    cuts.gates.assign(m_basis->effects.gates.size(), 0);
    for (int layer = 0; layer < mask.layerCount(); ++layer)
        if (!mask.layer(layer).keepsAll() && mask.tiedTo(layer).front() == layer)
            cutLayer(layer, mask.layer(layer), cuts);
    const double neurons = cuts.neuronFisher / 2 - cuts.neuronSlope;
    cuts.sizes[number(Gate::Of::mlp)] += cuts.neuronFisher / 2;
    if (cuts.refusal.empty() && !std::isfinite(m_basis->effects.change(cuts.gates) + neurons + cuts.replaced))
        cuts.refusal = "the estimate is not finite";
    return cuts;
}

Predictor::Cuts Predictor::checked(const PruningMask& mask) const {
    Cuts cuts = cutsOf(mask);
    if (!cuts.refusal.empty())
        throw Error(cuts.refusal);
    return cuts;
}

std::string Predictor::refusal(const PruningMask& mask) const {
    return cutsOf(mask).refusal;
}

RawChange Predictor::raw(const PruningMask& mask) const {
    const Cuts cuts = checked(mask);
    RawChange change;
    change.nats = m_basis->effects.change(cuts.gates) + cuts.neuronFisher / 2 - cuts.neuronSlope + cuts.replaced;
    double all = 0;
    for (const double size : cuts.sizes)
        all += std::max(0.0, size);
    for (std::size_t kind = 0; kind < cutKinds && all > 0; ++kind)
        change.shares[kind] = std::max(0.0, cuts.sizes[kind]) / all;
    return change;
}

double Predictor::firstOrder(const PruningMask& mask) const {
    const Cuts cuts = checked(mask);
    double change = -cuts.neuronSlope;
    for (std::size_t gate = 0; gate < cuts.gates.size(); ++gate)
        change -= m_basis->effects.slopes[gate] * cuts.gates[gate];
    return change;
}

std::optional<Prediction> Predictor::predict(const PruningMask& mask) const {
    if (mask.keepsAll())
        return Prediction{};
    if (!refusal(mask).empty())
        return std::nullopt;
    return m_scale.predict(raw(mask));
}

void Predictor::learn(const PruningMask& mask, double measuredNats) {
    if (!mask.keepsAll() && refusal(mask).empty())
        m_scale.learn(raw(mask), measuredNats);
}

std::string predictionRefusal(const ModelSpec& spec) {
    return spec.family == Family::encoder ? "an encoder has no loss on a text without labels" : "";
}

std::shared_ptr<const PredictionBasis> predictionBasis(const Model& model, const EvaluationText& text,
                                                       const PredictionRules& rules, const Progress& progress) {
    if (const std::string refusal = predictionRefusal(model.spec()); !refusal.empty())
        throw Error("No prediction: " + refusal, model.card().path);
    if (const FarModel* far = farModel(model)) {
        const auto basis =
            far->result<std::shared_ptr<const PredictionBasis>>("prediction_basis", progress, text, rules);
        if (!basis)
            throw Error("A message lacks the gradients for predictions");
        Predictor(model.spec(), basis); // checks that the basis belongs to the model
        return basis;
    }
    const auto plan = model.runner().plan(PruningMask(model.spec()), ComputeType::float32);
    const std::vector<TokenSequence> sequences =
        shortSequences(text.scored.windows.sequences, rules.sequenceLength, rules.tokens);
    auto basis = std::make_shared<PredictionBasis>();
    basis->effects = gateEffects(model, {.plan = *plan, .sequences = sequences}, rules.passes, progress);
    basis->source = text.source;
    basis->digest = text.digest;
    basis->sequenceLength = rules.sequenceLength;
    basis->dtype = name(plan->type());
    basis->device = model.kernels().device();
    basis->created = utcNow();
    return basis;
}

std::optional<Predictor> predictorOf(const Session& session) {
    if (!session.prediction)
        return std::nullopt;
    Predictor predictor(session.model.spec, session.prediction, singlesOf(session, session.prediction->effects));
    for (const Evaluation& stored : session.evaluations) {
        const SessionMask* mask = session.mask(stored.mask.digest);
        if (!mask || stored.adapter.isPresent() || !stored.text ||
            stored.text->perplexity.rules.protocol != TextProtocol::tokenPpl)
            continue;
        const Evaluation evaluation = compared(session, stored);
        if (evaluation.text && evaluation.text->reference)
            predictor.learn(mask->record.mask, evaluation.text->reference->difference.nats);
    }
    return predictor;
}

} // namespace secateur
