#pragma once

#include "analysis/model/model_spec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace secateur {

/// What can be said of a checkpoint without touching its weights; kept in sessions.
struct ModelCard {
    std::string path;   ///< as it was opened
    std::string format; ///< id in the format table
    std::string name;   ///< what to call it: the directory's or the file's, without extension
    ModelSpec spec;
    std::int64_t parameters = 0;
    std::int64_t bytes = 0;  ///< of all tensors in the file
    std::string dtype;       ///< of most weights: "F16", "Q4_1"
    std::string tokenizer;   ///< its kind, or empty
    std::string fingerprint; ///< empty until it was taken
    std::vector<std::string> warnings;
};

} // namespace secateur
