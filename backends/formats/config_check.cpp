#include "backends/formats/config_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace secateur {

namespace {

using Lists = std::span<const KnownKeys>;

bool contains(std::span<const std::string_view> patterns, std::string_view key) {
    return std::ranges::any_of(patterns, [&](std::string_view pattern) {
        return pattern.ends_with('*') ? key.starts_with(pattern.substr(0, pattern.size() - 1)) : key == pattern;
    });
}

bool isRead(Lists lists, std::string_view key) {
    return std::ranges::any_of(lists, [&](const KnownKeys& list) { return contains(list.read, key); });
}

bool isHarmless(Lists lists, std::string_view key) {
    return std::ranges::any_of(lists, [&](const KnownKeys& list) { return contains(list.harmless, key); });
}

const UnsupportedKey* unsupported(Lists lists, std::string_view key) {
    for (const KnownKeys& list : lists) {
        const auto found = std::ranges::find(list.unsupported, key, &UnsupportedKey::key);
        if (found != list.unsupported.end())
            return &*found;
    }
    return nullptr;
}

/// Adds the keys of an object that are not known to `unknown`. @throws Error for one that is not supported
void checkKeys(const JsonObject& object, Lists lists, const std::string& place, std::vector<std::string>& unknown) {
    for (const std::string& key : object.keys()) {
        if (isRead(lists, key))
            continue;
        if (const UnsupportedKey* found = unsupported(lists, key)) {
            if (!object.isNullOr(key, found->neutral))
                object.refuse(key, fmt::format(fmt::runtime(found->reason), object.shownValue(key)));
        } else if (!isHarmless(lists, key))
            unknown.push_back(place + key);
    }
}

/// The same for rope_scaling or rope_parameters, and for the objects of layer types in it.
void checkRotary(const JsonObject& config, const KnownKeys& known, const std::string& key, const std::string& place,
                 std::vector<std::string>& unknown) {
    if (!config.isObject(key))
        return;
    const JsonObject rotary = *config.object(key);
    checkKeys(rotary, {&known, 1}, place + key + ".", unknown);
    for (const std::string type : {"full_attention", "sliding_attention"}) {
        if (rotary.isObject(type))
            checkKeys(*rotary.object(type), {&known, 1}, place + key + "." + type + ".", unknown);
    }
}

/// The same for the entries of per_layer_config. A key that is read for all layers only is not supported in an entry.
void checkLayerConfig(const JsonObject& config, const ArchitectureInfo& architecture, const std::string& place,
                      std::vector<std::string>& unknown) {
    const JsonObject entries = *config.object("per_layer_config");
    const KnownKeys known = layerConfigKeys(architecture.windows != Windows::none);
    for (const std::string& layer : entries.keys()) {
        if (!entries.isObject(layer))
            continue; // refused by the reader
        const JsonObject settings = *entries.object(layer);
        for (const std::string& key : settings.keys()) {
            if (!contains(known.read, key) && isRead(architecture.configKeys, key))
                settings.refuse(key, "is not supported for a single layer");
        }
        checkKeys(settings, {&known, 1}, place + "per_layer_config." + layer + ".", unknown);
    }
}

/// The same for the elements of block_configs and the objects in them. A key that is unknown in many elements is named
/// once.
void checkBlockConfigs(const JsonObject& config, const std::string& place, std::vector<std::string>& unknown) {
    std::vector<std::string> found;
    const KnownKeys known = blockConfigKeys();
    const std::array parts{std::pair("attention", blockAttentionKeys()), std::pair("ffn", blockMlpKeys())};
    const std::vector<JsonObject> blocks = config.objects("block_configs").value_or(std::vector<JsonObject>());
    for (const JsonObject& block : blocks) {
        checkKeys(block, {&known, 1}, place + "block_configs.", found);
        for (const auto& [name, keys] : parts) {
            if (block.isObject(name))
                checkKeys(*block.object(name), {&keys, 1}, fmt::format("{}block_configs.{}.", place, name), found);
        }
    }
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    unknown.insert(unknown.end(), found.begin(), found.end());
}

std::vector<std::string> warningsOf(std::vector<std::string> unknown, std::string_view where) {
    if (unknown.empty())
        return {};
    constexpr std::size_t shown = 8;
    const std::size_t count = unknown.size();
    unknown.resize(std::min(count, shown));
    const char* sentence = count == 1 ? "{} has a key that is not known and may change what the model computes: {}{}"
                                      : "{} has keys that are not known and may change what the model computes: {}{}";
    return {fmt::format(fmt::runtime(sentence), where, fmt::join(unknown, ", "),
                        count > shown ? fmt::format(" and {} more", count - shown) : "")};
}

bool hasValue(const GgufMetadata& metadata, const std::string& key, std::string_view value) {
    if (value == "true" || value == "false")
        return metadata.flag(key) == (value == "true");
    return metadata.number(key) == std::stod(std::string(value));
}

} // namespace

CheckedConfig checkedConfig(const JsonObject& file, const ArchitectureInfo& architecture) {
    std::vector<std::string> unknown;
    const auto text = file.object("text_config");
    const JsonObject& config = text ? *text : file;
    const std::string place = text ? "text_config." : "";
    if (text)
        checkKeys(file, multimodalConfigKeys(), "", unknown);
    const Lists lists = architecture.configKeys;
    checkKeys(config, lists, place, unknown);
    if (architecture.positions == Positions::rotary) {
        const KnownKeys rotary = rotaryConfigKeys(architecture.defaults.rotaryShare < 1);
        checkRotary(config, rotary, "rope_scaling", place, unknown);
        checkRotary(config, rotary, "rope_parameters", place, unknown);
    }
    if (isRead(lists, "per_layer_config") && config.isSet("per_layer_config"))
        checkLayerConfig(config, architecture, place, unknown);
    if (isRead(lists, "block_configs") && config.isSet("block_configs"))
        checkBlockConfigs(config, place, unknown);
    return {config.filtered([&](const std::string& key) { return isRead(lists, key); }),
            warningsOf(std::move(unknown), "config.json")};
}

std::vector<std::string> checkedMetadata(const GgufMetadata& metadata, const ArchitectureInfo& architecture,
                                         const std::string& name) {
    const Lists lists = architecture.ggufKeys;
    const KnownKeys general = generalGgufKeys();
    std::vector<std::string> unknown;
    for (const std::string& key : metadata.keys()) {
        const bool isOwn = key.starts_with(name + ".");
        const std::string own = isOwn ? key.substr(name.size() + 1) : std::string();
        if (isOwn ? isRead(lists, own) || isHarmless(lists, own) : contains(general.harmless, key))
            continue;
        if (const UnsupportedKey* found = isOwn ? unsupported(lists, own) : nullptr) {
            if (!hasValue(metadata, key, found->neutral))
                metadata.refuse(key, std::string(found->reason));
        } else
            unknown.push_back(key);
    }
    return warningsOf(std::move(unknown), "the metadata");
}

} // namespace secateur
