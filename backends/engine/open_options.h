#pragma once

#include <cstdint>
#include <string>

namespace secateur {

/// How a model is to run.
struct OpenOptions {
    std::string device = "cpu";    ///< that multiplies its weights: "cpu", "cuda", "cuda:1"
    std::int64_t memoryBudget = 0; ///< bytes of converted weights on that device; 0 = half of what is free in memory,
                                   ///< or on another device whatever it holds
    bool plain = false;            ///< by ATen alone: what the fast loops are judged by
};

} // namespace secateur
