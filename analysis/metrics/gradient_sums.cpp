#include "analysis/metrics/gradient_sums.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace secateur {

namespace {

constexpr std::array projections{std::pair{Tap::query, HeadSum::queryNorm}, std::pair{Tap::key, HeadSum::keyNorm},
                                 std::pair{Tap::value, HeadSum::valueNorm}};
constexpr std::array ofGates{HeadSum::gate, HeadSum::gateSquare, HeadSum::gateMagnitude, HeadSum::tokenMagnitude,
                             HeadSum::batchMagnitude};

/// sum += values; an undefined sum counts as 0.
void addGradients(at::Tensor& sum, const at::Tensor& values) {
    if (sum.defined())
        sum.add_(values);
    else
        sum = values;
}

at::Tensor mergedRows(const at::Tensor& values) {
    return values.flatten(0, 1).unsqueeze(0);
}

constexpr std::int64_t mostElements = 1 << 24; ///< maximum size of a temporary tensor

/// Applies a function to a few rows at a time and joins the results. On the processor each thread works on different
/// rows, because the products for the heads of one row are too small to be divided among threads.
template <typename OfRows>
at::Tensor byRows(const at::Tensor& rows, std::int64_t elementsOfRow, const OfRows& ofRows) {
    const std::int64_t count = rows.size(0);
    const std::int64_t most = std::max<std::int64_t>(1, mostElements / std::max<std::int64_t>(1, elementsOfRow));
    const std::int64_t step = rows.device().is_cpu() ? 1 : std::min(most, count);
    std::vector<at::Tensor> parts(static_cast<std::size_t>((count + step - 1) / step));
    const auto take = [&](std::int64_t part) {
        parts[static_cast<std::size_t>(part)] = ofRows(part * step, std::min(step, count - part * step));
    };
    if (step > 1) {
        for (std::int64_t part = 0; part < std::ssize(parts); ++part)
            take(part);
        return at::cat(parts);
    }
    at::parallel_for(0, std::ssize(parts), 1, [&](std::int64_t begin, std::int64_t end) {
        const c10::NoGradGuard noGraph;
        for (std::int64_t part = begin; part < end; ++part)
            take(part);
    });
    return at::cat(parts);
}

} // namespace

bool GradientPass::wantsNorms() const {
    return std::ranges::any_of(projections, [&](const auto& own) { return wants(own.second); });
}

bool GradientPass::wantsGates() const {
    return std::ranges::any_of(ofGates, [&](HeadSum sum) { return wants(sum); });
}

void PassSums::add(const PassSums& other) {
    for (const auto& [sum, values] : other.heads) {
        const auto [own, isNew] = heads.try_emplace(sum, values);
        for (std::size_t i = 0; !isNew && i < values.values().size(); ++i)
            own->second.values()[i] += values.values()[i];
    }
    rows += other.rows;
    targets += other.targets;
    batches += other.batches;
}

void put(Packer& packer, const PassSums& sums) {
    packer.put(sums.heads.size());
    for (const auto& [sum, values] : sums.heads) {
        packer.put(sum);
        packer.put(values.rows());
        packer.put(values.columns());
        packer.put(values.values());
    }
    for (const double count : {sums.rows, sums.targets, sums.batches})
        packer.put(count);
}

void get(Unpacker& unpacker, PassSums& sums) {
    std::size_t count = 0;
    unpacker.get(count);
    for (; count > 0; --count) {
        HeadSum sum{};
        std::size_t rows = 0;
        std::size_t columns = 0;
        unpacker.get(sum);
        unpacker.get(rows);
        unpacker.get(columns);
        unpacker.get(sums.heads.try_emplace(sum, rows, columns).first->second.values());
    }
    for (double* number : {&sums.rows, &sums.targets, &sums.batches})
        unpacker.get(*number);
}

GradientSums::GradientSums(const Model& model, const Plan& plan, const PaddedBatches& batches,
                           const GradientScalars& scalars, std::span<const GradientPass> passes, bool mergesRows)
    : m_spec(model.spec())
    , m_mask(plan.mask())
    , m_batches(batches)
    , m_scalars(scalars)
    , m_passes(passes)
    , m_mergesRows(mergesRows)
    , m_pending(passes.size())
    , m_sums(passes.size()) {}

