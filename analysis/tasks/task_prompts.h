#pragma once

#include "analysis/tasks/task.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// Which solved questions stand in front of one that is asked.
enum class ShotChoice {
    first, ///< the first ones of the list, of the question's own subject where it has one
    drawn, ///< other ones for each question, by our own draw: not those that lm-eval draws
};

struct ShotRules {
    std::size_t count = 0;
    ShotChoice choice = ShotChoice::first;
    std::uint64_t seed = 1234;
};

/// How results say where their examples came from: "first 5 of the list", "own few-shot draw (5, seed 1234)"; empty
/// without examples.
std::string shotLabel(const ShotRules& rules);

/// Puts examples and descriptions in front of the contexts (evaluation.md 2.2); a question is no example of itself,
/// also where it stands in the list. Only `context` of the options changes.
/// @param all those asked, in the order of their file @param examples to choose from
/// @throws Error when there are too few examples, naming the subject
std::vector<TaskQuestion> withShots(std::span<const TaskQuestion> all, std::span<const TaskQuestion> examples,
                                    const ShotRules& rules);

/// 0 to count-1 in an order that count and seed alone decide: the first k are what a limited evaluation asks.
std::vector<std::size_t> shuffledOrder(std::size_t count, std::uint64_t seed);

} // namespace secateur
