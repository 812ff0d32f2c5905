#include "analysis/training/trained_tensors.h"

#include "analysis/base/error.h"
#include "analysis/model/kernels.h"
#include "analysis/training/trained_compensation.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace secateur {

namespace {

constexpr double beta1 = 0.9;
constexpr double beta2 = 0.999;
constexpr double epsilon = 1e-8;

/// Uniform numbers in [-bound, bound). The standard library's distributions differ between platforms.
at::Tensor uniform(std::int64_t rows, std::int64_t columns, double bound, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    at::Tensor numbers = at::empty({rows, columns}, at::kFloat);
    float* to = numbers.data_ptr<float>();
    for (std::int64_t i = 0; i < numbers.numel(); ++i)
        to[i] = static_cast<float>((static_cast<double>(random() >> 11) * 0x1p-53 * 2 - 1) * bound);
    return numbers;
}

/// Whether an update of a projection would change the output of a layer under a mask.
bool hasEffect(WeightName name, const LayerMask& mask, const LayerSpec& spec) {
    using enum WeightName;
    if (name == gate || name == up || name == down)
        return !dropsMlp(mask) && mask.keptNeurons() > 0;
    if (dropsAttention(mask) || (mask.keptHeads() == 0 && spec.heads > 0))
        return false;
    const bool isBypassed = mask.attention == AttentionCut::bypassQk || spec.attention == AttentionKind::valueOnly;
    return !isBypassed || (name != query && name != key);
}

/// Whether a mask has weights in place of a projection's. An update that is merged into the model would not change
/// them.
bool isReplaced(WeightName name, const LayerMask& mask) {
    const LayerCompensation& own = compensationOf(mask);
    return (name == WeightName::output && own.outputWeight) || (name == WeightName::down && own.downWeight);
}

/// Sets the columns of cut heads or neurons to 0. @param a [rank, in]
void clearCutColumns(at::Tensor& a, WeightName name, const LayerMask& mask) {
    const std::vector<bool>& kept = name == WeightName::output ? mask.heads : mask.neurons;
    if ((name != WeightName::output && name != WeightName::down) || kept.empty())
        return;
    const std::int64_t width = a.size(1) / std::ssize(kept);
    for (std::size_t unit = 0; unit < kept.size(); ++unit)
        if (!kept[unit])
            a.narrow(1, static_cast<std::int64_t>(unit) * width, width).zero_();
}

/// The gradient of a part of a weight; undefined if there is none.
at::Tensor gradientOf(const AdapterGradients& gradients, WeightName name, TrainedPart part) {
    const auto in = [name](const std::map<WeightName, at::Tensor>& tensors) {
        const auto found = tensors.find(name);
        return found == tensors.end() ? at::Tensor() : found->second;
    };
    switch (part) {
    case TrainedPart::weight:
        return in(gradients.weights);
    case TrainedPart::factors:
        return in(gradients.factors);
    case TrainedPart::bias:
        return in(gradients.biases);
    case TrainedPart::a:
    case TrainedPart::b:
        break;
    }
    const auto found = gradients.updates.find(name);
    if (found == gradients.updates.end())
        return {};
    return part == TrainedPart::a ? found->second.a : found->second.b;
}

std::vector<float> numbersOf(const at::Tensor& tensor) {
    const at::Tensor all = tensor.detach().to(at::kCPU).contiguous();
    return {all.data_ptr<float>(), all.data_ptr<float>() + all.numel()};
}

} // namespace

TrainedTensors::TrainedTensors(const Model& model, const PruningMask& mask, const TrainingSettings& settings)
    : m_options(at::device(at::Device(model.kernels().device())).dtype(at::kFloat)) {
    for (int layer = 0; layer < model.spec().layerCount(); ++layer)
        m_first.push_back(model.spec().firstSharing(layer));
    addUpdates(model, mask, settings);
    addWeights(model, mask, settings);
    if (settings.trainsCompensation)
        addCompensation(model, mask);
    if (m_entries.empty())
        throw Error("There is nothing to train: the mask cuts all that would be trained, or the model does not have it",
                    model.card().path);
    m_training->dropout = settings.adapter.dropout;
}

