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

/// What a pickle of tensors may name: the functions that make tensors, storages, types and a few plain containers.
std::span<const std::string_view> pytorchGlobals();

/// Numbers in a row that tensors are views of.
struct TorchStorage {
    std::string key;
    const StorageType* type = nullptr; ///< nullptr = counted in bytes
    std::int64_t count = 0;
};

/// @param value an external value. @throws Error when it is no storage
TorchStorage torchStorage(const Pickle& pickle, const PickleValue& value, const std::string& subject);

/// The tensors of the state dict in a pickle.
/// @param bytesOf where a storage lies; its size is compared here
/// @throws Error naming the tensor
std::vector<TensorEntry> torchTensors(const Pickle& pickle, const std::shared_ptr<const MappedFile>& file,
                                      const std::function<std::span<const std::byte>(const TorchStorage&)>& bytesOf);

} // namespace secateur
