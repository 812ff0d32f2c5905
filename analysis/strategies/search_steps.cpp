#include "analysis/strategies/search_steps.h"

#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/price.h"
#include "analysis/masks/projection_weight.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

namespace secateur {

namespace {

Projection projectionOf(CutUnit unit) {
    return unit == CutUnit::neuron ? Projection::down : Projection::output;
}

/// The weight that the mask gives a projection, in some columns: the model's, or the restored one. [hidden, columns]
at::Tensor currentWeight(const Model& model, const PruningMask& mask, int layer, Projection which,
                         const at::Tensor& columns, at::Device device) {
    const WeightName name = which == Projection::output ? WeightName::output : WeightName::down;
    return projectionWeight(model, layer, name, compensationOf(mask.layer(layer)))
        .to(device)
        .to(at::kDouble)
        .index_select(1, columns.to(device));
}

/// Wanda's score of each unit: the sum over its columns of the size of the weights times the norm of the input.
at::Tensor wandaScores(const at::Tensor& weight, const FitSums& sums, std::int64_t unitColumns) {
    const at::Tensor scores = weight.abs().sum(0) * sums.gram.diagonal().clamp_min(0).sqrt();
    return scores.reshape({-1, unitColumns}).sum(1);
}

/// The squared error that the removal of each unit adds after the best update of the others.
at::Tensor obsScores(const at::Tensor& weight, const FitSums& sums, std::int64_t unitColumns, double mu) {
    at::Tensor matrix = sums.gram.clone();
    const double ridge = mu * sums.gram.diagonal().mean().item<double>();
    matrix.diagonal().add_(ridge > 0 ? ridge : 1.0);
    const at::Tensor inverse = at::cholesky_inverse(at::linalg_cholesky(matrix));
    if (unitColumns == 1)
        return weight.square().sum(0) / inverse.diagonal();
    const std::int64_t units = weight.size(1) / unitColumns;
    at::Tensor scores = at::empty({units}, weight.options());
    for (std::int64_t unit = 0; unit < units; ++unit) {
        const std::int64_t first = unit * unitColumns;
        const at::Tensor block = inverse.narrow(0, first, unitColumns).narrow(1, first, unitColumns);
        const at::Tensor own = weight.narrow(1, first, unitColumns); // [hidden, unitColumns]
        scores[unit] = (at::cholesky_solve(own.t(), at::linalg_cholesky(block)) * own.t()).sum();
    }
    return scores;
}

/// The bias of the output projection if the attention were bypassed with alpha 1; 0 if there is none. [hidden]
at::Tensor bypassBias(const Model& model, int layer, const at::Tensor& like) {
    const at::Tensor bias = biasUnder(model, layer, Projection::output, PruningMask(model.spec()).layer(layer));
    return bias.defined() ? bias.to(like.options()) : at::zeros_like(like);
}

/// Rounds as roundedScores(), so that ties are resolved by position on every machine.
double rounded(double value) {
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);
    constexpr double steps = 1 << 20;
    return std::ldexp(std::round(fraction * steps) / steps, exponent);
}

} // namespace

CutUnit unitOf(StepKind kind) {
    constexpr std::array units{CutUnit::head,  CutUnit::neuron,    CutUnit::attention, CutUnit::mlp,
                               CutUnit::block, CutUnit::attention, CutUnit::kvGroup,   CutUnit::head};
    return units[static_cast<std::size_t>(kind)];
}

std::optional<PruningMask> SearchSteps::next(const PruningMask& mask, int layer, StepKind kind,
                                             const Progress& progress, std::size_t most) {
    auto edited =
        layer == allLayers ? inAllLayers(mask, kind, most, progress) : inLayer(mask, layer, kind, most, progress);
    if (edited && m_rules.allows && !m_rules.allows(*edited))
        return std::nullopt;
    return edited;
}

std::optional<PruningMask> SearchSteps::inLayer(const PruningMask& mask, int layer, StepKind kind, std::size_t most,
                                                const Progress& progress) {
    switch (kind) {
    case StepKind::heads:
    case StepKind::neurons:
    case StepKind::groups:
    case StepKind::headsOfGroups:
        return withoutUnits(mask, layer, kind, most, progress);
    case StepKind::attention:
    case StepKind::mlps:
    case StepKind::blocks:
        return withoutSublayer(mask, layer, unitOf(kind));
    case StepKind::bypass:
        break;
    }
    return bypassed(mask, layer, progress);
}

