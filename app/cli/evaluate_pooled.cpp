#include "app/cli/evaluate_pooled.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "backends/text/data_digest.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/text/text_source.h"

#include <fmt/core.h>

#include <algorithm>

namespace secateur::cli {

namespace {

BosRule pooledBosRule(std::optional<BosMode> mode) {
    switch (mode.value_or(BosMode::tokenizerDefault)) {
    case BosMode::tokenizerDefault:
        return BosRule::tokenizerDefault;
    case BosMode::always:
        return BosRule::always;
    case BosMode::never:
        return BosRule::never;
    case BosMode::firstOnly:
        return BosRule::firstOnly;
    default:
        throw UsageError(
            fmt::format("encoders know no BOS mode {}, but tokenizer_default, always, never and first_only",
                        name(*mode)),
            "--bos");
    }
}

std::int64_t lengthOf(const TextOptions& options, const ModelSpec& spec) {
    constexpr std::int64_t usual = 128;
    if (options.sequenceLength > 0)
        return options.sequenceLength;
    return spec.context > 0 ? std::min<std::int64_t>(usual, spec.context) : usual;
}

} // namespace

SequenceSet readSequences(ReadyModel& ready, const TextOptions& options, const Progress& progress) {
    if (options.rules.window > 0)
        throw UsageError("is for perplexity; an encoder's sequences have the length of --seq-len", "--window");
    if (options.rules.protocol != TextProtocol::tokenPpl)
        throw UsageError("is for perplexity, which an encoder does not have", "--protocol");
    SequenceRules rules;
    rules.bos = pooledBosRule(options.rules.bos);
    rules.length = lengthOf(options, ready.model->spec());
    rules.mostTokens = options.rules.mostTokens;
    const auto tokenizer = openTokenizer(ready.model->card());
    const std::vector<std::string>& more = tokenizer->card().warnings;
    ready.warnings.insert(ready.warnings.end(), more.begin(), more.end());
    const std::vector<std::string> documents = readDocuments(options.path, options.field, rules.split);
    SequenceSet set = makeSequences({documents.begin(), documents.end()}, *tokenizer, rules, progress);
    if (set.sequences.empty())
        throw Error("holds no text to compare pooled outputs on", sourceName(options.path));
    return set;
}

PooledEvaluation evaluatePooled(const ReadyModel& ready, const TextOptions& options, const SequenceSet& set,
                                const Contender& run, const Contender& reference, const Progress& progress) {
    return {sourceName(options.path), dataDigest(set), lengthOf(options, ready.model->spec()), reference.mask,
            pooledDistance(*ready.model, *run.plan, *reference.plan, set, options.batchTokens, progress)};
}

void printPooled(const PooledEvaluation& pooled, const Evaluation& evaluation) {
    const PooledDistance& distance = pooled.distance;
    fmt::print("{} on {}: {} tokens in {} {} of {} at most, {}\n",
               distance.hasPooler ? "Pooled output" : "First token's final state (there is no pooler)",
               shownSource(pooled.source), grouped(static_cast<std::uint64_t>(distance.tokens)),
               grouped(distance.sequences), distance.sequences == 1 ? "sequence" : "sequences", pooled.sequenceLength,
               evaluation.dtype);
    const auto shown = [](const MeanDistance& mean) { return withError(mean.value, mean.standardError); };
    fmt::print("{}", table({{"", "relative distance", "cosine distance"},
                            {fmt::format("{} to {}", shownMask(evaluation.mask), shownMask(pooled.reference)),
                             shown(distance.relative), shown(distance.cosine)}},
                           {Align::left, Align::point, Align::point}));
}

} // namespace secateur::cli
