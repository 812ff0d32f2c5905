#pragma once

#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model_spec.h"

#include <string_view>
#include <vector>

namespace secateur {

/// In place of a unit of the source: a unit whose weights are all 0.
inline constexpr int zeroUnit = -1;

/// A layer of an exported checkpoint, and the units of the source's layer that it contains, in order.
struct ExportedLayer {
    int source = 0;           ///< the source's layer
    std::vector<int> heads;   ///< query heads, or zeroUnit
    std::vector<int> kvHeads; ///< KV heads, or zeroUnit; a KV head may occur several times
    std::vector<int> neurons; ///< neurons of the MLP, or zeroUnit
};

/// The layout in which an exported checkpoint is written and opened again.
struct ExportLayout {
    std::string_view id; ///< "native": names and shapes of the source's own architecture
    ModelSpec spec;      ///< of the exported model
    /// [spec.layers]; empty if the export has the layers and units of the source
    std::vector<ExportedLayer> layers = {};
};

/// A layer under a mask.
struct CutLayer {
    int index;
    const LayerSpec& spec;
    const LayerMask& mask;

    bool hasAttention() const { return spec.attention != AttentionKind::none && !dropsAttention(mask); }
    bool hasMlp() const { return spec.ffn > 0 && !dropsMlp(mask); }
    /// Whether each token attends to itself only.
    bool bypasses() const;
    int heads() const { return hasAttention() ? mask.keptHeads() : 0; }
    int kvHeads() const;
    int neurons() const { return hasMlp() ? mask.keptNeurons() : 0; }
};

CutLayer cutLayer(const ModelSpec& spec, const PruningMask& mask, int index);

// Layouts of a model under a mask. A mask for which the reasons of the target (ExportReasons) are not empty has no
// valid layout. Layers whose block is dropped are left out, unless norms follow the sublayers (NormPlace::after).

/// Every layer has exactly its kept units. Sublayers without units are missing.
ExportLayout raggedLayout(const ModelSpec& source, const PruningMask& mask, std::string_view id);

/// For llama.cpp's architecture deci. A bypass of queries and keys becomes a single matrix (AttentionKind::linear).
/// Zero units are added where llama.cpp needs them: a head in the first layer, and neurons in a layer with attention
/// and in the last layer. Layers without any sublayer are left out.
ExportLayout deciLayout(const ModelSpec& source, const PruningMask& mask);

/// For llama.cpp's architecture openelm: each layer has attention and an MLP, of zero units where the mask leaves none.
ExportLayout openElmLayout(const ModelSpec& source, const PruningMask& mask);

/// For DeciLM: all query heads in each layer with attention, MLP widths that are multiples of 256.
ExportLayout deciLmLayout(const ModelSpec& source, const PruningMask& mask);

/// All layers are as wide as the widest: zero units are added to the others. Each layer has all its sublayers.
/// @param format id of the exported checkpoint's format, as for nativeLayout()
ExportLayout paddedLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format);

/// The layout of the model's own architecture, for masks after which all layers have equally many units. In
/// transformers, a Llama model whose hidden size is not a multiple of its heads becomes a Mistral model without a
/// window, which is the same computation. @param format id of the exported checkpoint's format
ExportLayout nativeLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format);

} // namespace secateur
