#pragma once

#include "analysis/model/model_spec.h"

#include <string>
#include <string_view>

namespace secateur {

/// Programs for which a model card shows how to open an export.
enum class Loader {
    none,
    ofSource, ///< llamaCpp for GGUF, transformers for other formats
    llamaCpp,
    transformers,
    transformersOwnCode, ///< with the Python file of the layout per_layer
    transformers4,
    vllm,
    vllmDeciLm, ///< not tried
    onnxRuntime,
};

/// A heading and the code that opens an export, in Markdown. @param format id of the exported files' format
/// @param name name of the file or folder
std::string loadingText(Loader loader, const ModelSpec& spec, std::string_view format, std::string_view name);

} // namespace secateur
