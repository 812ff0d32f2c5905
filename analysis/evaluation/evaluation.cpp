#include "analysis/evaluation/evaluation.h"

#include "analysis/base/error.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/pooled_outputs.h"
#include "analysis/running/runner.h"
#include "analysis/text/tokenizer.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace secateur {

namespace {

MeanDistance meanOf(const at::Tensor& distances) {
    const auto count = static_cast<double>(distances.numel());
    const double mean = distances.mean().item<double>();
    const double squares = (distances - mean).square().sum().item<double>();
    return {mean, count > 1 ? std::sqrt(squares / (count - 1) / count) : std::numeric_limits<double>::quiet_NaN()};
}

} // namespace

bool givesPooledOutput(const Model& model) {
    return model.spec().family == Family::encoder && !model.has(-1, WeightName::classifier);
}

std::string shownName(const EvaluatedMask& mask, const EvaluatedAdapter& adapter) {
    std::string name = mask.name.empty() ? "dense" : mask.name;
    if (adapter.isPresent())
        name += " + " + (adapter.name.empty() ? "adapter" : adapter.name);
    return name;
}

PooledDistance pooledDistance(const Model& model, const Plan& run, const Plan& reference, const SequenceSet& set,
                              std::int64_t batchTokens, const Progress& progress, const Model* referenceModel) {
    if (!givesPooledOutput(model))
        throw Error("is not an encoder without a head: it has no pooled output to compare", model.card().path);
    if (set.sequences.empty())
        throw Error("There are no sequences to compare pooled outputs on");
    const PaddedBatches all = paddedBatches(set.sequences, batchTokens);
    const at::Tensor before =
        pooledOutputs(referenceModel ? *referenceModel : model, reference, all, progress.part(0, 0.5));
    const at::Tensor after = pooledOutputs(model, run, all, progress.part(0.5, 1));
    const at::Tensor lengths = before.norm(2, 1);
    const at::Tensor otherLengths = after.norm(2, 1);
    const at::Tensor relative = (after - before).norm(2, 1) / lengths;
    const at::Tensor cosine = 1 - (after * before).sum(1) / (lengths * otherLengths);
    if (!relative.isfinite().all().item<bool>() || !cosine.isfinite().all().item<bool>())
        throw Error("The pooled output of a sequence is zero or not finite: distances are not defined", {},
                    "Check the weights and the mask");
    return {meanOf(relative), meanOf(cosine), model.has(-1, WeightName::pooler), set.sequences.size(), set.tokens};
}

std::vector<int> encodedPrompt(const PromptRequest& prompt, const Tokenizer& tokenizer) {
    std::vector<int> ids = tokenizer.encode(prompt.text, {.special = prompt.special}).ids;
    if (ids.empty())
        throw Error("The prompt is empty, and the tokenizer puts no special token in front of it", {},
                    "Give at least one word");
    return ids;
}

PromptContinuation continuePrompt(const Model& model, const Plan& plan, const Tokenizer& tokenizer,
                                  const PromptRequest& prompt, const Progress& progress, const TextSink& sink) {
    const std::array prompts{encodedPrompt(prompt, tokenizer)};
    GenerationRules rules{.newTokens = prompt.newTokens, .sampling = prompt.sampling};
    if (tokenizer.card().eos)
        rules.stopTokens = {*tokenizer.card().eos};
    // The tokens of the prompt are decoded first, because some tokenizers remove a leading space of the first token.
    TextStream stream(tokenizer);
    for (const int id : prompts.front())
        stream.add(id);
    PromptContinuation written{prompt, {}, {}};
    const auto append = [&](const std::string& piece) {
        written.text += piece;
        if (sink && !piece.empty())
            sink(piece);
    };
    written.continuation = generate(model, plan, prompts, rules, progress, [&](std::size_t, int token) {
                               append(stream.add(token));
                           }).front();
    append(stream.finish());
    return written;
}

} // namespace secateur