void TrainedTensors::addUpdates(const Model& model, const PruningMask& mask, const TrainingSettings& settings) {
    const ModelSpec& spec = model.spec();
    const int rank = settings.adapter.rank;
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        if (m_first[static_cast<std::size_t>(layer)] != layer)
            continue;
        for (const WeightName name : settings.targets) {
            if (!canHaveUpdate(name) || !model.has(layer, name) || isReplaced(name, mask.layer(layer)) ||
                !hasEffect(name, mask.layer(layer), spec.layers[static_cast<std::size_t>(layer)]))
                continue;
            const std::vector<std::int64_t> shape = expectedShape(spec, layer, name);
            const auto seed = static_cast<std::uint64_t>(settings.seed) * 1000003 +
                              static_cast<std::uint64_t>(layer) * weightNameCount + static_cast<std::uint64_t>(name);
            at::Tensor a = uniform(rank, shape[1], 1 / std::sqrt(static_cast<double>(shape[1])), seed);
            clearCutColumns(a, name, mask.layer(layer));
            const WeightPlace place{layer, name};
            LowRankTensors update;
            update.scale = settings.adapter.alpha / rank;
            update.a = addTensor(place, TrainedPart::a, a, true);
            update.b = addTensor(place, TrainedPart::b, at::zeros({shape[0], rank}), true);
            m_training->updates[place] = update;
            m_scoring->updates[place] = update;
        }
    }
}

void TrainedTensors::addWeights(const Model& model, const PruningMask& mask, const TrainingSettings& settings) {
    using enum WeightName;
    const auto add = [&](int layer, WeightName name, bool decays) {
        if (!model.has(layer, name))
            return;
        const WeightPlace place{layer, name};
        const at::Tensor own = addTensor(place, TrainedPart::weight, model.tensor(layer, name).to(at::kFloat), decays);
        m_training->weights[place] = own;
        m_scoring->weights[place] = own;
    };
    if (settings.trainsNorms) {
        constexpr std::array ofLayer{attentionNorm,     attentionNormBias,     queryNorm, keyNorm,
                                     attentionPostNorm, attentionPostNormBias, mlpNorm,   mlpNormBias,
                                     mlpPostNorm,       mlpPostNormBias};
        for (int layer = 0; layer < model.spec().layerCount(); ++layer)
            if (m_first[static_cast<std::size_t>(layer)] == layer && mask.layer(layer).block)
                for (const WeightName name : ofLayer)
                    add(layer, name, false);
        add(-1, finalNorm, false);
        add(-1, finalNormBias, false);
    }
    if (settings.trainsHead) {
        for (const WeightName name : {classifierDense, classifier})
            add(-1, name, true);
        for (const WeightName name : {classifierDenseBias, classifierBias})
            add(-1, name, false);
        if (!m_training->weights.contains({-1, classifier}))
            throw Error("has no classifier to train", model.card().path);
    }
}

void TrainedTensors::addCompensation(const Model& model, const PruningMask& mask) {
    using enum WeightName;
    const ModelSpec& spec = model.spec();
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        const LayerSpec& shape = spec.layers[static_cast<std::size_t>(layer)];
        const LayerMask& own = mask.layer(layer);
        const LayerCompensation& begin = compensationOf(own);
        const auto isCompensated = [&](WeightName name) {
            return m_first[static_cast<std::size_t>(layer)] == layer && model.has(layer, name) &&
                   hasEffect(name, own, shape);
        };
        if (isCompensated(output))
            addCompensation({layer, output}, shape.attention == AttentionKind::linear ? 0 : own.heads.size(),
                            begin.headScale, begin.attentionBias, spec.hidden);
        if (isCompensated(down))
            addCompensation({layer, down}, own.neurons.size(), begin.neuronScale, begin.mlpBias, spec.hidden);
    }
}

/// @param units number of factors; 0 = none @param factors empty = 1 @param bias empty = 0
void TrainedTensors::addCompensation(const WeightPlace& place, std::size_t units, const std::vector<float>& factors,
                                     const std::vector<float>& bias, int hidden) {
    const auto add = [&](TrainedPart part, const std::vector<float>& first, std::int64_t size, float usual) {
        const at::Tensor values = first.empty() ? at::full({size}, usual) : at::tensor(first);
        const auto of = part == TrainedPart::factors ? &PlanAdapters::factors : &PlanAdapters::biases;
        const at::Tensor own = addTensor(place, part, values, false);
        ((*m_training).*of)[place] = own;
        ((*m_scoring).*of)[place] = own;
    };
    if (units > 0)
        add(TrainedPart::factors, factors, static_cast<std::int64_t>(units), 1);
    add(TrainedPart::bias, bias, hidden, 0);
}

