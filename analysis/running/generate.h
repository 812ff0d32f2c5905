#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"
#include "analysis/running/plan.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace secateur {

/// How the next token is chosen.
struct Sampling {
    double temperature = 0; ///< 0 = the likeliest token; of equally likely ones that with the lowest id
    double topP = 1;        ///< draw among the fewest likeliest tokens whose probabilities sum to this
    std::uint64_t seed = 0;

    bool operator==(const Sampling&) const = default;
};

/// @throws UsageError when the temperature is negative or not finite, or topP is outside (0, 1]
void checkSampling(const Sampling& sampling);

/// Chooses tokens for one text. The same seed and logits give the same tokens, whatever the standard library.
class Sampler {
public:
    /// @throws UsageError as checkSampling
    explicit Sampler(const Sampling& sampling);

    /// @param logits of every token. @throws Error when one is NaN, or the highest is infinite
    int next(std::span<const float> logits);

private:
    int draw(std::span<const float> logits);

    Sampling m_sampling;
    std::mt19937_64 m_random;
};

/// How far texts are continued, and how their tokens are chosen.
struct GenerationRules {
    int newTokens = 128;
    Sampling sampling = {};           ///< of the first text; each further one takes the next seed
    std::vector<int> stopTokens = {}; ///< a text ends before any of them
    /// Asked behind each new token, after the sink: whether the text ends with it. Empty = it goes on.
    std::function<bool(std::size_t text)> isOver = {};
    int chunk = 512; ///< tokens of the prompts, all together, that run at once: bounds the memory they take
};

/// Why a text ends: it has its new tokens (or is over sooner), a stop token came, or the model's context is full.
enum class TextEnd { complete, stopToken, contextFull };
std::string_view name(TextEnd end);

/// What was put behind one prompt.
struct Continuation {
    std::vector<int> tokens; ///< new ones, without the stop token
    TextEnd end = TextEnd::complete;
};

/// Told of each new token as soon as it is chosen.
using TokenSink = std::function<void(std::size_t text, int token)>;

/// Continues texts side by side; prompts may differ in length, and a text does not depend on those beside it.
/// @param plan of model.runner()
/// @param prompts token ids of each text
/// @throws Error for encoders, and prompts that are empty or leave no room in the model's context; UsageError for
/// sampling that is none; Cancelled within the time that one layer takes
std::vector<Continuation> generate(const Model& model, const Plan& plan, std::span<const std::vector<int>> prompts,
                                   const GenerationRules& rules, const Progress& progress = {},
                                   const TokenSink& sink = {});

} // namespace secateur
