#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

/// How a model is to run.
struct OpenOptions {
    std::string device = "cpu";    ///< that multiplies its weights: "cpu", "cuda", "cuda:1"
    std::int64_t memoryBudget = 0; ///< bytes of converted weights on that device; 0 = half of what is free in memory,
                                   ///< or on another device whatever it holds
    bool plain = false;            ///< by ATen alone: what the fast loops are judged by
};

/// Opens a directory or a file in one of the formats of formats.h: a Hugging Face directory (config.json with
/// safetensors or PyTorch weights, sharded or not), a file of such weights beside its config.json, a .gguf file or a
/// directory that holds one model of them; a repository's folder in the hub's cache stands for its snapshot. Reads
/// headers only: weights are mapped and read when asked for.
/// @throws Error naming the file, the place in it and the reason, or the device; Cancelled
std::shared_ptr<const Model> openModel(const std::string& path, const Progress& progress = {},
                                       const OpenOptions& options = {});

/// A tensor as a file lists it.
struct TensorInfo {
    std::string name;
    std::string dtype;               ///< as the format calls it: "BF16", "Q4_1"
    std::vector<std::int64_t> shape; ///< slowest dimension first, whatever the format's own order
    std::int64_t bytes = 0;
    std::string file; ///< the file it lies in, without directory
};

/// Everything in the checkpoint's directory of tensors, by name, whether the architecture is known or not.
/// @throws Error
std::vector<TensorInfo> listTensors(const std::string& path);

} // namespace secateur
