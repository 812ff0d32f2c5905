#include "backends/formats/config_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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
