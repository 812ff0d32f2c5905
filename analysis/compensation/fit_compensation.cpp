#include "analysis/compensation/fit_compensation.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/compensation/layer_fit.h"
#include "analysis/masks/mask_wire.h"
#include "analysis/masks/price.h"
#include "analysis/model/far_model.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace secateur {

namespace {

constexpr std::int64_t heldOutPart = 5; ///< one of so many tokens is held out
constexpr std::int64_t fewestTokens = 10;
constexpr std::string_view noteBegin = "compensation:";

// Options of a provenance that state a fit.
constexpr const char* modeOption = "compensate";
constexpr const char* textOption = "compensate_text";
constexpr const char* tokensOption = "compensate_max_tokens";
constexpr const char* trainedMode = "trained"; ///< value of modeOption; no mode of a fit
constexpr const char* lengthOption = "compensate_seq_len";
constexpr std::array<std::string_view, 4> fitOptions{modeOption, textOption, tokensOption, lengthOption};

/// A number of an option; 0 if it is none.
std::int64_t countIn(const std::string& text) {
    std::int64_t count = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
    return failure == std::errc() && end == text.data() + text.size() ? count : 0;
}

/// The projections of a layer that lose inputs under a mask, in the order in which they are fitted.
std::vector<Projection> projectionsToFit(const ModelSpec& spec, int layer, const LayerMask& mask) {
    const bool losesHeads = mask.attention != AttentionCut::keep || mask.keptHeads() < std::ssize(mask.heads);
    std::vector<Projection> all;
    if (losesHeads && canFit(spec, layer, mask, Projection::output))
        all.push_back(Projection::output);
    if (mask.keptNeurons() < std::ssize(mask.neurons) && canFit(spec, layer, mask, Projection::down))
        all.push_back(Projection::down);
    return all;
}

/// The number of layers up to the last one with a projection to fit.
int layersToRun(const ModelSpec& spec, const PruningMask& mask) {
    int end = mask.layerCount();
    while (end > 0 && projectionsToFit(spec, end - 1, mask.layer(end - 1)).empty())
        --end;
    return end;
}

void checkCanFit(const Model& model, const FitText& text) {
    if (!model.spec().tiedGroups().empty())
        throw Error("has layers that share their weights: a compensation cannot be fitted layer by layer",
                    model.card().path);
    std::int64_t tokens = 0;
    for (const TokenSequence& sequence : text.sequences)
        tokens += std::ssize(sequence.ids);
    if (tokens < fewestTokens)
        throw Error(
            fmt::format("A compensation needs a text of at least {} tokens; there are {}", fewestTokens, tokens));
}

/// Runs the pruned model layer by layer, and fits each layer before the next.
class Fit {
public:
    Fit(const Model& model, PruningMask mask, CompensationMode mode, const FitText& text)
        : m_model(model)
        , m_mode(mode)
        , m_batches(paddedBatches(model, text.sequences, text.batchTokens))
        , m_plan(model.runner().plan(mask, text.type))
        , m_mask(std::move(mask)) {
        std::int64_t tokens = 0;
        for (const TokenSequence& sequence : text.sequences)
            tokens += std::ssize(sequence.ids);
        m_tokens = tokenParts(m_batches, text.sequences, tokens - tokens / heldOutPart);
    }

    FittedMask run(const Progress& progress) {
        const int layers = layersToRun(m_model.spec(), m_mask);
        for (const Batch& batch : m_batches.batches)
            m_streams.push_back(m_model.runner().embed(*m_plan, batch));
        for (int layer = 0; layer < layers; ++layer) {
            progress.report(static_cast<double>(layer) / layers, fmt::format("compensation, layer {}", layer));
            for (const Projection which : projectionsToFit(m_model.spec(), layer, m_mask.layer(layer)))
                fit(layer, which, progress);
            if (layer + 1 < layers)
                runLayer(layer, progress);
        }
        m_model.checkFiles();
        return {m_mask, std::move(m_parts)};
    }

private:
    void fit(int layer, Projection which, const Progress& progress);
    void replace(int layer, Projection which, const SumParts& sums);
    void runLayer(int layer, const Progress& progress);

