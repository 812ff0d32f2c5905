#include "analysis/export/onnx_reasons.h"

#include <fmt/format.h>

#include <algorithm>

namespace secateur {

namespace {

/// Whether a layer is one of BERT, possibly with fewer heads.
bool isPlain(const LayerSpec& layer) {
    const bool isFull = layer.attention == AttentionKind::full && layer.kvHeads == layer.heads;
    return (isFull || layer.attention == AttentionKind::none) && layer.window == 0 && !layer.normsHeads &&
           layer.rotary.dims == 0;
}

} // namespace

std::vector<std::string> onnxReasons(const PruningMask&, const ModelSpec& spec, std::string_view) {
    if (spec.family != Family::encoder)
        return {fmt::format("only encoders such as BERT are written as ONNX; {} is a decoder", spec.architecture)};
    const bool isBert = spec.norm == NormKind::layer && spec.normPlace == NormPlace::after &&
                        spec.positions == Positions::learned && !spec.gatedMlp && spec.normWeightOffset == 0 &&
                        spec.embeddingScale == 1 && spec.scoreSoftcap == 0 && std::ranges::all_of(spec.layers, isPlain);
    if (isBert)
        return {};
    return {fmt::format("only encoders with learned positions, norms after their sublayers and as many keys as queries "
                        "are written as ONNX; {} is another one",
                        spec.architecture)};
}

} // namespace secateur
