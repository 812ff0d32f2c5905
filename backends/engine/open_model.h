#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

/// Options for running a model.
struct OpenOptions {
    std::string device = "cpu";    ///< "cpu", "cuda" or "cuda:N"
    std::int64_t memoryBudget = 0; ///< maximum bytes of converted weights on the device; 0 = half of the free memory
                                   ///< on the CPU, no limit on other devices
    bool plain = false;            ///< use ATen only: the reference with which tests compare the CPU loops
};

/// Opens a directory or a file in one of the formats of formats.h: a Hugging Face directory (config.json with
/// safetensors or PyTorch weights, sharded or not), a file of such weights next to its config.json, a .gguf file or a
/// directory with one model in .gguf files. For a repository's folder in the hub's cache, opens its snapshot. Finds all
/// tensors and checks their shapes; weights are mapped and read on demand.
/// @throws Error naming the file, the place in it and the reason, or the device; Cancelled
std::shared_ptr<const Model> openModel(const std::string& path, const Progress& progress = {},
                                       const OpenOptions& options = {});

/// A warning for each weight file of a model whose size or time of change is not that of when it was opened. To be
/// called at the end of a run; a truncated file is an error before, in Model::checkFiles().
std::vector<std::string> overwrittenFiles(const Model& model);

/// The runner of a model. @param model must outlive the runner
std::unique_ptr<const Runner> makeRunner(const Model& model, const OpenOptions& options);

/// A tensor in a file.
struct TensorInfo {
    std::string name;
    std::string dtype;               ///< the format's name of the type: "BF16", "Q4_1"
    std::vector<std::int64_t> shape; ///< slowest dimension first, in every format
    std::int64_t bytes = 0;
    std::string file; ///< name of the file, without directory
};

/// All tensors of a checkpoint, sorted by name; its architecture may be unknown.
/// @throws Error
std::vector<TensorInfo> listTensors(const std::string& path);

} // namespace secateur
