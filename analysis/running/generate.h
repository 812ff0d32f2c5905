#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace secateur {

/// The rule by which the next token is chosen.
struct Sampling {
    double temperature = 0; ///< 0 = greedy: the likeliest token, of equally likely ones the one with the lowest id
    double topP = 1; ///< samples from the smallest set of likeliest tokens whose probabilities sum to at least this
    std::uint64_t seed = 0;

    bool operator==(const Sampling&) const = default;
};

/// Checks the settings. @throws UsageError if the temperature is negative or not finite, or topP is outside (0, 1]
void checkSampling(const Sampling& sampling);

/// Chooses tokens for one text. The same seed and logits give the same tokens, whatever the standard library.
class Sampler {
public:
    /// @throws UsageError as checkSampling
    explicit Sampler(const Sampling& sampling);

    /// Chooses a token. @param logits [vocab] @throws Error if a logit is NaN, or the highest is infinite
    int next(std::span<const float> logits);

private:
    int draw(std::span<const float> logits);

    Sampling m_sampling;
    std::mt19937_64 m_random;
};

/// Length and sampling of generated texts, and when they end.
struct GenerationRules {
    int newTokens = 128;
    Sampling sampling = {};           ///< sampling of the first text; each further text uses the next seed
    std::vector<int> stopTokens = {}; ///< a text ends before the first of these tokens that is chosen
    /// Called after each new token, when the sink has received it. Returns whether the text ends with this token. Empty
    /// = no text ends by it.
    std::function<bool(std::size_t text)> isOver = {};
    int chunk = 512; ///< maximum number of prompt tokens of all texts together that run at once, to limit memory
    /// Maximum number of texts that go on at once; where one ends, the next begins. 0 = all.
    int rows = 0;
};

/// Why a text ended. `complete`: it has all new tokens, or isOver() ended it. `stopToken`: a stop token was chosen.
enum class TextEnd { complete, stopToken, contextFull };
std::string_view name(TextEnd end);

/// The continuation of one prompt.
struct Continuation {
    std::vector<int> tokens; ///< new tokens, without the stop token
    TextEnd end = TextEnd::complete;
};

/// Called with each new token as soon as it is chosen.
using TokenSink = std::function<void(std::size_t text, int token)>;

/// Continues several texts at once. Prompts may differ in length. A text does not depend on the other texts.
/// @param plan plan of model.runner()
/// @param prompts token ids of each text
/// @throws Error for encoders, and for prompts that are empty or leave no room in the model's context; UsageError as
/// checkSampling(); Cancelled within the time that one layer takes
std::vector<Continuation> generate(const Model& model, const Plan& plan, std::span<const std::vector<int>> prompts,
                                   const GenerationRules& rules, const Progress& progress = {},
                                   const TokenSink& sink = {});

} // namespace secateur
