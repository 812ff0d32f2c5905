#pragma once

#include "backends/formats/checkpoint.h"
#include "backends/formats/pickle.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Globals that a pickle of tensors may name: functions that rebuild tensors, storages, dtypes and a few containers.
std::span<const std::string_view> pytorchGlobals();

/// A storage: consecutive numbers that tensors are views of.
struct TorchStorage {
    std::string key;
    const StorageType* type = nullptr; ///< nullptr = untyped, counted in bytes
    std::int64_t count = 0;
};

/// @param value an external value. @throws Error if it is not a storage
TorchStorage torchStorage(const Pickle& pickle, const PickleValue& value, const std::string& subject);

/// The tensors of the state dict in a pickle.
/// @param bytesOf finds the bytes of a storage; their number is checked here
/// @throws Error naming the tensor
std::vector<TensorEntry> torchTensors(const Pickle& pickle, const std::shared_ptr<const MappedFile>& file,
                                      const std::function<std::span<const std::byte>(const TorchStorage&)>& bytesOf);

} // namespace secateur
