#include "analysis/metrics/gate_effects.h"

#include "analysis/base/usage_error.h"
#include "analysis/metrics/gradient_metrics.h"
#include "analysis/metrics/gradient_walk.h"
#include "analysis/running/not_finite.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner_results.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace secateur {

namespace {

bool canBypass(const LayerSpec& spec, const LayerMask& mask) {
    return spec.attention == AttentionKind::full && mask.attention == AttentionCut::keep && mask.keptHeads() > 0;
}

/// A mask in which the attention of each layer is bypassed, if possible. The MLPs of these layers are dropped, because
/// the attention update does not need them.
PruningMask bypassing(const ModelSpec& spec, PruningMask mask) {
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        LayerMask own = mask.layer(layer);
        if (!canBypass(spec.layers[static_cast<std::size_t>(layer)], own))
            continue;
        own.attention = AttentionCut::bypassQk;
        own.alpha = 1;
        own.mlp = false;
        mask.setLayer(layer, own);
    }
    return mask;
}

class UpdateKeeper : public LayerObserver {
public:
    bool wants(int, Tap tap) const override { return tap == Tap::attentionUpdate; }
    void see(int, Tap, const at::Tensor& values) override { update = values; }
    at::Tensor update;
};

/// value * gradient, summed over tokens: [rows, columns] float64 on the CPU.
at::Tensor rowSums(const TapGradient& tap) {
    return (tap.value * tap.gradient).sum(1, false, at::kDouble).to(at::kCPU).contiguous();
}

class EffectsWalk {
public:
    EffectsWalk(const Model& model, const GradientRun& run, int passes, GateKinds kinds)
        : m_model(model)
        , m_run(run)
        , m_kinds(kinds)
        , m_mask(run.plan.mask())
        , m_scalars(model, run.sequences, run.labels)
        , m_batches(batchesOf(model, {}, run))
        , m_gates(model.spec(), m_mask, kinds)
        , m_bypassPlan(kinds.bypasses ? model.runner().plan(bypassing(model.spec(), m_mask), run.plan.type())
                                      : nullptr) {
        const ModelSpec& spec = model.spec();
        // Random signs separate the targets of a sequence. A classifier has only one target per sequence.
        m_effects.passes = spec.family == Family::decoder ? std::max(1, passes) : 0;
        m_effects.gates.assign(m_gates.all().begin(), m_gates.all().end());
        std::size_t widest = 0;
        for (int layer = 0; layer < spec.layerCount(); ++layer) {
            const LayerSpec& own = spec.layers[static_cast<std::size_t>(layer)];
            widest = std::max(widest, static_cast<std::size_t>(own.ffn));
            if (!kinds.bypasses || m_mask.tiedTo(layer).front() != layer || !canBypass(own, m_mask.layer(layer)))
                continue;
            m_bypassOf[layer] = m_effects.gates.size();
            m_effects.gates.push_back({Gate::Of::bypass, layer});
        }
        m_effects.slopes.assign(m_effects.gates.size(), 0);
        m_effects.factors = Matrix(run.sequences.size() * samplesOfSequence(), m_effects.gates.size(), 0);
        m_effects.neuronSlopes = Matrix(spec.layers.size(), widest);
        m_effects.neuronFisher = m_effects.neuronSlopes;
        for (std::size_t sequence = 0; sequence < run.sequences.size(); ++sequence)
            m_effects.targets += std::max(0, m_scalars.targets(sequence));
    }

    GateEffects run(const Progress& progress) {
        if (m_effects.targets == 0)
            throw Error("No text has a token that follows another: there is no loss to differentiate");
        BackwardSteps steps;
        steps.scalars = [&](std::size_t batch) { return scalars(batch); };
        steps.taps = [&](int layer, std::size_t) { return taps(layer); };
        steps.pulled = [&](const LayerBackward& backward) { read(backward); };
        steps.finished = [&](std::size_t, std::size_t) {
            for (const auto& [place, gradients] : m_open)
                add(place.first, place.second, gradients);
            m_open.clear();
        };
        walkBackward(m_model, m_run.plan, m_batches.batches, steps, m_run.memory, progress);
        finish();
        return std::move(m_effects);
    }

private:
    std::size_t samplesOfSequence() const { return static_cast<std::size_t>(std::max(1, m_effects.passes)); }
    bool isSample(std::size_t pass) const { return m_effects.passes == 0 || pass > 0; }

