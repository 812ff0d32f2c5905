#pragma once

#include "analysis/model/model_spec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace secateur {

/// Facts about a checkpoint that are known without reading its weights. Sessions store them.
struct ModelCard {
    std::string path;   ///< path with which it was opened
    std::string format; ///< id of the format
    std::string name;   ///< name of the directory or the file, without extension
    ModelSpec spec;
    std::int64_t parameters = 0;
    std::int64_t bytes = 0;  ///< size of all tensors in the file
    std::string dtype;       ///< stored type of most weights: "F16", "Q4_1"
    std::string tokenizer;   ///< kind of tokenizer; empty if there is none
    std::string fingerprint; ///< empty until it is computed
    std::string adapter;     ///< folder of the adapter that changes its weights; empty = none
    std::vector<std::string> warnings;
};

} // namespace secateur
