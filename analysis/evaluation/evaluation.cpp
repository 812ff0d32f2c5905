#include "analysis/evaluation/evaluation.h"

#include "analysis/base/error.h"
#include "analysis/running/far_plan.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/pooled_outputs.h"
#include "analysis/running/runner.h"
#include "analysis/text/tokenizer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>

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
    if (const FarModel* far = farModel(model); far && !referenceModel)
        return far->result<PooledDistance>("pooled_distance", progress, farPlan(run), farPlan(reference), set,
                                           batchTokens);
    const PaddedBatches all = paddedBatches(model, set.sequences, batchTokens);
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

namespace {

/// Called with new text of a prompt as soon as later tokens cannot change it.
using PromptSink = std::function<void(std::size_t prompt, std::string_view text)>;

/// Continues prompts, promptsAtOnce at a time, with the settings of the first.
std::vector<PromptContinuation> continueTogether(const Model& model, const Plan& plan, const Tokenizer& tokenizer,
                                                 std::span<const PromptRequest> prompts, const Progress& progress,
                                                 const PromptSink& sink) {
    std::vector<std::vector<int>> ids;
    std::vector<TextStream> streams;
    std::vector<PromptContinuation> written;
    for (const PromptRequest& prompt : prompts) {
        ids.push_back(encodedPrompt(prompt, tokenizer));
        written.push_back({prompt, {}, {}});
        // The tokens of the prompt are decoded first, because some tokenizers remove a leading space of the first
        // token.
        TextStream& stream = streams.emplace_back(tokenizer);
        for (const int id : ids.back())
            stream.add(id);
    }
    GenerationRules rules{.newTokens = prompts.front().newTokens,
                          .sampling = prompts.front().sampling,
                          .rows = static_cast<int>(promptsAtOnce)};
    if (tokenizer.card().eos)
        rules.stopTokens = {*tokenizer.card().eos};
    const auto append = [&](std::size_t prompt, const std::string& piece) {
        written[prompt].text += piece;
        if (sink && !piece.empty())
            sink(prompt, piece);
    };
    std::vector<Continuation> continued =
        generate(model, plan, ids, rules, progress,
                 [&](std::size_t prompt, int token) { append(prompt, streams[prompt].add(token)); });
    for (std::size_t prompt = 0; prompt < written.size(); ++prompt) {
        append(prompt, streams[prompt].finish());
        written[prompt].continuation = std::move(continued[prompt]);
    }
    return written;
}

} // namespace

namespace {

PromptContinuation farContinuation(const FarModel& far, const Plan& plan, const PromptRequest& prompt,
                                   const Progress& progress, const TextSink& sink) {
    const auto part = [&](std::string_view bytes) { sink(fromWire<std::string>(bytes)); };
    const FarCall call{.job = "continue_prompt",
                       .arguments = [&] { return wireBytes(farPlan(plan), prompt); },
                       .part = sink ? std::function<void(std::string_view)>(part) : nullptr};
    return fromWire<PromptContinuation>(far.call(call, progress));
}

} // namespace

PromptContinuation continuePrompt(const Model& model, const Plan& plan, const Tokenizer& tokenizer,
                                  const PromptRequest& prompt, const Progress& progress, const TextSink& sink) {
    if (const FarModel* far = farModel(model))
        return farContinuation(*far, plan, prompt, progress, sink);
    const PromptSink own = sink ? [&](std::size_t, std::string_view text) { sink(text); } : PromptSink();
    return continueTogether(model, plan, tokenizer, std::span(&prompt, 1), progress, own).front();
}

std::vector<PromptContinuation> continuePrompts(const Model& model, const Plan& plan, const Tokenizer& tokenizer,
                                                std::span<const std::string> texts, const PromptRequest& settings,
                                                const Progress& progress) {
    std::vector<PromptRequest> prompts;
    for (const std::string& text : texts) {
        prompts.push_back(settings);
        prompts.back().text = text;
        prompts.back().sampling.seed += prompts.size() - 1;
    }
    return continueTogether(model, plan, tokenizer, prompts, progress, {});
}

} // namespace secateur
