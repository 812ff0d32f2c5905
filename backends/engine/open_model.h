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
                                   ///< on the CPU, three quarters of it on other devices
    bool fixedBatches = false;     ///< whether batches are as large as asked even where memory is short, so that all
                                   ///< processes of a job form the same
    bool plain = false;            ///< use ATen only, as the reference that tests compare the CPU loops with
};

/// Opens a directory or a file in one of the formats of formats.h:
/// - a Hugging Face directory: config.json with safetensors or PyTorch weights, in one file or several;
/// - a file of such weights next to its config.json;
/// - a .gguf file, or a directory that contains one model in .gguf files.
/// For the folder of a repository in the hub's cache, opens its snapshot. Finds all tensors and checks their shapes.
/// Weights are mapped, and read when they are needed.
/// @throws Error naming the file, the place in it and the reason, or the device; Cancelled
std::shared_ptr<const Model> openModel(const std::string& path, const Progress& progress = {},
                                       const OpenOptions& options = {});

/// A warning for each weight file of a model whose size or time of change is not that of when it was opened. To be
/// called at the end of a run; a truncated file is an error before, in Model::checkFiles().
std::vector<std::string> overwrittenFiles(const Model& model);

/// The runner of a model. @param model must outlive the runner
std::unique_ptr<const Runner> makeRunner(const Model& model, const OpenOptions& options);

/// Facts about a tensor in a file.
struct TensorInfo {
    std::string name;
    std::string dtype;               ///< name of the type in the format: "BF16", "Q4_1"
    std::vector<std::int64_t> shape; ///< slowest dimension first, in every format
    std::int64_t bytes = 0;
    std::string file; ///< name of the file, without its directory
};

/// All tensors of a checkpoint, sorted by name. The architecture need not be known. @throws Error
std::vector<TensorInfo> listTensors(const std::string& path);

} // namespace secateur
