#pragma once

#include "analysis/weights/stored_tensors.h"
#include "backends/formats/checkpoint.h"

#include <memory>

namespace secateur {

/// Whether the numbers of a type can be decoded.
bool isReadable(const StorageType& type);

/// A plane of a tensor as a grid that keeps the file mapped. @throws Error if the type cannot be decoded or has no such
/// plane
std::shared_ptr<const NumberGrid> tensorGrid(const TensorEntry& entry, TensorPlane plane);

/// A weight of the model as [out, in], in the form of Model::tensor(). @param headSize rows of a head, for paired
/// rotary rows @throws Error if the type cannot be decoded
std::shared_ptr<const NumberGrid> weightGrid(const TensorEntry& entry, const TensorPart& part, int headSize);

/// One number. @param place index in row-major order @throws Error if the type cannot be decoded or the file was
/// truncated
StoredNumber storedNumber(const TensorEntry& entry, std::int64_t place);

} // namespace secateur
