#pragma once

#include "analysis/export/export_target.h"

#include <memory>
#include <string_view>
#include <vector>

namespace secateur {

// The functions of the rows of exportTargets(): ExportWriter::prepare, ExportWriter::layoutOf and
// ExportWriter::types.

/// Writes a model with cut weights set to 0. Format, tensor names, shapes, types, the split into files and small files
/// are those of the source. No other weight changes, except by a compensation: its factors are in the columns of the
/// output and down projections, and its biases are added to those of the model. A model without such biases gets them,
/// if programs that open it read them (biasRoom()). Tensors with WeightCut::isWidened become float32. Also writes the
/// mask (model.mask.json in a folder, NAME.mask.json next to a file) and a card (README.md or NAME.md). An existing
/// mask file with the same mask is kept.
std::unique_ptr<const PreparedExport> prepareMasked(const ExportTarget& target, const Model& source,
                                                    const ExportRequest& request);
ExportLayout maskedLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format);

/// Writes a GGUF file in which the tensors have the sizes of the layout. Stored types stay where the cuts follow the
/// blocks of quantised types, or ExportRequest::type is written.
std::unique_ptr<const PreparedExport> prepareGguf(const ExportTarget& target, const Model& source,
                                                  const ExportRequest& request);
ExportLayout ggufNativeLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format);
ExportLayout ggufDeciLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format);
ExportLayout ggufOpenElmLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format);
std::vector<std::string_view> ggufTypeNames(std::string_view format);

/// Writes a Hugging Face folder in which the tensors have the sizes of the layout, as safetensors.
std::unique_ptr<const PreparedExport> prepareHuggingFace(const ExportTarget& target, const Model& source,
                                                         const ExportRequest& request);
ExportLayout hfNativeLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format);
ExportLayout hfPerLayerLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format);
ExportLayout prunedHeadsLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format);
ExportLayout hfDeciLmLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format);
std::vector<std::string_view> hfTypeNames(std::string_view format);

/// Writes a checkpoint in the source's format whose layers are padded with zeros to the widest one.
std::unique_ptr<const PreparedExport> preparePadded(const ExportTarget& target, const Model& source,
                                                    const ExportRequest& request);
ExportLayout ownPaddedLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format);
std::vector<std::string_view> paddedTypeNames(std::string_view format);

} // namespace secateur
