#include "backends/session/mask_json.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/model/model_spec.h"
#include "backends/base/atomic_file.h"
#include "backends/base/json_object.h"
#include "backends/base/mapped_file.h"
#include "backends/base/sha256.h"
#include "backends/session/compensation_link.h"
#include "backends/session/mask_compensation.h"
#include "backends/session/provenance_json.h"

#include <fmt/format.h>

namespace secateur {

namespace {

constexpr std::size_t longestMask = 32'000'000;
constexpr std::int64_t maskVersion = 1;
constexpr std::int64_t latest = 999; ///< largest number that a version can have

void checkVersion(const JsonObject& file) {
    constexpr const char* key = "secateur_mask";
    const auto found = file.integer(key, 1, latest);
    if (!found)
        throw Error("is not a mask: it has no \"secateur_mask\"", file.subject());
    if (*found != maskVersion)
        file.refuse(key, fmt::format("version {} is not supported, only version {}", *found, maskVersion));
}

std::string required(const JsonObject& object, const char* key) {
    const auto text = object.text(key);
    if (!text)
        object.refuse(key, "is missing");
    return *text;
}

std::string_view wholeText(const MappedFile& file) {
    const auto bytes = file.bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Parses the document and checks its version. @throws Error
JsonObject maskObject(std::string_view text, const std::string& subject) {
    if (text.size() > longestMask)
        throw Error(fmt::format("is {} bytes long; at most {} are read", text.size(), longestMask), subject);
    JsonObject file = JsonObject::parse(text, subject);
    checkVersion(file);
    return file;
}

JsonObject modelObject(const JsonObject& file) {
    auto model = file.object("model");
    if (!model)
        file.refuse("model", "is missing");
    model->allowOnly({"name", "architecture", "structure", "fingerprint"});
    return std::move(*model);
}

/// Reads the fields about the mask's model. @throws Error if the open model has another structure
void readModel(const JsonObject& file, const ModelSpec& spec, MaskRecord& record) {
    const JsonObject model = modelObject(file);
    const std::string architecture = required(model, "architecture");
    const std::string structure = required(model, "structure");
    try {
        checkMaskFits(architecture, structure, spec);
    } catch (const Error& error) {
        throw error.within(model.subject());
    }
    record.modelName = model.text("name").value_or("");
    record.fingerprint = model.text("fingerprint").value_or("");
}

/// Whether a unit is dropped. The only allowed value of its field is "drop".
bool dropped(const JsonObject& entry, const char* part) {
    const auto text = entry.text(part);
    if (text && *text != "drop")
        entry.refuse(part, fmt::format("expected \"drop\", found \"{}\"", *text));
    return text.has_value();
}

AttentionCut readAttention(const JsonObject& entry) {
    const auto text = entry.text("attention");
    if (!text)
        return AttentionCut::keep;
    if (*text == "drop")
        return AttentionCut::drop;
    if (*text == "bypass_qk")
        return AttentionCut::bypassQk;
    entry.refuse("attention", fmt::format("expected \"drop\" or \"bypass_qk\", found \"{}\"", *text));
}

double readAlpha(const JsonObject& entry, AttentionCut attention) {
    const auto alpha = entry.number("alpha");
    if (alpha && attention != AttentionCut::bypassQk)
        entry.refuse("alpha", "scales only \"attention\": \"bypass_qk\"");
    if (!alpha && attention == AttentionCut::bypassQk)
        entry.refuse("alpha", fmt::format("is missing; \"bypass_qk\" needs a number from 0 to {}", mostAlpha));
    return alpha.value_or(1);
}

/// Cuts the units that a field lists. @param one name of a single unit: "head"
void cut(const JsonObject& entry, const char* key, int layer, const char* one, std::vector<bool>& marks) {
    const auto ranges = entry.ranges(key);
    if (!ranges)
        return;
    for (const auto& [first, last] : *ranges) {
        if (last >= std::ssize(marks))
            entry.refuse(key, fmt::format("names {} {}, but layer {} has {}", one, last, layer, marks.size()));
        for (std::int64_t i = first; i <= last; ++i) {
            auto mark = marks[static_cast<std::size_t>(i)];
            if (!mark)
                entry.refuse(key, fmt::format("names {} {} twice", one, i));
            mark = false;
        }
    }
}

void refuseInside(const JsonObject& entry, const char* larger, std::initializer_list<const char*> parts) {
    for (const char* part : parts) {
        if (entry.isSet(part))
            entry.refuse(part, fmt::format("is inside a unit that \"{}\": \"drop\" removes", larger));
    }
}

LayerMask readLayer(const JsonObject& entry, int index, LayerMask layer) {
    layer.block = !dropped(entry, "block");
    layer.mlp = !dropped(entry, "mlp");
    layer.attention = readAttention(entry);
    if (!layer.block)
        refuseInside(entry, "block", {"attention", "heads_cut", "mlp", "neurons_cut"});
    if (layer.attention == AttentionCut::drop)
        refuseInside(entry, "attention", {"heads_cut"});
    if (!layer.mlp)
        refuseInside(entry, "mlp", {"neurons_cut"});
    layer.alpha = readAlpha(entry, layer.attention);
    cut(entry, "heads_cut", index, "head", layer.heads);
    cut(entry, "neurons_cut", index, "neuron", layer.neurons);
    return layer;
}

/// Reads the layer of an entry. @throws Error if another entry has the same layer
int readIndex(const JsonObject& entry, std::vector<bool>& listed) {
    const auto number = entry.integer("layer", 0, std::ssize(listed) - 1);
    if (!number)
        entry.refuse("layer", "is missing");
    const auto at = static_cast<std::size_t>(*number);
    if (listed[at])
        entry.refuse("layer", fmt::format("lists layer {} twice", *number));
    listed[at] = true;
    return static_cast<int>(*number);
}

PruningMask readMaskLayers(const JsonObject& file, const ModelSpec& spec) {
    const auto entries = file.objects("layers");
    if (!entries)
        file.refuse("layers", "is missing");
    const PruningMask whole(spec);
    PruningMask mask = whole;
    std::vector<bool> listed(spec.layers.size());
    std::vector<int> cutAs(spec.layers.size(), -1); // by layer: the entry that cut it, its own or a tied layer's
    for (const JsonObject& entry : *entries) {
        entry.allowOnly({"layer", "block", "attention", "alpha", "heads_cut", "mlp", "neurons_cut"});
        const int index = readIndex(entry, listed);
        LayerMask cut = readLayer(entry, index, whole.layer(index));
        const LayerMask before = mask.layer(index);
        try {
            mask.setLayer(index, std::move(cut));
        } catch (const Error& error) {
            throw error.within(entry.subject());
        }
        int& first = cutAs[static_cast<std::size_t>(index)];
        if (first >= 0 && mask.layer(index) != before)
            entry.refuse("layer", fmt::format("cuts layer {} differently from layer {}, which has the same weights",
                                              index, first));
        for (const int tied : mask.tiedTo(index))
            cutAs[static_cast<std::size_t>(tied)] = index;
    }
    return mask;
}

std::string cutHeads(const std::vector<bool>& heads) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < heads.size(); ++i) {
        if (!heads[i])
            parts.push_back(std::to_string(i));
    }
    return join(parts, ", ");
}

/// Indices and ranges of cut neurons: "[0, 31], 77".
std::string cutNeurons(const std::vector<bool>& neurons) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0, end = 0; begin < neurons.size(); begin = end + 1) {
        for (end = begin; end < neurons.size() && !neurons[end];)
            ++end;
        if (end - begin == 1)
            parts.push_back(std::to_string(begin));
        else if (end > begin)
            parts.push_back(fmt::format("[{}, {}]", begin, end - 1));
    }
    return join(parts, ", ");
}

