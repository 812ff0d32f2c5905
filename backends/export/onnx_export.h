#pragma once

#include "analysis/export/export_target.h"

#include <memory>
#include <string_view>

namespace secateur {

/// Writes an encoder under a mask as a folder with model.onnx (ExportWriter::prepare; onnxModel() describes the graph).
/// A model above 2 GB has its large weights in model.onnx_data, because Protocol Buffers cannot be larger. Beside them
/// are the source's configuration and tokenizer (of a Hugging Face directory), the mask and a card. Secateur does not
/// read ONNX, so that ExportResult::verified compares no tokens, and card and result say so.
/// @throws Error if the folder exists, the disk is full or a weight cannot be read; Cancelled
std::unique_ptr<const PreparedExport> prepareOnnx(const ExportTarget& target, const Model& source,
                                                  const ExportRequest& request);

/// The layout of an ONNX export: what is left of the model.
ExportLayout onnxLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format);

} // namespace secateur
