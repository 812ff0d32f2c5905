#pragma once

#include "analysis/training/adapter.h"
#include "backends/base/mapped_file.h"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace secateur {

struct PeftConfig;

/// The update of a module of transformers.
struct PeftUpdate {
    LowRankUpdate update = {};
    std::int64_t in = 0;
    std::int64_t out = 0;
    bool transposed = false; ///< whether the module is a Conv1D, which stores its matrix as [in, out]
    /// Ranks of the updates of queries, keys and values in that of their fused matrix, 0 = none; empty = not fused. A
    /// has the rows of their A, B has their B on its diagonal.
    std::vector<int> parts = {};
};

/// A whole weight of a module, which replaces that of the model.
struct PeftTensor {
    std::vector<std::int64_t> shape;
    std::vector<float> numbers;
};

/// An adapter by the names of the modules of transformers.
struct PeftModules {
    std::map<std::string, PeftUpdate> updates; ///< by module
    std::map<std::string, PeftTensor> tensors; ///< by module and kind: "model.norm.weight"
    std::set<std::string> saved;               ///< modules_to_save: the modules of `tensors`
};

/// The modules of an adapter. PEFT reads modules with whole weights only if all their weights are there, so that the
/// others are those of the model. The same holds for the classifier, which PEFT always expects.
/// @throws Error if the architecture has no class in transformers
PeftModules peftModules(const Adapter& adapter, const Model& model);

using TensorMetadata = std::map<std::string, std::string>;

/// The ranks of the parts of fused updates as JSON: {"transformer.h.0.attn.c_attn": [8, 0, 8]}.
std::string fusedPartsText(const PeftModules& modules);

/// The bytes of adapter_model.safetensors. Equal adapters give equal bytes.
std::string tensorBytes(const PeftModules& modules, const TensorMetadata& metadata);

/// The updates and weights in a safetensors file of PEFT. @throws Error naming file and tensor
Adapter adapterFrom(const std::shared_ptr<const MappedFile>& file, const PeftConfig& config, const Model& model);

} // namespace secateur
