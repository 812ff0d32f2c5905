#include "backends/text/evaluation_text.h"

#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "backends/text/data_digest.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/text/text_source.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

namespace secateur {

namespace {

PerplexityRules settledRules(const PerplexityRules& rules, const Model& model) {
    try {
        return withDefaults(rules, model.spec());
    } catch (const UsageError&) {
        throw;
    } catch (const Error& error) {
        throw error.within(model.card().path);
    }
}

ScoredText cut(const TextRequest& request, const PerplexityRules& rules, const Tokenizer& tokenizer,
               const Progress& progress) {
    const std::vector<std::string> documents = readDocuments(request.path, request.field, TextSplit::windows);
    try {
        return scoredText(documents, tokenizer, rules, progress);
    } catch (const Error& error) {
        throw error.within(sourceName(request.path));
    }
}

} // namespace

EvaluationText readEvaluationText(const Model& model, const TextRequest& request, const Progress& progress) {
    const PerplexityRules rules = settledRules(request.rules, model);
    const auto tokenizer = openTokenizer(model.card());
    EvaluationText text;
    text.source = sourceName(request.path);
    text.warnings = tokenizer->card().warnings;
    const int context = model.spec().context;
    if (context > 0 && rules.window > context)
        text.warnings.push_back(
            fmt::format("a window of {} tokens is longer than the model's context of {}", rules.window, context));
    text.scored = cut(request, rules, *tokenizer, progress);
    text.digest = dataDigest(text.scored.windows);
    spdlog::info("{} windows, {} tokens with those of context", text.scored.windows.sequences.size(),
                 text.scored.windows.tokens);
    return text;
}

} // namespace secateur
