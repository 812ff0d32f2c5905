#pragma once

#include "analysis/model/model_spec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace secateur {

/// Facts about a checkpoint that are known without reading its weights. Sessions store them.
struct ModelCard {
    std::string path;   ///< as given when it was opened
    std::string format; ///< id in the format table
    std::string name;   ///< name of the directory or the file, without extension
    ModelSpec spec;
    std::int64_t parameters = 0;
    std::int64_t bytes = 0;  ///< of all tensors in the file
    std::string dtype;       ///< stored type of most weights: "F16", "Q4_1"
    std::string tokenizer;   ///< kind of tokenizer, or empty
    std::string fingerprint; ///< empty until it is computed
    std::vector<std::string> warnings;
};

} // namespace secateur
