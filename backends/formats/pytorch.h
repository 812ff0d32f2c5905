#pragma once

#include "analysis/base/progress.h"
#include "backends/formats/checkpoint.h"
#include "backends/formats/hf_weights.h"
#include "backends/formats/pickle.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// The tensors of a state dict that torch.save wrote: as a zip archive or, before PyTorch 1.6, as a sequence of
/// pickles. The state dict is the top-level value, or its entry "state_dict", "model_state_dict" or "model". Tied
/// weights share bytes. No code in the file is executed. @throws Error
std::vector<TensorEntry> pytorchEntries(const std::shared_ptr<const MappedFile>& file);

inline constexpr HfWeights pytorchWeights{"pytorch_model.bin.index.json", "pytorch_model.bin", pytorchEntries};

/// Whether a file that begins with these bytes was written by torch.save.
bool looksLikePytorch(std::string_view bytes);

/// Opens a Hugging Face directory, or a file next to its config.json. If the file is one of several shards, opens all
/// of them. @throws Error, Cancelled
std::unique_ptr<const Checkpoint> openPytorch(const std::string& path, const Progress& progress);

/// Globals that a pickle of tensors may contain: functions that rebuild tensors, storages, dtypes and some containers.
std::span<const std::string_view> pytorchGlobals();

/// A storage: consecutive numbers that tensors are views of.
struct TorchStorage {
    std::string key;
    const StorageType* type = nullptr; ///< element type; null = untyped, so that its size counts bytes
    std::int64_t count = 0;
};

/// The storage that a value names. @param value a persistent object @throws Error if it is not a storage
TorchStorage torchStorage(const Pickle& pickle, const PickleValue& value, const std::string& subject);

/// The tensors of the state dict in a pickle.
/// @param bytesOf returns the bytes of a storage; torchTensors() checks their number
/// @throws Error naming the tensor
std::vector<TensorEntry> torchTensors(const Pickle& pickle, const std::shared_ptr<const MappedFile>& file,
                                      const std::function<std::span<const std::byte>(const TorchStorage&)>& bytesOf);

} // namespace secateur
