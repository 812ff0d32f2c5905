#include "backends/export/export_writers.h"

#include "analysis/base/error.h"
#include "analysis/export/bias_room.h"
#include "backends/config/architectures.h"
#include "backends/export/compact_source.h"
#include "backends/export/compact_tensors.h"
#include "backends/export/export_files.h"
#include "backends/export/gguf_description.h"
#include "backends/export/gguf_file.h"
#include "backends/export/gguf_tokenizer_metadata.h"
#include "backends/export/source_licence.h"
#include "backends/formats/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace secateur {

namespace {

/// Metadata of a GGUF file, by key.
using Fields = std::map<std::string, GgufField>;

void set(Fields& fields, GgufField field) {
    fields[field.key] = field;
}

/// Sets a number of units: a list with the number of each layer, or one number for all layers.
void setPerLayer(Fields& fields, const std::string& key, const ModelSpec& spec, int LayerSpec::* size, bool list) {
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
    const bool list = layout.id == "deci" || layout.id == "openelm";
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

/// The tensor of rotary divisors, copied from a GGUF source.
std::optional<TargetTensor> copiedDivisors(const Checkpoint& checkpoint) {
    const TensorEntry* divisors = checkpoint.find("rope_freqs.weight");
    if (!divisors)
        return std::nullopt;
    FilePiece piece = copyOf(divisors->data);
    piece.file = divisors->file;
    return TargetTensor{divisors->name, divisors->type, divisors->shape, {piece}};
}

/// The metadata of a GGUF that is made from a Hugging Face checkpoint.
Fields madeFields(const ModelCard& card, const std::string& architecture, std::vector<std::string>& warnings) {
    Fields fields;
    for (const GgufField& field : ggufFieldsOf(card.spec, architecture, card.name))
        set(fields, field);
    if (const std::string licence = licenceOf(card); !licence.empty())
        set(fields, fieldOf("general.license", std::string_view(licence)));
    try {
        const GgufTokenizer tokenizer = ggufTokenizerOf(card.path, card.spec.vocab);
        for (const GgufField& field : tokenizer.fields)
            set(fields, field);
        warnings.insert(warnings.end(), tokenizer.warnings.begin(), tokenizer.warnings.end());
    } catch (const Error& error) {
        warnings.push_back(fmt::format("the export has no tokenizer: {}", error.what()));
        set(fields, fieldOf("tokenizer.ggml.model", "no_vocab"));
    }
    return fields;
}

/// How the tensors of a GGUF are named and stored: as llama.cpp does for the architecture, with the names of the source
/// if that is a GGUF whose tensors are the same.
TensorConventions conventionsFor(const CompactSource& files, bool isGguf, const ExportLayout& layout) {
    const ArchitectureInfo& info = architectureOfGguf(ggufNameOf(layout.spec));
    TensorConventions conventions{
        .pattern = [&spec = layout.spec](WeightName weight) { return ggufPattern(spec, weight); },
        .prefix = {},
        .pairsRotaryRows = info.ggufPairsRotaryRows,
        .addsOneToNorms = info.ggufAddsOneToNorms,
        .type = {}};
    if (isGguf && layout.id != "openelm")
        conventions.pattern = [&files](WeightName weight) { return files.ownPattern(weight); };
    return conventions;
}

} // namespace

ExportLayout ggufNativeLayout(const ModelSpec& source, const PruningMask& mask, std::string_view) {
    return nativeLayout(withCompensationBiases(source, mask, "gguf"), mask, "gguf");
}

ExportLayout ggufDeciLayout(const ModelSpec& source, const PruningMask& mask, std::string_view) {
    return deciLayout(source, mask);
}

ExportLayout ggufOpenElmLayout(const ModelSpec& source, const PruningMask& mask, std::string_view) {
    return openElmLayout(source, mask);
}

std::vector<std::string_view> ggufTypeNames(std::string_view) {
    return namesOf(ggufTypes());
}

std::unique_ptr<const PreparedExport> prepareGguf(const ExportTarget& target, const Model& source,
                                                  const ExportRequest& request) {
    const auto opened = std::make_shared<const CompactSource>(source, request.record.mask);
    const CompactSource& files = *opened;
    const bool isGguf = source.card().format == "gguf";
    const ExportLayout layout = target.writer->layoutOf(source.spec(), request.record.mask, source.card().format);
    const std::string architecture = ggufNameOf(layout.spec);
    WrittenTypes types(ggufTypes(), request.type);
    TensorConventions conventions = conventionsFor(files, isGguf, layout);
    conventions.type = [&](const auto&... facts) -> const StorageType& { return types.choose(facts...); };
    std::vector<TargetTensor> tensors =
        compactTensors(files.description(), files.slots(), files.changed(), request.record.mask, layout, conventions);
    if (auto divisors = isGguf ? copiedDivisors(files.checkpoint()) : rotaryDivisors(layout.spec))
        tensors.push_back(std::move(*divisors));
    std::vector<std::string> warnings = types.warnings();
    Fields fields =
        isGguf ? copiedFields(files.ggufMetadata(), architecture) : madeFields(source.card(), architecture, warnings);
    setShapes(fields, layout, architecture);
    std::vector<GgufField> list;
    for (auto& [key, field] : fields)
        list.push_back(std::move(field));
    ExportPlan plan{.weights = std::make_shared<GgufFile>(list, std::move(tensors)),
                    .opened = opened,
                    .isOneGguf = true,
                    .warnings = warnings,
                    .contents = smallerContents,
                    .types = types.sentence(),
                    .tolerance = types.isLossy() ? roundedTolerance : exportTolerance};
    return preparedExport(target, source, layout, request, std::move(plan));
}

} // namespace secateur