std::vector<Tap> GradientSums::taps(int layer, std::size_t pass) const {
    if (KeptUnits(m_spec.layers[static_cast<std::size_t>(layer)], m_mask.layer(layer)).heads.empty())
        return {};
    const GradientPass& own = m_passes[pass];
    std::vector<Tap> taps;
    if (own.wantsNorms())
        taps.push_back(Tap::attentionInput);
    for (const auto& [tap, sum] : projections)
        if (own.wants(sum))
            taps.push_back(tap);
    if (own.wantsGates())
        taps.push_back(Tap::context);
    if (own.wants(HeadSum::pairMagnitude))
        taps.push_back(Tap::attention);
    return taps;
}

void GradientSums::add(const LayerBackward& backward) {
    const auto tied = m_mask.tiedTo(backward.layer);
    const auto& taps = backward.gradients.taps;
    if (taps.empty())
        return;
    Open& open = m_open[{backward.batch, backward.pass}];
    addNorms(backward, tied.size() > 1, open);
    if (const auto context = taps.find(Tap::context); context != taps.end())
        addGradients(open.gates, tokenGates(context->second));
    if (const auto attention = taps.find(Tap::attention); attention != taps.end()) {
        const auto& [value, gradient] = attention->second;
        addGradients(open.pairs, (value * gradient).abs().sum({2, 3}, false, at::kDouble).to(at::kCPU));
    }
    if (tied.front() != backward.layer)
        return;
    close(backward.layer, backward.batch, backward.pass, open);
    m_open.erase({backward.batch, backward.pass});
}

void GradientSums::addNorms(const LayerBackward& backward, bool isShared, Open& open) const {
    const auto& taps = backward.gradients.taps;
    const auto read = taps.find(Tap::attentionInput);
    if (read == taps.end())
        return;
    const auto rowsOf = [&](const at::Tensor& values) { return m_mergesRows ? mergedRows(values) : values; };
    const at::Tensor input = rowsOf(read->second.value);
    std::optional<ProjectionNorms> norms;
    if (!isShared)
        norms.emplace(input);
    for (std::size_t i = 0; i < projections.size(); ++i) {
        const auto found = taps.find(projections[i].first);
        if (found == taps.end() || !found->second.gradient.defined())
            continue;
        const at::Tensor delta = rowsOf(found->second.gradient);
        if (isShared)
            addGradients(open.gradients[i], projectionGradients(delta, input));
        else
            open.squares[i] = norms->squares(delta);
    }
}

void GradientSums::close(int layer, std::size_t batch, std::size_t pass, const Open& open) {
    const GradientPass& own = m_passes[pass];
    for (std::size_t i = 0; i < projections.size(); ++i) {
        const at::Tensor squares = open.gradients[i].defined() ? squaredNorms(open.gradients[i]) : open.squares[i];
        if (squares.defined())
            put(layer, pass, projections[i].second, squares.sqrt());
    }
    if (open.gates.defined()) {
        const at::Tensor gates = open.gates.sum(1); // [rows, heads]
        const auto add = [&](HeadSum sum, const auto& values) {
            if (own.wants(sum))
                put(layer, pass, sum, values());
        };
        add(HeadSum::gate, [&] {
            std::vector<double> targets;
            for (const std::size_t sequence : m_batches.sequences[batch])
                targets.push_back(m_scalars.targets(sequence));
            return gates * at::tensor(targets, at::kDouble).unsqueeze(1);
        });
        add(HeadSum::gateSquare, [&] { return gates.square(); });
        add(HeadSum::gateMagnitude, [&] { return gates.abs(); });
        add(HeadSum::tokenMagnitude, [&] { return open.gates.abs().sum(1); });
        add(HeadSum::batchMagnitude, [&] { return gates.mean(0, true).abs(); });
    }
    if (open.pairs.defined())
        put(layer, pass, HeadSum::pairMagnitude, open.pairs);
}

/// Adds to a sum of a layer. @param values [rows, heads], which are summed over the rows
void GradientSums::put(int layer, std::size_t pass, HeadSum sum, const at::Tensor& values) {
    const auto row = static_cast<std::size_t>(layer);
    const auto kept = KeptUnits(m_spec.layers[row], m_mask.layer(layer)).heads;
    const at::Tensor summed = values.sum(0).contiguous();
    const auto [found, isNew] =
        m_pending[pass].heads.try_emplace(sum, m_spec.layers.size(), static_cast<std::size_t>(m_spec.maxHeads()), 0.0);
    for (std::size_t i = 0; i < kept.size(); ++i)
        found->second(row, kept[i]) += summed.data_ptr<double>()[i];
}