std::string layerJson(int index, const LayerMask& layer) {
    std::string line = fmt::format("{{\"layer\": {}", index);
    if (!layer.block)
        line += ", \"block\": \"drop\"";
    if (layer.attention == AttentionCut::drop)
        line += ", \"attention\": \"drop\"";
    if (layer.attention == AttentionCut::bypassQk)
        line += fmt::format(", \"attention\": \"bypass_qk\", \"alpha\": {}", exactly(layer.alpha));
    if (const std::string heads = cutHeads(layer.heads); !heads.empty())
        line += fmt::format(", \"heads_cut\": [{}]", heads);
    if (!layer.mlp)
        line += ", \"mlp\": \"drop\"";
    if (const std::string neurons = cutNeurons(layer.neurons); !neurons.empty())
        line += fmt::format(", \"neurons_cut\": [{}]", neurons);
    return line + "}";
}

std::string layersJson(const PruningMask& mask) {
    std::vector<std::string> lines;
    for (int index = 0; index < mask.layerCount(); ++index) {
        if (mask.layer(index).hasCuts() && mask.tiedTo(index).front() == index)
            lines.push_back("\n    " + layerJson(index, mask.layer(index)));
    }
    return lines.empty() ? "[]" : "[" + join(lines, ",") + "\n  ]";
}

} // namespace