    const Model& m_model;
    CompensationMode m_mode;
    PaddedBatches m_batches;
    std::vector<TokenParts> m_tokens;   ///< of each batch
    std::shared_ptr<const Plan> m_plan; ///< of m_mask
    PruningMask m_mask;                 ///< with the compensation so far
    std::vector<at::Tensor> m_streams;
    std::vector<FittedPart> m_parts;
};

void Fit::fit(int layer, Projection which, const Progress& progress) {
    const ModelSpec& spec = m_model.spec();
    const LayerMask& mask = m_mask.layer(layer);
    const auto whole = m_model.runner().plan(withWholeSublayer(m_mask, spec, layer, which), m_plan->type());
    SumParts sums = emptySums(m_model, layer, mask, which, m_streams.front().device());
    for (std::size_t batch = 0; batch < m_streams.size(); ++batch) {
        progress.check();
        addSums(m_model, *whole, layer, which, mask, m_streams[batch], m_batches.batches[batch], m_tokens[batch], sums);
    }
    progress.check();
    replace(layer, which, sums);
    m_plan = m_model.runner().plan(m_mask, m_plan->type());
}

void Fit::runLayer(int layer, const Progress& progress) {
    for (std::size_t batch = 0; batch < m_streams.size(); ++batch) {
        progress.check();
        m_streams[batch] = m_model.runner().runLayer(*m_plan, layer, m_streams[batch], m_batches.batches[batch]);
    }
}

void Fit::replace(int layer, Projection which, const SumParts& sums) {
    const ModelSpec& spec = m_model.spec();
    LayerMask mask = m_mask.layer(layer);
    const at::Tensor weight =
        columnsOf(m_model, layer, which, keptColumns(spec, layer, mask, which), sums.fitted.gram.device());
    const std::int64_t columns = unitColumns(spec, layer, which);
    const ChosenMu chosen = chooseMu(m_mode, sums.fitted, sums.heldOut, weight, columns);
    FitSums all = sums.fitted;
    all.add(sums.heldOut);
    const FittedProjection fitted = fittedProjection(m_mode, all, weight, columns, chosen.mu);
    mask.compensation =
        std::make_shared<const LayerCompensation>(withFitted(m_model, layer, mask, which, m_mode, fitted));
    m_mask.setLayer(layer, std::move(mask));
    const double size = sums.heldOut.squares > 0 ? sums.heldOut.squares : 1;
    m_parts.push_back({layer, which == Projection::output, m_mode == CompensationMode::bias ? 0 : chosen.mu,
                       chosen.errorWithout / size, chosen.error / size});
}

/// Approximate operations of the sums and equations of a projection, in terms of those of a forward pass.
double fitOperations(const ModelSpec& spec, int layer, const LayerMask& mask, Projection which, CompensationMode mode,
                     double tokens) {
    constexpr double float64Cost = 2; // of an operation, in float32 operations
    constexpr double solutions = 8;   // one for each mu, and the last one
    const double hidden = spec.hidden;
    const double units = which == Projection::down ? mask.keptNeurons() : mask.keptHeads();
    const double width = units * static_cast<double>(unitColumns(spec, layer, which));
    const double product = 2 * width * width * hidden;
    double operations = 2 * tokens * width * (width / 2 + hidden); // sums
    if (mode == CompensationMode::bias)
        operations += 2 * product;
    else if (mode == CompensationMode::weights)
        operations += (2 * solutions + 2) * product + solutions * width * width * width / 3;
    else
        operations += 6 * product + solutions * units * units * units / 3;
    return float64Cost * operations;
}

} // namespace

PruningMask withoutCompensation(PruningMask mask) {
    for (int layer = 0; layer < mask.layerCount(); ++layer) {
        LayerMask own = mask.layer(layer);
        if (!own.compensation)
            continue;
        own.compensation.reset();
        mask.setLayer(layer, std::move(own));
    }
    return mask;
}

