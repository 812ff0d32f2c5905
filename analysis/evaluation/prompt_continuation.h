#pragma once

#include "analysis/running/generate.h"
#include "analysis/model/model.h"
#include "analysis/running/plan.h"
#include "analysis/base/progress.h"
#include "analysis/text/tokenizer.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A text that a model is to continue, as a person names it.
struct PromptRequest {
    std::string text;
    int newTokens = 128; ///< at most: the tokenizer's EOS ends the text
    Sampling sampling = {};
    SpecialText special = SpecialText::plain; ///< what "<s>" in the text means

    bool operator==(const PromptRequest&) const = default;
};

/// What a model put behind a prompt.
struct PromptContinuation {
    PromptRequest prompt;
    std::string text; ///< without the prompt's
    Continuation continuation;
};

/// @throws Error when there are none: nothing to begin with
std::vector<int> encodedPrompt(const PromptRequest& prompt, const Tokenizer& tokenizer);

/// Told of each piece of text as soon as it is certain.
using TextSink = std::function<void(std::string_view piece)>;

/// @throws as encodedPrompt() and generate(); Cancelled
PromptContinuation continuePrompt(const Model& model, const Plan& plan, const Tokenizer& tokenizer,
                                  const PromptRequest& prompt, const Progress& progress = {},
                                  const TextSink& sink = {});

} // namespace secateur
