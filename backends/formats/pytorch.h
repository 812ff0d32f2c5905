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

/// The tensors of a state dict that torch.save wrote, as a zip archive or, before PyTorch 1.6, as a sequence of
/// pickles. The dict is the file's top-level value or its entry "state_dict", "model_state_dict" or "model". Tied
/// weights share bytes. No code in the file is executed. @throws Error
std::vector<TensorEntry> pytorchEntries(const std::shared_ptr<const MappedFile>& file);

inline constexpr HfWeights pytorchWeights{"pytorch_model.bin.index.json", "pytorch_model.bin", pytorchEntries};

/// Whether the first bytes of a file are those of a file that torch.save wrote.
bool looksLikePytorch(std::string_view bytes);

/// Opens a Hugging Face directory or a file in the folder of its config.json; all shards if it is one of several.
/// @throws Error, Cancelled
std::unique_ptr<const Checkpoint> openPytorch(const std::string& path, const Progress& progress);

/// Globals that a pickle of tensors may contain: functions that rebuild tensors, storages, dtypes and a few containers.
std::span<const std::string_view> pytorchGlobals();

/// A storage: consecutive numbers, of which tensors are views.
struct TorchStorage {
    std::string key;
    const StorageType* type = nullptr; ///< nullptr = untyped, counted in bytes
    std::int64_t count = 0;
};

/// @param value an external value. @throws Error if it is not a storage
TorchStorage torchStorage(const Pickle& pickle, const PickleValue& value, const std::string& subject);

/// The tensors of the state dict in a pickle.
/// @param bytesOf returns the bytes of a storage; torchTensors() checks their number
/// @throws Error naming the tensor
std::vector<TensorEntry> torchTensors(const Pickle& pickle, const std::shared_ptr<const MappedFile>& file,
                                      const std::function<std::span<const std::byte>(const TorchStorage&)>& bytesOf);

} // namespace secateur