std::vector<PassSums> GradientSums::finish(std::size_t first, std::size_t end) {
    for (std::size_t pass = 0; pass < m_passes.size(); ++pass)
        for (std::size_t batch = first; batch < end; ++batch) {
            m_pending[pass].batches += 1;
            for (const std::size_t sequence : m_batches.sequences[batch]) {
                const int targets = m_scalars.targets(sequence);
                const Scalarisation of = m_passes[pass].choice.of;
                const bool ofAll = of == Scalarisation::logitNorm || of == Scalarisation::pooledNorm;
                m_pending[pass].targets += targets;
                m_pending[pass].rows += ofAll || targets > 0 ? 1 : 0;
            }
        }
    return std::exchange(m_pending, std::vector<PassSums>(m_passes.size()));
}

void GradientSums::add(const std::vector<PassSums>& sums) {
    for (std::size_t pass = 0; pass < m_sums.size(); ++pass)
        m_sums[pass].add(sums[pass]);
}

std::vector<double> GradientLayer::sums(HeadSum sum, std::size_t pass) const {
    const auto found = passes[pass]->heads.find(sum);
    std::vector<double> values;
    for (const std::size_t head : heads)
        values.push_back(found == passes[pass]->heads.end() ? 0 : found->second(row, head));
    return values;
}

NormForm fasterForm(std::int64_t positions, std::int64_t hidden) {
    return 4 * positions < hidden ? NormForm::tokens : NormForm::matrix;
}

// Products between tokens are in float64. For keys, the terms of G nearly cancel in the sum over tokens (a constant
// added to all keys has no effect), so that the sum of the products is far smaller than its terms.
ProjectionNorms::ProjectionNorms(const at::Tensor& input, std::optional<NormForm> form)
    : m_input(input) {
    if (form.value_or(fasterForm(input.size(1), input.size(2))) == NormForm::matrix)
        return;
    m_products = byRows(input, input.size(1) * input.size(1), [&](std::int64_t row, std::int64_t count) {
        const at::Tensor wide = input.narrow(0, row, count).to(at::kDouble);
        return at::bmm(wide, wide.transpose(1, 2));
    });
}

at::Tensor ProjectionNorms::squares(const at::Tensor& delta) const {
    const std::int64_t positions = delta.size(1);
    const std::int64_t heads = delta.size(2);
    if (!m_products.defined())
        return byRows(delta, heads * delta.size(3) * m_input.size(2), [&](std::int64_t row, std::int64_t count) {
            return squaredNorms(projectionGradients(delta.narrow(0, row, count), m_input.narrow(0, row, count)));
        });
    const at::Tensor squares = byRows(delta, heads * positions * positions, [&](std::int64_t row, std::int64_t count) {
        const at::Tensor own = delta.narrow(0, row, count).to(at::kDouble).transpose(1, 2).contiguous();
        const at::Tensor products = at::matmul(own, own.transpose(2, 3)); // [rows, heads, positions, positions]
        return products.mul_(m_products.narrow(0, row, count).unsqueeze(1)).sum({2, 3}).clamp_min(0);
    });
    return squares.to(at::kCPU);
}

at::Tensor projectionGradients(const at::Tensor& delta, const at::Tensor& input) {
    const at::Tensor flat = delta.to(at::kFloat).flatten(2); // [rows, positions, heads * headDim]
    return at::bmm(flat.transpose(1, 2), input.to(at::kFloat))
        .view({delta.size(0), delta.size(2), delta.size(3), input.size(2)});
}

at::Tensor squaredNorms(const at::Tensor& gradients) {
    return gradients.square().sum({2, 3}, false, at::kDouble).to(at::kCPU);
}

at::Tensor tokenGates(const TapGradient& context) {
    if (!context.gradient.defined())
        return at::zeros(context.value.sizes().slice(0, 3), at::kDouble);
    return (context.value * context.gradient).sum(3, false, at::kDouble).to(at::kCPU);
}

} // namespace secateur