    std::vector<BackwardScalar> scalars(std::size_t batch) const {
        std::vector<BackwardScalar> all;
        const auto add = [&](const ScalarChoice& choice) {
            all.push_back(m_scalars.scalar(choice, m_batches.batches[batch], m_batches.sequences[batch]));
        };
        add({});
        for (int drawing = 0; drawing < m_effects.passes; ++drawing)
            add({Scalarisation::taskLoss, drawing});
        return all;
    }

    std::vector<Tap> taps(int layer) const {
        std::vector<Tap> taps = m_gates.taps(layer);
        if (m_bypassOf.contains(m_mask.tiedTo(layer).front()) && !m_kinds.attention)
            taps.push_back(Tap::attentionUpdate);
        if (m_kinds.neurons && m_mask.layer(layer).keptNeurons() > 0)
            taps.push_back(Tap::mlpHidden);
        return taps;
    }

    void read(const LayerBackward& backward) {
        const auto rows = static_cast<std::size_t>(m_batches.batches[backward.batch].rows);
        const auto [own, isNew] =
            m_open.try_emplace({backward.batch, backward.pass}, Matrix(rows, m_effects.gates.size(), 0));
        m_gates.read(backward, own->second);
        readBypass(backward, own->second);
        readNeurons(backward);
    }

    /// Adds the gradient of the gate of a bypass. All passes of a batch go through a layer one after another, so that
    /// the bypassed update is computed in the first pass and stored for the others.
    void readBypass(const LayerBackward& backward, Matrix& gradients) {
        const auto place = m_bypassOf.find(m_mask.tiedTo(backward.layer).front());
        const auto tap = backward.gradients.taps.find(Tap::attentionUpdate);
        if (place == m_bypassOf.end() || tap == backward.gradients.taps.end() || !tap->second.gradient.defined())
            return;
        if (backward.pass == 0) {
            UpdateKeeper keeper;
            m_model.runner().runLayer(*m_bypassPlan, backward.layer, backward.input, m_batches.batches[backward.batch],
                                      nullptr, &keeper);
            m_bypassed = keeper.update.reshape(backward.input.sizes());
        }
        const at::Tensor sums =
            (m_bypassed * tap->second.gradient).sum({1, 2}, false, at::kDouble).to(at::kCPU).contiguous();
        for (std::size_t row = 0; row < gradients.rows(); ++row)
            gradients(row, place->second) += sums.data_ptr<double>()[row];
    }

    void readNeurons(const LayerBackward& backward) {
        const auto tap = backward.gradients.taps.find(Tap::mlpHidden);
        if (tap == backward.gradients.taps.end() || !tap->second.gradient.defined())
            return;
        const int first = m_mask.tiedTo(backward.layer).front();
        at::Tensor& sums = m_openNeurons[{backward.batch, backward.pass, first}];
        const at::Tensor own = rowSums(tap->second);
        sums = sums.defined() ? sums + own : own;
        if (backward.layer != first) // other layers with the same weights follow
            return;
        addNeurons(backward.batch, backward.pass, first, sums);
        m_openNeurons.erase({backward.batch, backward.pass, first});
    }

    void addNeurons(std::size_t batch, std::size_t pass, int layer, const at::Tensor& sums) {
        const auto kept =
            KeptUnits(m_model.spec().layers[static_cast<std::size_t>(layer)], m_mask.layer(layer)).neurons;
        const auto addTo = [&](Matrix& matrix, const at::Tensor& values) {
            const std::span<double> row = matrix.row(static_cast<std::size_t>(layer));
            for (std::size_t i = 0; i < kept.size(); ++i)
                row[kept[i]] = (std::isnan(row[kept[i]]) ? 0 : row[kept[i]]) + values.data_ptr<double>()[i];
        };
        if (pass == 0)
            addTo(m_effects.neuronSlopes, at::mv(sums.t(), targetsOf(batch)));
        if (isSample(pass))
            addTo(m_effects.neuronFisher, sums.square().sum(0).contiguous());
    }

    /// Number of targets of each row, [rows] float64.
    at::Tensor targetsOf(std::size_t batch) const {
        std::vector<double> targets;
        for (const std::size_t sequence : m_batches.sequences[batch])
            targets.push_back(m_scalars.targets(sequence));
        return at::tensor(targets, at::kDouble);
    }

