#include "analysis/evaluation/prompt_continuation.h"

#include "analysis/base/error.h"
#include "analysis/text/text_stream.h"

#include <array>
#include <cstddef>

namespace secateur {

std::vector<int> encodedPrompt(const PromptRequest& prompt, const Tokenizer& tokenizer) {
    std::vector<int> ids = tokenizer.encode(prompt.text, {.special = prompt.special}).ids;
    if (ids.empty())
        throw Error("The prompt is empty, and the tokenizer puts nothing in front of it", {},
                    "Give the model a word to begin with");
    return ids;
}

PromptContinuation continuePrompt(const Model& model, const Plan& plan, const Tokenizer& tokenizer,
                                  const PromptRequest& prompt, const Progress& progress, const TextSink& sink) {
    const std::array prompts{encodedPrompt(prompt, tokenizer)};
    GenerationRules rules{.newTokens = prompt.newTokens, .sampling = prompt.sampling};
    if (tokenizer.card().eos)
        rules.stopTokens = {*tokenizer.card().eos};
    // What new tokens add to the text of the prompt: alone, some tokenizers would leave a leading blank out.
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
