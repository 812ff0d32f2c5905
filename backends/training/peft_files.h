#pragma once

#include "analysis/masks/mask_record.h"
#include "analysis/training/adapter.h"

#include <string>

namespace secateur {

/// The name of the mask beside an adapter.
inline constexpr const char* adapterMaskName = "mask.json";

// Adapters as folders of PEFT: adapter_config.json and adapter_model.safetensors ("Adapters" in
// resources/manual/formats.md).

/// Writes an adapter, and its mask beside it as mask.json. Creates the folder if it does not exist. The configuration
/// is written last, so that a folder with one is complete.
/// @param mask the mask under which the adapter was trained; null = none
/// @throws Error if the adapter does not fit the model, its architecture has no class in transformers, or a file cannot
/// be written or replaced
void writeAdapter(const std::string& folder, const Adapter& adapter, const Model& model,
                  const MaskRecord* mask = nullptr);

/// Whether a folder has the configuration of an adapter.
bool adapterExists(const std::string& folder);

/// Removes the weights and the configuration of an adapter from a folder, if they are there. Leaves files of other
/// kinds.
void removeAdapter(const std::string& folder);

/// Reads an adapter that Secateur or PEFT wrote. Whole weights that are equal to those of the model are left out.
/// @throws Error naming file and place if it is no LoRA adapter, changes a weight that no adapter can change here, has
/// other shapes than the model, or has numbers that are not finite
Adapter readAdapter(const std::string& folder, const Model& model);

/// The model and the mask for which an adapter was trained. Fields are empty if the folder does not state them.
struct AdapterOrigin {
    std::string fingerprint; ///< of the model
    std::string maskDigest;  ///< of the mask, "dense" without one
    std::string maskPath;    ///< path of the mask file beside the adapter
};
/// @throws Error if the weights cannot be opened
AdapterOrigin adapterOrigin(const std::string& folder);

} // namespace secateur
