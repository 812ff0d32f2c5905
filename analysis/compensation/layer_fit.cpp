#include "analysis/compensation/layer_fit.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/masks/price.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <map>
#include <numeric>
#include <utility>

namespace secateur {

namespace {

/// Stores what a run of a layer shows at some taps.
class TapValues : public LayerObserver {
public:
    explicit TapValues(std::vector<Tap> taps) {
        for (const Tap tap : taps)
            m_values.emplace(tap, at::Tensor());
    }

    /// [rows * positions, width]
    at::Tensor rows(Tap tap) const {
        const at::Tensor& values = m_values.at(tap);
        return values.reshape({values.size(0) * values.size(1), -1});
    }

    bool wants(int /*layer*/, Tap tap) const override { return m_values.contains(tap); }
    void see(int /*layer*/, Tap tap, const at::Tensor& values) override { m_values[tap] = values.clone(); }

private:
    std::map<Tap, at::Tensor> m_values;
};

const LayerSpec& layerOf(const ModelSpec& spec, int layer) {
    return spec.layers[static_cast<std::size_t>(layer)];
}

WeightName weightOf(Projection which) {
    return which == Projection::output ? WeightName::output : WeightName::down;
}

WeightName biasOf(Projection which) {
    return which == Projection::output ? WeightName::outputBias : WeightName::downBias;
}

std::vector<std::int64_t> kept(const std::vector<bool>& marks) {
    std::vector<std::int64_t> indices;
    for (std::size_t i = 0; i < marks.size(); ++i)
        if (marks[i])
            indices.push_back(static_cast<std::int64_t>(i));
    return indices;
}

bool isBypassed(const ModelSpec& spec, int layer, const LayerMask& mask) {
    return mask.attention == AttentionCut::bypassQk || layerOf(spec, layer).attention == AttentionKind::valueOnly;
}

/// The factor of a bypassed attention, which also multiplies the bias of its output projection. A norm of the update
/// takes it instead.
double bypassFactor(const ModelSpec& spec, int layer, const LayerMask& mask) {
    const LayerSpec& own = layerOf(spec, layer);
    if (spec.normPlace == NormPlace::sandwich)
        return 1;
    return own.attention == AttentionKind::valueOnly ? own.alpha * mask.alpha : mask.alpha;
}

/// The values of the kept heads, which a bypassed attention passes to its output projection.
/// @param input of the attention, [tokens, hidden]
at::Tensor bypassedContext(const Model& model, int layer, const LayerMask& mask, const at::Tensor& input) {
    const ModelSpec& spec = model.spec();
    const LayerSpec& own = layerOf(spec, layer);
    at::Tensor values =
        at::mm(input.to(at::kFloat), model.tensor(layer, WeightName::value).to(input.device(), at::kFloat).t());
    if (model.has(layer, WeightName::valueBias))
        values = values + model.tensor(layer, WeightName::valueBias).to(values.options());
    std::vector<std::int64_t> groups;
    for (const std::int64_t head : kept(mask.heads))
        groups.push_back(own.kvGroup(static_cast<int>(head)));
    const at::Tensor index = at::tensor(groups, at::kLong).to(values.device());
    const at::Tensor heads = values.reshape({values.size(0), own.kvHeads, own.headDim}).index_select(1, index);
    return heads.flatten(1) * bypassFactor(spec, layer, mask);
}

/// Weights of the tokens: 1 / mean square of the target if a norm follows the projection. [tokens] float64, on the
/// device of the target
at::Tensor tokenWeights(const ModelSpec& spec, const at::Tensor& target) {
    if (spec.normPlace != NormPlace::sandwich)
        return {};
    const at::Tensor squares = target.to(at::kDouble).square().mean(1);
    return at::where(squares > 0, 1 / squares, at::zeros_like(squares));
}

void addPart(const ModelSpec& spec, const at::Tensor& tokens, const at::Tensor& inputs, const at::Tensor& target,
             FitSums& sums) {
    if (tokens.numel() == 0)
        return;
    const at::Tensor index = tokens.to(inputs.device());
    const at::Tensor y = target.index_select(0, index);
    sums.add(inputs.index_select(0, index), y, tokenWeights(spec, y));
}

std::vector<float> floatsOf(const at::Tensor& tensor) {
    const at::Tensor flat = tensor.to(at::kCPU, at::kFloat).contiguous();
    return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

/// A weight of all columns, in which the columns of cut units are 0.
SharedWeight wholeWeight(const at::Tensor& weight, const at::Tensor& columns, std::int64_t width) {
    at::Tensor whole = at::zeros({weight.size(0), width}, at::kFloat);
    whole.index_copy_(1, columns, weight.to(at::kCPU, at::kFloat));
    return std::make_shared<const std::vector<float>>(floatsOf(whole));
}

/// Factors of all units; those of cut ones are 1.
std::vector<float> wholeFactors(const at::Tensor& factors, const std::vector<bool>& marks) {
    std::vector<float> whole(marks.size(), 1);
    const std::vector<float> own = floatsOf(factors);
    const std::vector<std::int64_t> places = kept(marks);
    for (std::size_t i = 0; i < places.size(); ++i)
        whole[static_cast<std::size_t>(places[i])] = own[i];
    return whole;
}

} // namespace

std::vector<TokenParts> tokenParts(const PaddedBatches& batches, std::span<const TokenSequence> sequences,
                                   std::int64_t fittedTokens) {
    std::vector<std::int64_t> first; // for each sequence, the number of tokens before it
    std::int64_t tokens = 0;
    for (const TokenSequence& sequence : sequences) {
        first.push_back(tokens);
        tokens += std::ssize(sequence.ids);
    }
    std::vector<TokenParts> parts;
    for (std::size_t i = 0; i < batches.batches.size(); ++i) {
        const Batch& batch = batches.batches[i];
        std::vector<std::int64_t> fitted;
        std::vector<std::int64_t> heldOut;
        for (int row = 0; row < batch.rows; ++row)
            for (int position = 0; position < batch.length(row); ++position) {
                const std::int64_t token = first[batches.sequences[i][static_cast<std::size_t>(row)]] + position;
                (token < fittedTokens ? fitted : heldOut).push_back(std::int64_t{row} * batch.positions + position);
            }
        parts.push_back({at::tensor(fitted, at::kLong), at::tensor(heldOut, at::kLong)});
    }
    return parts;
}

bool canFit(const ModelSpec& spec, int layer, const LayerMask& mask, Projection which) {
    const LayerParts left = partsLeft(layerOf(spec, layer), mask);
    if (which == Projection::down)
        return left.mlp && left.neurons > 0;
    return (left.attention == AttentionKind::full || left.attention == AttentionKind::valueOnly) &&
           layerOf(spec, layer).heads > 0 && mask.keptHeads() > 0;
}

at::Tensor biasUnder(const Model& model, int layer, Projection which, const LayerMask& mask) {
    if (!model.has(layer, biasOf(which)))
        return {};
    const bool bypassed = which == Projection::output && isBypassed(model.spec(), layer, mask);
    return model.tensor(layer, biasOf(which)).to(at::kDouble) *
           (bypassed ? bypassFactor(model.spec(), layer, mask) : 1);
}

PruningMask withWholeSublayer(PruningMask mask, const ModelSpec& spec, int layer, Projection which) {
    LayerMask own = mask.layer(layer);
    if (which == Projection::output) {
        own = PruningMask(spec).layer(layer);
        own.mlp = false;
    } else {
        LayerCompensation rest = compensationOf(own);
        own.neurons.assign(own.neurons.size(), true);
        rest.neuronScale.clear();
        rest.mlpBias.clear();
        rest.downWeight.reset();
        own.compensation = rest.empty() ? nullptr : std::make_shared<const LayerCompensation>(std::move(rest));
    }
    mask.setLayer(layer, std::move(own));
    return mask;
}

at::Tensor keptColumns(const ModelSpec& spec, int layer, const LayerMask& mask, Projection which) {
    const std::int64_t size = unitColumns(spec, layer, which);
    const at::Tensor units = at::tensor(kept(which == Projection::output ? mask.heads : mask.neurons), at::kLong);
    return (units.unsqueeze(1) * size + at::arange(size, at::kLong)).flatten();
}

at::Tensor columnsOf(const Model& model, int layer, Projection which, const at::Tensor& columns, at::Device device) {
    return model.tensor(layer, weightOf(which)).to(device).to(at::kDouble).index_select(1, columns.to(device));
}

std::int64_t unitColumns(const ModelSpec& spec, int layer, Projection which) {
    return which == Projection::output ? layerOf(spec, layer).headDim : 1;
}

SumParts emptySums(const Model& model, int layer, const LayerMask& mask, Projection which, at::Device device) {
    const ModelSpec& spec = model.spec();
    const std::int64_t width = keptColumns(spec, layer, mask, which).numel();
    // The sums of two parts of the text, their equations, and the matrix of the solution with its factor.
    const std::int64_t needed = 8 * (6 * width * width + 10 * width * spec.hidden);
    if (const std::int64_t available = model.runner().freeBytes(); needed > available)
        throw Error(fmt::format("needs about {} of memory to fit a compensation of layer {}, but {} are available",
                                shortBytes(static_cast<double>(needed)), layer,
                                shortBytes(static_cast<double>(available))),
                    model.card().path, "Close other programs");
    return {FitSums(width, spec.hidden, device), FitSums(width, spec.hidden, device)};
}

void addSums(const Model& model, const Plan& whole, int layer, Projection which, const LayerMask& mask,
             const at::Tensor& x, const Batch& batch, const TokenParts& tokens, SumParts& sums) {
    const ModelSpec& spec = model.spec();
    const bool isOutput = which == Projection::output;
    const bool bypassed = isOutput && isBypassed(spec, layer, mask);
    const Tap inputTap = bypassed ? Tap::attentionInput : isOutput ? Tap::context : Tap::mlpHidden;
    const Tap outputTap = isOutput ? Tap::attentionOutput : Tap::mlpOutput;
    TapValues taps({inputTap, outputTap});
    model.runner().runLayer(whole, layer, x, batch, nullptr, &taps);
    const at::Tensor seen = taps.rows(inputTap);
    const at::Tensor inputs = bypassed ? bypassedContext(model, layer, mask, seen)
                                       : seen.index_select(1, keptColumns(spec, layer, mask, which).to(seen.device()));
    at::Tensor outputs = taps.rows(outputTap);
    if (const at::Tensor bias = biasUnder(model, layer, which, mask); bias.defined())
        outputs = outputs - bias.to(outputs.options());
    addPart(spec, tokens.fitted, inputs, outputs, sums.fitted);
    addPart(spec, tokens.heldOut, inputs, outputs, sums.heldOut);
}

LayerCompensation withFitted(const Model& model, int layer, const LayerMask& mask, Projection which,
                             CompensationMode mode, const FittedProjection& fitted) {
    const ModelSpec& spec = model.spec();
    LayerCompensation whole = compensationOf(mask);
    const bool isOutput = which == Projection::output;
    const std::vector<bool>& marks = isOutput ? mask.heads : mask.neurons;
    const std::int64_t width = std::ssize(marks) * unitColumns(spec, layer, which);
    std::vector<float>& factors = isOutput ? whole.headScale : whole.neuronScale;
    std::vector<float>& bias = isOutput ? whole.attentionBias : whole.mlpBias;
    SharedWeight& weight = isOutput ? whole.outputWeight : whole.downWeight;
    factors = fitted.factors.defined() ? wholeFactors(fitted.factors, marks) : std::vector<float>();
    bias = fitted.bias.defined() ? floatsOf(fitted.bias) : std::vector<float>();
    weight = SharedWeight();
    if (mode != CompensationMode::weights)
        return whole;
    const at::Tensor columns = keptColumns(spec, layer, mask, which);
    const at::Tensor update = model.update(layer, weightOf(which));
    weight =
        wholeWeight(update.defined() ? fitted.weight.to(at::kCPU) - update.index_select(1, columns) : fitted.weight,
                    columns, width);
    return whole;
}

} // namespace secateur