MaskReading parseMask(std::string_view text, const std::string& subject, const ModelSpec& spec,
                      const std::string& fingerprint) {
    const JsonObject file = maskObject(text, subject);
    file.allowOnly({"secateur_mask", "model", "layers", "compensation", "bias_compensation", "note", "provenance"});
    MaskReading reading;
    MaskRecord& record = reading.record;
    readModel(file, spec, record);
    record.mask = readMaskLayers(file, spec);
    reading.compensation = compensationLinkOf(file);
    record.note = file.text("note").value_or("");
    record.provenance = provenanceOf(file);
    if (!record.fingerprint.empty() && !fingerprint.empty() && record.fingerprint != fingerprint)
        reading.warnings.push_back(
            fmt::format("The mask was made on a checkpoint with another fingerprint: on {}, and this one is {}",
                        record.fingerprint, fingerprint));
    return reading;
}

MaskReading readMask(const std::string& path, const ModelSpec& spec, const std::string& fingerprint) {
    const auto file = MappedFile::open(path);
    MaskReading reading = parseMask(wholeText(*file), path, spec, fingerprint);
    if (reading.compensation && !addLinkedCompensation(path, *reading.compensation, spec, reading.record.mask))
        reading.warnings.push_back(fmt::format("The file of its compensation, {}, does not exist: the mask is read "
                                               "without its compensation",
                                               reading.compensation->file));
    return reading;
}

ModelSpec readMaskedModel(const std::string& path) {
    const auto file = MappedFile::open(path);
    const JsonObject model = modelObject(maskObject(wholeText(*file), path));
    const std::string structure = required(model, "structure");
    try {
        return specOf(required(model, "architecture"), structure);
    } catch (const Error& error) {
        throw error.within(model.subject());
    }
}

std::string readMaskedModelName(const std::string& path) {
    const auto file = MappedFile::open(path);
    return modelObject(maskObject(wholeText(*file), path)).text("name").value_or("");
}

std::optional<CompensationLink> compensationLinkIn(const std::string& path) {
    try {
        const auto file = MappedFile::open(path);
        return compensationLinkOf(maskObject(wholeText(*file), path));
    } catch (const Error&) {
        return {};
    }
}

std::string maskJson(const MaskRecord& record, std::string_view compensationFile) {
    const PruningMask& mask = record.mask;
    return fmt::format("{{ \"secateur_mask\": 1,\n"
                       "  \"model\": {{\"name\": {}, \"architecture\": {}, \"structure\": {}, \"fingerprint\": {}}},\n"
                       "  \"layers\": {},\n"
                       "  \"compensation\": {},\n"
                       "  \"note\": {},\n"
                       "  \"provenance\": {} }}\n",
                       quotedOrNull(record.modelName), quoted(mask.architecture()), quoted(mask.structure()),
                       quotedOrNull(record.fingerprint), layersJson(mask), compensationLinkJson(mask, compensationFile),
                       quoted(record.note), provenanceJson(record.provenance));
}

void writeMask(const std::string& path, const MaskRecord& record, bool force) {
    const auto earlier = compensationLinkIn(path);
    AtomicFile json(path, FileKind::mask, force); // checks that the mask may be written, before its compensation is
    CompensationFile compensation(path, record.mask);
    json.write(maskJson(record, compensation.name()));
    json.commit();
    compensation.keep();
    removeUnusedCompensations(path, compensation.name(), earlier);
}

namespace {

void add(Sha256& sum, const std::string& text) {
    sum.add(text.c_str(), text.size() + 1);
}

std::int64_t code(AttentionCut cut) {
    switch (cut) {
    case AttentionCut::keep:
        return 0;
    case AttentionCut::drop:
        return 1;
    case AttentionCut::bypassQk:
        return 2;
    }
    return -1;
}

void addCut(Sha256& sum, const std::vector<bool>& marks) {
    std::vector<std::int64_t> numbers{0};
    for (std::size_t i = 0; i < marks.size(); ++i) {
        if (!marks[i])
            numbers.push_back(static_cast<std::int64_t>(i));
    }
    numbers.front() = std::ssize(numbers) - 1;
    sum.add(numbers.data(), numbers.size() * sizeof numbers.front());
}

} // namespace

std::string maskDigest(const PruningMask& mask) {
    if (mask.keepsAll())
        return "dense";
    Sha256 sum;
    add(sum, mask.architecture());
    add(sum, mask.structure());
    for (int index = 0; index < mask.layerCount(); ++index) {
        const LayerMask& layer = mask.layer(index);
        if (!layer.hasCuts())
            continue;
        sum.add(std::int64_t{index});
        sum.add(std::int64_t{!layer.block});
        sum.add(code(layer.attention));
        sum.add(&layer.alpha, sizeof layer.alpha);
        sum.add(std::int64_t{!layer.mlp});
        addCut(sum, layer.heads);
        addCut(sum, layer.neurons);
    }
    if (mask.isCompensated()) {
        add(sum, "compensation");
        add(sum, compensationSum(mask));
    }
    return "sha256:" + sum.hexadecimal();
}

} // namespace secateur