namespace {

void forgetFit(MaskProvenance& provenance) {
    std::erase_if(provenance.options, [](const auto& option) { return isFitOption(option.first); });
    std::erase_if(provenance.notes, [](const std::string& note) { return note.starts_with(noteBegin); });
    provenance.fits.clear();
}

} // namespace

void noteTrained(MaskProvenance& provenance, const std::string& data, std::int64_t steps) {
    forgetFit(provenance);
    provenance.options[modeOption] = trainedMode;
    provenance.options[textOption] = data;
    provenance.notes.push_back(fmt::format("{} factors and biases trained in {} steps on {}", noteBegin, steps, data));
}

bool isNotedTrained(const MaskProvenance& provenance) {
    const auto found = provenance.options.find(modeOption);
    return found != provenance.options.end() && found->second == trainedMode;
}

void noteFit(MaskProvenance& provenance, const NotedFit& fit, std::span<const FittedPart> parts) {
    forgetFit(provenance);
    provenance.options[modeOption] = name(fit.mode);
    if (fit.mode == CompensationMode::none)
        return;
    provenance.options[textOption] = fit.text;
    provenance.options[tokensOption] = std::to_string(fit.tokens);
    provenance.options[lengthOption] = std::to_string(fit.sequenceLength);
    provenance.notes.push_back(
        fmt::format("{} {} fitted on {} tokens of {}", noteBegin, name(fit.mode), fit.tokens, fit.text));
    provenance.fits.assign(parts.begin(), parts.end());
}

std::optional<NotedFit> notedFit(const MaskProvenance& provenance) {
    const auto option = [&](const char* name) {
        const auto found = provenance.options.find(name);
        return found == provenance.options.end() ? std::string() : found->second;
    };
    const std::string mode = option(modeOption);
    const auto known = std::ranges::find(compensationModes(), mode, &CompensationModeInfo::name);
    if (known == compensationModes().end())
        return std::nullopt;
    return NotedFit{known->mode, option(textOption), countIn(option(tokensOption)), countIn(option(lengthOption))};
}

bool isFitOption(std::string_view option) {
    return std::ranges::find(fitOptions, option) != fitOptions.end();
}

bool canCompensate(const ModelSpec& spec, const PruningMask& mask) {
    return layersToRun(spec, mask) > 0;
}

FittedMask fitCompensation(const Model& model, const PruningMask& mask, CompensationMode mode, const FitText& text,
                           const Progress& progress) {
    if (mode == CompensationMode::own)
        return {mask, {}};
    PruningMask plain = withoutCompensation(mask);
    if (mode == CompensationMode::none || !canCompensate(model.spec(), plain))
        return {std::move(plain), {}};
    if (const FarModel* far = farModel(model))
        return far->result<FittedMask>("fit_compensation", progress, plain, mode,
                                       std::vector<TokenSequence>(text.sequences.begin(), text.sequences.end()),
                                       text.batchTokens, text.type);
    checkCanFit(model, text);
    return Fit(model, std::move(plain), mode, text).run(progress);
}

double compensationPasses(const ModelSpec& spec, const PruningMask& mask, CompensationMode mode, std::int64_t tokens) {
    if (mode == CompensationMode::own || mode == CompensationMode::none)
        return 0;
    const PruningMask plain = withoutCompensation(mask);
    const PruningMask dense(spec);
    double pass = lmHeadOperations(spec); // operations per token of a dense pass
    double runs = 0;                      // of the layers
    double solving = 0;                   // of the sums and equations, for all tokens
    const int layers = layersToRun(spec, plain);
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        pass += layerOperations(spec, layer, dense.layer(layer), 1);
        if (layer + 1 < layers)
            runs += layerOperations(spec, layer, plain.layer(layer), 1);
        for (const Projection which : projectionsToFit(spec, layer, plain.layer(layer))) {
            runs += layerOperations(spec, layer, withWholeSublayer(plain, spec, layer, which).layer(layer), 1);
            solving += fitOperations(spec, layer, plain.layer(layer), which, mode, static_cast<double>(tokens));
        }
    }
    return solving > 0 ? (runs + solving / static_cast<double>(tokens)) / pass : 0;
}

} // namespace secateur