    void add(std::size_t batch, std::size_t pass, const Matrix& gradients) {
        const std::vector<std::size_t>& sequences = m_batches.sequences[batch];
        for (std::size_t row = 0; row < sequences.size(); ++row) {
            const std::span<const double> own = gradients.row(row);
            for (std::size_t gate = 0; pass == 0 && gate < own.size(); ++gate)
                m_effects.slopes[gate] += own[gate] * m_scalars.targets(sequences[row]); // the scalar is their mean
            if (isSample(pass))
                std::ranges::copy(
                    own,
                    m_effects.factors.row(sequences[row] * samplesOfSequence() + (pass == 0 ? 0 : pass - 1)).begin());
        }
    }

    void finish() {
        const auto targets = static_cast<double>(m_effects.targets);
        const double samples = targets * static_cast<double>(samplesOfSequence());
        const auto divide = [](std::span<double> values, double by) {
            for (double& value : values)
                value /= by;
        };
        divide(m_effects.slopes, targets);
        divide(m_effects.factors.values(), std::sqrt(samples));
        divide(m_effects.neuronSlopes.values(), targets);
        divide(m_effects.neuronFisher.values(), samples);
        const auto isFinite = [](double value) { return std::isfinite(value); };
        if (!std::ranges::all_of(m_effects.slopes, isFinite) ||
            !std::ranges::all_of(std::as_const(m_effects.factors).values(), isFinite))
            refuse();
    }

    [[noreturn]] void refuse() const {
        throw Error("has gradients that are not finite" + notFiniteClause(m_model, m_run.plan, m_batches.batches),
                    m_model.card().path);
    }

    const Model& m_model;
    const GradientRun& m_run;
    GateKinds m_kinds;
    const PruningMask& m_mask;
    GradientScalars m_scalars;
    PaddedBatches m_batches;
    Gates m_gates;
    std::shared_ptr<const Plan> m_bypassPlan;
    std::map<int, std::size_t> m_bypassOf; ///< index of a layer's bypass gate, by the first layer that shares weights
    GateEffects m_effects;
    std::map<std::pair<std::size_t, std::size_t>, Matrix> m_open;                  ///< by batch and pass
    std::map<std::tuple<std::size_t, std::size_t, int>, at::Tensor> m_openNeurons; ///< by batch, pass and layer
    at::Tensor m_bypassed; ///< attention update of the current layer under a bypass, for the current batch
};

} // namespace

double GateEffects::fisher(std::size_t u, std::size_t v) const {
    double sum = 0;
    for (std::size_t sample = 0; sample < factors.rows(); ++sample)
        sum += factors(sample, u) * factors(sample, v);
    return sum;
}

double GateEffects::change(std::span<const double> cuts) const {
    double change = 0;
    for (std::size_t gate = 0; gate < cuts.size(); ++gate)
        change -= slopes[gate] * cuts[gate];
    for (std::size_t sample = 0; sample < factors.rows(); ++sample) {
        const std::span<const double> row = factors.row(sample);
        double along = 0;
        for (std::size_t gate = 0; gate < cuts.size(); ++gate)
            along += row[gate] * cuts[gate];
        change += along * along / 2;
    }
    return change;
}

GateEffects gateEffects(const Model& model, const GradientRun& run, int passes, const Progress& progress,
                        GateKinds kinds) {
    if (model.spec().family == Family::encoder && run.labels.empty())
        throw UsageError("An encoder has a loss only on texts with labels", model.card().path);
    return EffectsWalk(model, run, passes, kinds).run(progress);
}

std::vector<TokenSequence> shortSequences(std::span<const TokenSequence> sequences, std::int64_t length,
                                          std::int64_t most) {
    constexpr std::size_t shortest = 16;
    std::vector<TokenSequence> pieces;
    auto left = static_cast<std::size_t>(most);
    for (const TokenSequence& sequence : sequences)
        for (std::size_t begin = 0; begin < sequence.ids.size() && left > 0;) {
            const std::size_t count = std::min({static_cast<std::size_t>(length), sequence.ids.size() - begin, left});
            if (count >= shortest || pieces.empty()) {
                const auto first = sequence.ids.begin() + static_cast<std::ptrdiff_t>(begin);
                TokenSequence& piece = pieces.emplace_back();
                piece.ids.assign(first, first + static_cast<std::ptrdiff_t>(count));
                piece.types.assign(count, 0);
            }
            begin += count;
            left -= count;
        }
    return pieces;
}

} // namespace secateur
