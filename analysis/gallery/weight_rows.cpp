#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/figures/weight_figures.h"
#include "analysis/gallery/figure_rows.h"
#include "analysis/gallery/option_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace secateur {

namespace {

double clipOf(const FigureOptions& options) {
    const std::string& text = options.at("clip");
    double clip = 0;
    std::from_chars(text.data(), text.data() + text.size(), clip);
    if (clip < 0 || clip >= 50)
        throw UsageError("must be at least 0 and less than 50 percent", text);
    return clip;
}

WeightLook lookOf(const FigureOptions& options) {
    const std::string& show = options.at("show");
    if (show == "mean")
        return {BlockValue::mean, clipOf(options)};
    if (show == "largest")
        return {BlockValue::largest, clipOf(options)};
    throw UsageError("must be largest or mean", "show=" + show);
}

std::vector<CircuitKind> kindsOf(const FigureOptions& options) {
    const std::string& kind = options.at("kind");
    if (kind == "both")
        return {CircuitKind::queryKey, CircuitKind::outputValue};
    for (const CircuitKind one : {CircuitKind::queryKey, CircuitKind::outputValue})
        if (kind == name(one))
            return {one};
    throw UsageError("must be both, qk or ov", "kind=" + kind);
}

TensorPlane planeOf(const FigureOptions& options) {
    const std::string& plane = options.at("plane");
    for (const TensorPlane one : {TensorPlane::values, TensorPlane::scales, TensorPlane::minima})
        if (plane == name(one))
            return one;
    throw UsageError("must be values, scales or minima", "plane=" + plane);
}

void checkLook(const FigureOptions& options) {
    lookOf(options);
}

void checkCircuit(const FigureOptions& options) {
    lookOf(options);
    kindsOf(options);
}

void checkTensor(const FigureOptions& options) {
    lookOf(options);
    planeOf(options);
}

bool isTrue(const FigureOptions& options, const std::string& option) {
    return options.at(option) == "true";
}

Figure circuit(const WeightInputs& inputs, const FigureOptions& options) {
    const HeadId head{integerOption(options, "layer"), integerOption(options, "head")};
    const CircuitOptions chosen{isTrue(options, "fold_norm"), isTrue(options, "augmented"), isTrue(options, "qk_norm")};
    std::vector<std::shared_ptr<const HeadCircuit>> circuits;
    for (const CircuitKind kind : kindsOf(options))
        circuits.push_back(
            std::make_shared<HeadCircuit>(headCircuit(*inputs.model, head, kind, chosen, inputs.progress)));
    return circuitFigure(inputs.model->card(), circuits, lookOf(options), inputs.progress);
}

/// The tensor that an option names; the largest one for an empty name. @throws UsageError
std::size_t tensorOf(const StoredTensors& stored, const std::string& name) {
    const std::vector<StoredTensor>& all = stored.tensors();
    if (name.empty()) {
        const auto largest = std::ranges::max_element(all, {}, &StoredTensor::elements);
        return static_cast<std::size_t>(largest - all.begin());
    }
    if (const auto found = stored.find(name))
        return *found;
    throw UsageError(fmt::format("the checkpoint has no such tensor; it has {}, such as {}",
                                 counted(all.size(), "tensor"), all.empty() ? "none" : all.front().name),
                     name);
}

Figure tensor(const WeightInputs& inputs, const FigureOptions& options) {
    return tensorFigure(inputs.model->card().name, *inputs.tensors, tensorOf(*inputs.tensors, options.at("name")),
                        planeOf(options), lookOf(options), inputs.progress);
}

Figure weightDifference(const WeightInputs& inputs, const FigureOptions& options) {
    if (!inputs.reference)
        throw UsageError("needs a second checkpoint: --reference MODEL", "weight_difference");
    // The reference is what differences are measured from.
    const StoredTensors& first = *inputs.reference;
    const StoredTensors& second = *inputs.tensors;
    const TensorPairs pairs = pairTensors(first, second);
    const std::string& name = options.at("name");
    if (name.empty())
        return signalToNoiseFigure(first, second, checkpointDifferences(first, second, pairs, inputs.progress));
    for (const TensorPair& pair : pairs.pairs)
        if (pair.name == name || second.tensors()[pair.second].name == name)
            return differenceFigure(first, second, pair, lookOf(options), inputs.progress);
    throw UsageError("is not a tensor of both checkpoints", name);
}

constexpr OptionInfo showOption{"show", "text", "largest",
                                "number that a cell shows if it stands for several: largest (by magnitude) or mean"};
constexpr OptionInfo clipOption{"clip", "number", "1",
                                "per cent of the magnitudes beyond the ends of the colour range"};

constexpr std::array circuitOptions{
    OptionInfo{"layer", "integer", "0", "layer of the head, from 0"},
    OptionInfo{"head", "integer", "0", "head in the layer, from 0"},
    OptionInfo{"kind", "text", "both", "both, qk (query-key) or ov (output-value)"},
    OptionInfo{"fold_norm", "bool", "false", "as for the metric gate_norm_head; for output-value, columns of W_v"},
    OptionInfo{"augmented", "bool", "false", "as for the metric gate_norm_head"},
    OptionInfo{"qk_norm", "bool", "false", "as for the metric gate_norm_head"},
    showOption,
    clipOption,
};

constexpr std::array tensorOptions{
    OptionInfo{"name", "text", "", "name of the tensor (inspect --tensors); empty = the largest tensor"},
    OptionInfo{"plane", "text", "values", "values, or scales or minima of the blocks of a quantised tensor"},
    showOption,
    clipOption,
};

constexpr std::array weightDifferenceOptions{
    OptionInfo{"name", "text", "", "name of a tensor; empty = signal to noise of all weights over the layers"},
    showOption,
    clipOption,
};

constexpr std::array weightRows{
    FigureInfo{"circuit", "query-key and output-value circuits of a head: heat maps, singular values, rotary pairs",
               circuitOptions, FromWeights{circuit}, checkCircuit},
    FigureInfo{"tensor", "heat map of a tensor of the checkpoint, or of the scales of its blocks", tensorOptions,
               FromWeights{tensor}, checkTensor},
    FigureInfo{"weight_difference", "difference of the weights from those of another checkpoint (--reference)",
               weightDifferenceOptions, FromWeights{weightDifference}, checkLook},
};

} // namespace

std::span<const FigureInfo> weightFigures() {
    return weightRows;
}

} // namespace secateur