/// The same step in every layer that is left. Each projection is fitted to the inputs before the step.
std::optional<PruningMask> SearchSteps::inAllLayers(PruningMask mask, StepKind kind, std::size_t most,
                                                    const Progress& progress) {
    const PruningMask before = mask;
    for (int layer = 0; layer < mask.layerCount(); ++layer) {
        if (!before.layer(layer).block)
            continue;
        const auto edited = inLayer(before, layer, kind, most, progress);
        if (!edited)
            return std::nullopt;
        mask.setLayer(layer, edited->layer(layer));
    }
    return mask;
}

/// The units of a layer that can still be cut.
std::vector<int> SearchSteps::candidates(const PruningMask& mask, int layer, CutUnit unit) const {
    const ModelSpec& spec = m_model.spec();
    std::vector<int> free;
    for (int index = 0; index < unitsIn(spec.layers[static_cast<std::size_t>(layer)], unit); ++index)
        if (!isCut(mask, spec, unit, layer, index) && !m_rules.protection.covers(spec, unit, layer, index))
            free.push_back(index);
    return free;
}

/// The scores of the kept heads or neurons of a layer, in their order.
std::vector<double> SearchSteps::scoresOfKept(const PruningMask& mask, int layer, CutUnit unit,
                                              const FitSums& sums) const {
    const ModelSpec& spec = m_model.spec();
    const Projection which = projectionOf(unit);
    const std::int64_t columns = unitColumns(spec, layer, which);
    const at::Tensor weight = currentWeight(m_model, mask, layer, which,
                                            keptColumns(spec, layer, mask.layer(layer), which), sums.gram.device());
    const at::Tensor scores = (m_rules.order == StepOrder::wanda ? wandaScores(weight, sums, columns)
                                                                 : obsScores(weight, sums, columns, m_rules.mu))
                                  .to(at::kCPU)
                                  .contiguous();
    return {scores.data_ptr<double>(), scores.data_ptr<double>() + scores.numel()};
}

/// The scores of the kept units of a layer. The score of a KV group is the sum over its heads.
std::map<int, double> SearchSteps::scores(const PruningMask& mask, int layer, CutUnit unit, const FitSums& sums) const {
    const LayerSpec& own = m_model.spec().layers[static_cast<std::size_t>(layer)];
    const auto metric = m_rules.values.find(unit == CutUnit::neuron ? CutUnit::neuron : CutUnit::head);
    const std::vector<double> found =
        metric == m_rules.values.end() ? scoresOfKept(mask, layer, unit, sums) : std::vector<double>();
    const std::vector<bool>& marks = unit == CutUnit::neuron ? mask.layer(layer).neurons : mask.layer(layer).heads;
    std::map<int, double> scoreOf;
    std::size_t place = 0;
    for (std::size_t i = 0; i < marks.size(); ++i)
        if (marks[i]) {
            const int index = static_cast<int>(i);
            scoreOf[unit == CutUnit::kvGroup ? own.kvGroup(index) : index] +=
                found.empty() ? metric->second(static_cast<std::size_t>(layer), i) : found[place++];
        }
    return scoreOf;
}

/// Number of units that a step cuts in a layer.
std::size_t SearchSteps::unitsOfStep(int layer, CutUnit unit) const {
    constexpr double uniformPart = 8; // a step in all layers cuts much more
    const LayerSpec& own = m_model.spec().layers[static_cast<std::size_t>(layer)];
    const double share = m_rules.share / (m_rules.isUniform ? uniformPart : 1);
    return static_cast<std::size_t>(std::max(std::round(share * unitsIn(own, unit)), 1.0));
}

/// The units of the next step.
std::vector<int> SearchSteps::chosen(const PruningMask& mask, int layer, StepKind kind, std::size_t most,
                                     const FitSums& sums) const {
    const CutUnit unit = unitOf(kind);
    std::map<int, double> scoreOf = scores(mask, layer, unit, sums);
    std::vector<int> free = candidates(mask, layer, unit);
    std::ranges::stable_sort(free, {}, [&](int index) { return rounded(scoreOf[index]); });
    if (kind != StepKind::headsOfGroups) {
        free.resize(std::min({free.size(), unitsOfStep(layer, unit), most}));
        return free;
    }
    std::set<int> groups; // of the heads that were chosen
    std::vector<int> first;
    for (const int head : free)
        if (groups.insert(m_model.spec().layers[static_cast<std::size_t>(layer)].kvGroup(head)).second)
            first.push_back(head);
    return first;
}

