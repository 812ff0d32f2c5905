#pragma once

#include "analysis/training/adapter.h"
#include "backends/engine/open_model.h"

#include <memory>
#include <string>

namespace secateur {

/// A model with an adapter: its weights are those of the base model with the adapter's updates, and the weights that
/// the adapter replaces. Places, files and kernels are those of the base model. Updated weights are float32, and made
/// when they are read. The name of the card is "NAME + adapter", and its path that of the base model.
/// @param base a model of openModel() @param folder of the adapter, for the card; may be empty
/// @throws Error if the adapter does not fit the model
std::shared_ptr<const Model> withAdapter(std::shared_ptr<const Model> base, std::shared_ptr<const Adapter> adapter,
                                         const OpenOptions& options, const std::string& folder = {});

/// The adapter of a model that withAdapter() made; null for other models.
std::shared_ptr<const Adapter> adapterOf(const Model& model);
/// The model without its adapter.
const Model& baseOf(const Model& model);

/// The digest of an adapter: "sha256:" and 64 lower-case hexadecimal digits, over its updates in the order of their
/// places, and then over the weights that it replaces. For each update: layer, number of the weight's name, rank
/// (int64); scale (float64); A and B. For each weight: layer, number of the name, number of elements (int64); the
/// elements. Numbers are little-endian.
std::string adapterDigest(const Adapter& adapter);

} // namespace secateur
