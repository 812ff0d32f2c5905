#include "analysis/export/onnx_reasons.h"

#include "analysis/export/layer_reasons.h"

#include <fmt/format.h>

namespace secateur {

namespace {

/// Whether a layer is one of BERT, possibly with fewer heads.
bool isPlain(const LayerSpec& layer) {
    const bool isFull = layer.attention == AttentionKind::full && layer.kvHeads == layer.heads;
    return (isFull || layer.attention == AttentionKind::none) && layer.window == 0 && !layer.normsHeads &&
           layer.rotary.dims == 0;
}

} // namespace

Reasons onnxReasons(const PruningMask& mask, const ModelSpec& spec, std::string_view) {
    if (spec.family != Family::encoder)
        return {fmt::format("only encoders such as BERT are written as ONNX; {} is a decoder", spec.architecture)};
    const bool isBert = spec.norm == NormKind::layer && spec.normPlace == NormPlace::after &&
                        spec.positions == Positions::learned && !spec.gatedMlp && spec.normWeightOffset == 0 &&
                        spec.embeddingScale == 1 && spec.scoreSoftcap == 0;
    if (!isBert)
        return {fmt::format("only encoders with learned positions, norms after their sublayers and ungated MLPs are "
                            "written as ONNX; {} is another one",
                            spec.architecture)};
    Reasons reasons;
    MaskedModel(mask, spec)
        .refuse(
            reasons, [](const CutLayer& layer) { return !isPlain(layer.spec); },
            "the attention has windows, norms of heads, rotary positions or fewer keys than queries, which are not "
            "written as ONNX");
    return reasons;
}

} // namespace secateur