PruningMask TrainedTensors::maskFor(PruningMask mask) const {
    for (const auto& [place, _] : m_training->biases)
        mask = withoutFactorsAndBias(std::move(mask), place);
    return mask;
}

at::Tensor TrainedTensors::addTensor(const WeightPlace& place, TrainedPart part, const at::Tensor& values,
                                     bool decays) {
    const at::Tensor own = values.to(m_options).clone().contiguous().requires_grad_(true);
    m_entries.push_back({place, part, own, at::zeros_like(own).detach(), at::zeros_like(own).detach(),
                         at::zeros_like(own).detach(), decays});
    return own;
}

void TrainedTensors::add(int layer, const AdapterGradients& gradients) {
    const int first = layer < 0 ? -1 : m_first[static_cast<std::size_t>(layer)];
    for (Entry& entry : m_entries) {
        if (entry.place.first != first)
            continue;
        if (const at::Tensor own = gradientOf(gradients, entry.place.second, entry.part); own.defined())
            entry.gradient.add_(own);
    }
}

double TrainedTensors::gradientNorm() const {
    double squares = 0;
    for (const Entry& entry : m_entries)
        squares += entry.gradient.square().sum(at::kDouble).item<double>();
    return std::sqrt(squares);
}

// As torch.optim.AdamW and torch.nn.utils.clip_grad_norm_ compute it.
double TrainedTensors::update(const TrainingSettings& settings, double learningRate, std::int64_t step) {
    const double norm = gradientNorm();
    const double factor = settings.clipNorm > 0 ? std::min(1.0, settings.clipNorm / (norm + 1e-6)) : 1;
    const double correction1 = 1 - std::pow(beta1, static_cast<double>(step + 1));
    const double correction2 = std::sqrt(1 - std::pow(beta2, static_cast<double>(step + 1)));
    for (Entry& entry : m_entries) {
        at::Tensor values = entry.values.detach();
        const at::Tensor gradient = factor == 1 ? entry.gradient : entry.gradient.mul_(factor);
        if (entry.decays && settings.weightDecay > 0)
            values.mul_(1 - learningRate * settings.weightDecay);
        entry.firstMoment.lerp_(gradient, 1 - beta1);
        entry.secondMoment.mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
        const at::Tensor scale = entry.secondMoment.sqrt().div_(correction2).add_(epsilon);
        values.addcdiv_(entry.firstMoment, scale, -learningRate / correction1);
    }
    forget();
    return norm;
}

void TrainedTensors::forget() {
    for (Entry& entry : m_entries)
        entry.gradient.zero_();
}

std::vector<TrainedTensor> TrainedTensors::values() const {
    std::vector<TrainedTensor> all;
    for (const Entry& entry : m_entries)
        all.push_back({entry.place, entry.part, numbersOf(entry.values), numbersOf(entry.firstMoment),
                       numbersOf(entry.secondMoment)});
    return all;
}

void TrainedTensors::setValues(const std::vector<TrainedTensor>& tensors) {
    const auto fits = [](const Entry& entry, const TrainedTensor& tensor) {
        const auto count = static_cast<std::size_t>(entry.values.numel());
        return entry.place == tensor.place && entry.part == tensor.part && tensor.values.size() == count &&
               tensor.firstMoment.size() == count && tensor.secondMoment.size() == count;
    };
    if (!std::ranges::equal(m_entries, tensors, fits))
        throw Error("The state of the training belongs to another model, mask or choice of weights");
    const auto copy = [](const at::Tensor& to, const std::vector<float>& numbers) {
        to.detach().copy_(at::tensor(numbers).view(to.sizes()));
    };
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        copy(m_entries[i].values, tensors[i].values);
        copy(m_entries[i].firstMoment, tensors[i].firstMoment);
        copy(m_entries[i].secondMoment, tensors[i].secondMoment);
    }
}

std::int64_t TrainedTensors::count() const {
    std::int64_t numbers = 0;
    for (const Entry& entry : m_entries)
        numbers += entry.values.numel();
    return numbers;
}

int TrainedTensors::lowestLayer() const {
    int lowest = static_cast<int>(m_first.size());
    for (const Entry& entry : m_entries)
        if (entry.place.first >= 0)
            lowest = std::min(lowest, entry.place.first);
    return lowest;
}

} // namespace secateur
