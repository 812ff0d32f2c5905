#include "analysis/metrics/gate_gradients.h"

#include "analysis/metrics/gradient_sums.h"
#include "analysis/running/runner_results.h"

#include <ATen/ATen.h>

#include <map>
#include <utility>

namespace secateur {

namespace {

bool stands(const LayerSpec& spec, const LayerMask& mask, Gate::Of of) {
    switch (of) {
    case Gate::Of::attention:
        return mask.block && mask.attention != AttentionCut::drop && spec.attention != AttentionKind::none;
    case Gate::Of::mlp:
        return mask.keptNeurons() > 0;
    default:
        return mask.block;
    }
}

/// sum_t <value_t, gradient_t> for each row, float64: the gradient of a gate on `value`.
at::Tensor gateGradient(const at::Tensor& value, const at::Tensor& gradient) {
    return (value * gradient).sum({1, 2}, false, at::kDouble).to(at::kCPU).contiguous();
}

void addColumn(const at::Tensor& values, std::size_t gate, Matrix& gradients) {
    for (std::size_t row = 0; row < gradients.rows(); ++row)
        gradients(row, gate) += values.data_ptr<double>()[row];
}

} // namespace

Gates::Gates(const ModelSpec& spec, const PruningMask& mask, GateKinds kinds)
    : m_places(spec.layers.size()) {
    if (kinds.heads)
        number(spec, mask, Gate::Of::head);
    if (kinds.attention)
        number(spec, mask, Gate::Of::attention);
    if (kinds.mlps)
        number(spec, mask, Gate::Of::mlp);
    if (kinds.blocks)
        number(spec, mask, Gate::Of::block);
}

void Gates::number(const ModelSpec& spec, const PruningMask& mask, Gate::Of of) {
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        const LayerSpec& own = spec.layers[static_cast<std::size_t>(layer)];
        const int first = mask.tiedTo(layer).front();
        Places& places = m_places[static_cast<std::size_t>(layer)];
        const Places& shared = m_places[static_cast<std::size_t>(first)];
        if (of == Gate::Of::head) {
            const auto kept = KeptUnits(own, mask.layer(layer)).heads;
            for (std::size_t i = 0; i < kept.size(); ++i) {
                places.heads.push_back(first == layer ? m_gates.size() : shared.heads[i]);
                if (first == layer)
                    m_gates.push_back({of, layer, static_cast<int>(kept[i])});
            }
            continue;
        }
        const auto place = of == Gate::Of::attention ? &Places::attention
                           : of == Gate::Of::mlp     ? &Places::mlp
                                                     : &Places::block;
        if (!stands(own, mask.layer(layer), of))
            continue;
        places.*place = first == layer ? std::ssize(m_gates) : shared.*place;
        if (first == layer)
            m_gates.push_back({of, layer});
    }
}

std::vector<Tap> Gates::taps(int layer) const {
    const Places& places = m_places[static_cast<std::size_t>(layer)];
    std::vector<Tap> taps;
    if (!places.heads.empty())
        taps.push_back(Tap::context);
    if (places.attention >= 0)
        taps.push_back(Tap::attentionUpdate);
    if (places.mlp >= 0)
        taps.push_back(Tap::mlpUpdate);
    if (places.block >= 0)
        taps.push_back(Tap::output);
    return taps;
}

void Gates::read(const LayerBackward& backward, Matrix& gradients) const {
    const Places& places = m_places[static_cast<std::size_t>(backward.layer)];
    const auto& taps = backward.gradients.taps;
    if (const auto found = taps.find(Tap::context); found != taps.end() && !places.heads.empty()) {
        const at::Tensor heads = tokenGates(found->second).sum(1); // [rows, heads]
        for (std::size_t i = 0; i < places.heads.size(); ++i)
            addColumn(heads.select(1, static_cast<std::int64_t>(i)).contiguous(), places.heads[i], gradients);
    }
    const auto addUpdate = [&](Tap tap, std::ptrdiff_t place) {
        const auto found = taps.find(tap);
        if (place >= 0 && found != taps.end() && found->second.gradient.defined())
            addColumn(gateGradient(found->second.value, found->second.gradient), static_cast<std::size_t>(place),
                      gradients);
    };
    addUpdate(Tap::attentionUpdate, places.attention);
    addUpdate(Tap::mlpUpdate, places.mlp);
    if (places.block >= 0)
        addColumn(gateGradient(taps.at(Tap::output).value - backward.input, backward.dOutput),
                  static_cast<std::size_t>(places.block), gradients);
}

void gateGradients(const Model& model, const Plan& plan, std::span<const Batch> batches, const Gates& gates,
                   const std::function<std::vector<BackwardScalar>(std::size_t batch)>& scalars, const GateSink& sink,
                   const Progress& progress, const BackwardMemory& memory) {
    std::map<std::pair<std::size_t, std::size_t>, Matrix> open; // by batch and pass
    BackwardSteps steps;
    steps.scalars = scalars;
    steps.taps = [&](int layer, std::size_t) { return gates.taps(layer); };
    steps.pulled = [&](const LayerBackward& backward) {
        const auto rows = static_cast<std::size_t>(batches[backward.batch].rows);
        const auto [own, isNew] =
            open.try_emplace({backward.batch, backward.pass}, Matrix(rows, gates.all().size(), 0));
        gates.read(backward, own->second);
    };
    steps.finished = [&](std::size_t, std::size_t) {
        for (const auto& [place, gradients] : open)
            sink(place.first, place.second, gradients);
        open.clear();
    };
    walkBackward(model, plan, batches, steps, memory, progress);
}

} // namespace secateur
