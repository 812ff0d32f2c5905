#include "backends/export/export_writers.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/export/bias_room.h"
#include "backends/config/architectures.h"
#include "backends/config/rope_divisors.h"
#include "backends/config/tensor_patterns.h"
#include "backends/export/compact_source.h"
#include "backends/export/compact_tensors.h"
#include "backends/export/export_files.h"
#include "backends/export/gguf_file.h"
#include "backends/formats/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace secateur {

namespace {

namespace fs = std::filesystem;

/// Metadata of a GGUF file, by key.
using Fields = std::map<std::string, GgufField>;

void set(Fields& fields, GgufField field) {
    fields[field.key] = field;
}

/// Sets a number per layer, as a single number if all are equal and `list` is false.
void setPerLayer(Fields& fields, const std::string& key, const ModelSpec& spec, int LayerSpec::*size, bool list) {
    std::vector<std::int32_t> sizes;
    for (const LayerSpec& layer : spec.layers)
        sizes.push_back(layer.*size);
    if (list)
        set(fields, fieldOf(key, std::span<const std::int32_t>(sizes)));
    else
        set(fields, fieldOf(key, static_cast<std::uint32_t>(sizes.front())));
}

/// The metadata of the source with another architecture in the keys, without those that split or describe its file.
Fields copiedFields(const GgufMetadata& metadata, const std::string& architecture) {
    const std::string from = metadata.text("general.architecture").value_or("") + ".";
    Fields fields;
    for (const std::string& key : metadata.keys()) {
        if (key.starts_with("split.") || key == "general.alignment" || key == "general.file_type" ||
            key.starts_with("general.size_label"))
            continue;
        GgufField field = metadata.field(key);
        if (key.starts_with(from))
            field.key = architecture + "." + key.substr(from.size());
        set(fields, field);
    }
    return fields;
}

/// Sets what the layout changes.
void setShapes(Fields& fields, const ExportLayout& layout, const std::string& architecture) {
    const std::string prefix = architecture + ".";
    const bool list = layout.id == "deci";
    const LayerSpec& first = layout.spec.layers.front();
    set(fields, fieldOf("general.architecture", architecture));
    set(fields, fieldOf(prefix + "block_count", static_cast<std::uint32_t>(layout.spec.layerCount())));
    setPerLayer(fields, prefix + "attention.head_count", layout.spec, &LayerSpec::heads, list);
    setPerLayer(fields, prefix + "attention.head_count_kv", layout.spec, &LayerSpec::kvHeads, list);
    setPerLayer(fields, prefix + "feed_forward_length", layout.spec, &LayerSpec::ffn, list);
    set(fields, fieldOf(prefix + "attention.key_length", static_cast<std::uint32_t>(first.headDim)));
    set(fields, fieldOf(prefix + "attention.value_length", static_cast<std::uint32_t>(first.headDim)));
    if (layout.spec.positions == Positions::rotary)
        set(fields, fieldOf(prefix + "rope.dimension_count", static_cast<std::uint32_t>(first.rotary.dims)));
}

std::string ggufName(const ModelSpec& spec) {
    for (const ArchitectureInfo& row : allArchitectures())
        if (row.id == spec.architecture && !row.ggufNames.empty())
            return std::string(row.ggufNames.front());
    throw Error(fmt::format("has the architecture {}, which has no name in GGUF", spec.architecture));
}

/// Tensors that are not weights and that the export keeps, such as the divisors of rotary frequencies.
void addUnchanged(std::vector<TargetTensor>& tensors, const Checkpoint& checkpoint) {
    const TensorEntry* divisors = checkpoint.find("rope_freqs.weight");
    if (!divisors)
        return;
    FilePiece piece = copyOf(divisors->data);
    piece.file = divisors->file;
    tensors.push_back({divisors->name, divisors->type, divisors->shape, {piece}});
}

} // namespace

ExportLayout ggufNativeLayout(const ModelSpec& source, const PruningMask& mask, std::string_view) {
    return nativeLayout(withCompensationBiases(source, mask, "gguf"), mask, "gguf");
}

ExportLayout ggufDeciLayout(const ModelSpec& source, const PruningMask& mask, std::string_view) {
    return deciLayout(source, mask);
}

ExportResult writeGguf(const ExportTarget& target, const Model& source, const ExportRequest& request,
                       const Progress& progress) {
    const CompactSource files(source.card());
    const ExportLayout layout = target.writer->layoutOf(source.spec(), request.record.mask, source.card().format);
    WrittenTypes types(ggufTypes(), request.type);
    const TensorConventions conventions{
        .pattern = [&](WeightName weight) { return files.ownPattern(weight); },
        .prefix = files.prefix(),
        .pairsRotaryRows = files.description().pairsRotaryRows,
        .addsOneToNorms = files.description().addsOneToNorms,
        .type = [&](const auto&... facts) -> const StorageType& { return types.choose(facts...); }};
    std::vector<TargetTensor> tensors =
        compactTensors(files.description(), files.slots(), request.record.mask, layout, conventions);
    addUnchanged(tensors, files.checkpoint());
    Fields fields = copiedFields(files.ggufMetadata(), ggufName(layout.spec));
    setShapes(fields, layout, ggufName(layout.spec));
    std::vector<GgufField> list;
    for (auto& [key, field] : fields)
        list.push_back(std::move(field));
    const GgufFile file(list, std::move(tensors));
    const ExportPlan plan{.weights = file,
                          .isOneGguf = true,
                          .warnings = types.warnings(),
                          .contents = smallerContents,
                          .tolerance = types.isLossy() ? roundedTolerance : exportTolerance};
    return runExport(target, source, layout, request, plan, progress);
}

} // namespace secateur
