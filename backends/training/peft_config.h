#pragma once

#include "analysis/training/adapter.h"
#include "backends/training/peft_tensors.h"

#include <map>
#include <string>

namespace secateur {

/// The configuration of a LoRA adapter of PEFT.
struct PeftConfig {
    std::string path; ///< of the file, for messages
    int rank = 8;
    double alpha = 8;
    double dropout = 0;
    bool isRankStabilised = false;        ///< use_rslora: the scale is alpha / sqrt(rank)
    std::map<std::string, double> ranks;  ///< rank_pattern: ranks of modules by the end of their names
    std::map<std::string, double> alphas; ///< alpha_pattern
    std::string modelName;

    int rankOf(const std::string& module) const;
    /// The factor of the module's update. @param rank of the module
    double scaleOf(const std::string& module, int rank) const;
};

/// Reads adapter_config.json.
/// @throws Error naming the key if the adapter is of another type than LoRA, or has a property that is not read: DoRA,
/// biases, activated LoRA, initial weights that change the model
PeftConfig readPeftConfig(const std::string& path);

/// The text of adapter_config.json. Modules are named in full in `target_modules`.
std::string peftConfigText(const Adapter& adapter, const PeftModules& modules, const Model& model);

} // namespace secateur