std::optional<PruningMask> SearchSteps::withoutUnits(const PruningMask& mask, int layer, StepKind kind,
                                                     std::size_t most, const Progress& progress) {
    const ModelSpec& spec = m_model.spec();
    const CutUnit unit = unitOf(kind);
    const Projection which = projectionOf(unit);
    if (!canFit(spec, layer, mask.layer(layer), which) || candidates(mask, layer, unit).empty())
        return std::nullopt;
    const FitSums sums = m_fits.sums(layer, which, progress);
    PruningMask edited = mask;
    cutUnits(edited, spec, unit, layer, chosen(mask, layer, kind, most, sums));
    if (!m_rules.restores || !canFit(spec, layer, edited.layer(layer), which))
        return edited;
    const at::Tensor before = keptColumns(spec, layer, mask.layer(layer), which);
    const at::Tensor after = keptColumns(spec, layer, edited.layer(layer), which);
    restore(edited, layer, which, sums.of(at::searchsorted(before, after)));
    return edited;
}

std::optional<PruningMask> SearchSteps::withoutSublayer(const PruningMask& mask, int layer, CutUnit unit) const {
    const LayerParts left = partsLeft(m_model.spec().layers[static_cast<std::size_t>(layer)], mask.layer(layer));
    const bool isLeft = unit == CutUnit::block       ? left.block
                        : unit == CutUnit::attention ? left.attention != AttentionKind::none
                                                     : left.mlp;
    if (!isLeft || candidates(mask, layer, unit).empty())
        return std::nullopt;
    PruningMask edited = mask;
    cutUnits(edited, m_model.spec(), unit, layer, std::array{0});
    return edited;
}

/// The alpha of a bypass that leaves the least squared error. @param sums for alpha 1 @param bias its bias for alpha 1
double SearchSteps::bestAlpha(const PruningMask& mask, int layer, const FitSums& sums, const at::Tensor& bias) const {
    if (m_model.spec().normPlace == NormPlace::sandwich)
        return 1; // a norm of the update removes its scale
    const at::Tensor columns = keptColumns(m_model.spec(), layer, mask.layer(layer), Projection::output);
    const at::Tensor weight = columnsOf(m_model, layer, Projection::output, columns, sums.gram.device());
    const at::Tensor added = at::mv(weight, sums.inputs); // the sum of what the bypass adds without its bias
    const double square =
        ((at::mm(weight, sums.gram) * weight).sum() + (bias * (2 * added + sums.weight * bias)).sum()).item<double>();
    const double product =
        ((weight * sums.cross.t()).sum() + (bias * (added + sums.outputs + sums.weight * bias)).sum()).item<double>();
    return square > 0 ? std::clamp(product / square, 0.0, mostAlpha) : 0;
}

/// The attention of the layer bypassed, with the alpha that leaves the least squared error.
std::optional<PruningMask> SearchSteps::bypassed(const PruningMask& mask, int layer, const Progress& progress) {
    const ModelSpec& spec = m_model.spec();
    const LayerParts left = partsLeft(spec.layers[static_cast<std::size_t>(layer)], mask.layer(layer));
    if (left.attention != AttentionKind::full || left.heads == 0 ||
        m_rules.protection.covers(spec, CutUnit::attention, layer, 0))
        return std::nullopt;
    FitSums sums = m_fits.bypassSums(layer, progress);
    const at::Tensor bias = bypassBias(m_model, layer, sums.outputs);
    const double alpha = bestAlpha(mask, layer, sums, bias);
    if (alpha == 0)
        return std::nullopt;
    PruningMask edited = mask;
    bypassAttention(edited, layer, alpha);
    if (!m_rules.restores)
        return edited;
    sums.addToOutputs((1 - alpha) * bias);
    sums.scaleInputs(alpha);
    restore(edited, layer, Projection::output, sums);
    return edited;
}

/// Fits the kept weights of a projection. @param sums of the columns that the mask keeps
void SearchSteps::restore(PruningMask& mask, int layer, Projection which, const FitSums& sums) const {
    const ModelSpec& spec = m_model.spec();
    LayerMask own = mask.layer(layer);
    const at::Tensor weight =
        columnsOf(m_model, layer, which, keptColumns(spec, layer, own, which), sums.gram.device());
    const FittedProjection fitted = fittedProjection(CompensationMode::weights, sums, weight, 1, m_rules.mu);
    own.compensation = std::make_shared<const LayerCompensation>(
        withFitted(m_model, layer, own, which, CompensationMode::weights, fitted));
    mask.setLayer(layer, std::move(own));
}

} // namespace secateur
