#include "backends/training/peft_config.h"

#include "analysis/base/error.h"
#include "backends/base/json_object.h"
#include "backends/base/mapped_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace secateur {

namespace {

constexpr std::size_t longestConfig = 10'000'000;
constexpr std::int64_t largestRank = 1 << 16;

/// Whether a pattern of PEFT, which is a regular expression, is a plain name.
bool isPlain(const std::string& pattern) {
    return pattern.find_first_of("*+?[](){}|^$\\") == std::string::npos;
}

std::map<std::string, double> patternsIn(const JsonObject& config, const std::string& key) {
    std::map<std::string, double> values;
    const auto object = config.object(key);
    for (const std::string& name : object ? object->keys() : std::vector<std::string>()) {
        if (!isPlain(name))
            object->refuse(name, "is a regular expression; only names of modules are read");
        const double value = object->number(name).value_or(0);
        if (!std::isfinite(value) || value <= 0)
            object->refuse(name, "expected a positive number");
        values[name] = value;
    }
    return values;
}

/// The value for a module: that of the longest name that the module's name ends with.
std::optional<double> valueFor(const std::map<std::string, double>& patterns, const std::string& module) {
    const std::pair<const std::string, double>* longest = nullptr;
    for (const auto& item : patterns) {
        const bool isOf = module == item.first || module.ends_with("." + item.first);
        if (isOf && (!longest || item.first.size() > longest->first.size()))
            longest = &item;
    }
    return longest ? std::optional(longest->second) : std::nullopt;
}

/// Values that leave a property of PEFT without effect.
bool isUnset(const JsonObject& config, const std::string& key) {
    return config.isNullOr(key, "false") || config.isNullOr(key, "[]") || config.isNullOr(key, "{}");
}

void refuseOtherKinds(const JsonObject& config) {
    if (config.text("peft_type").value_or("") != "LORA")
        config.refuse("peft_type", "only LORA is read, found " + config.shownValue("peft_type"));
    if (config.text("bias").value_or("none") != "none")
        config.refuse("bias", "trained biases are not read: expected \"none\", found " + config.shownValue("bias"));
    constexpr std::array properties{std::pair{"use_dora", "DoRA"},
                                    std::pair{"lora_bias", "LoRA with biases"},
                                    std::pair{"use_qalora", "QALoRA"},
                                    std::pair{"alora_invocation_tokens", "activated LoRA"},
                                    std::pair{"layer_replication", "LoRA with repeated layers"},
                                    std::pair{"trainable_token_indices", "trained tokens"},
                                    std::pair{"target_parameters", "LoRA of parameters without a module"},
                                    std::pair{"use_bdlora", "block-diagonal LoRA"},
                                    std::pair{"kasa_config", "KaSA"},
                                    std::pair{"velora_config", "VeLoRA"},
                                    std::pair{"monteclora_config", "MonteCLoRA"},
                                    std::pair{"arrow_config", "Arrow"}};
    for (const auto& [key, name] : properties)
        if (!isUnset(config, key))
            config.refuse(key, fmt::format("{} is not read", name));
}

/// Some initial weights of PEFT change the weights of the model too, which the adapter does not contain.
void checkInitialWeights(const JsonObject& config) {
    const std::string key = "init_lora_weights";
    constexpr std::array<std::string_view, 3> unchanged{"gaussian", "eva", "orthogonal"};
    if (!config.isSet(key) || config.isNullOr(key, "true") || config.isNullOr(key, "false"))
        return;
    if (std::ranges::find(unchanged, config.text(key).value_or("")) == unchanged.end())
        config.refuse(key, fmt::format("{} changes the weights of the model too; convert the adapter with PEFT "
                                       "(path_initial_model_for_weight_conversion)",
                                       config.shownValue(key)));
}

using ConfigJson = nlohmann::ordered_json;

/// A whole number without a decimal point, as PEFT writes it.
ConfigJson numberJson(double number) {
    return number == std::floor(number) && std::abs(number) < 1e15 ? ConfigJson(static_cast<std::int64_t>(number))
                                                                   : ConfigJson(number);
}

std::string_view taskOf(const Model& model) {
    if (model.spec().family == Family::decoder)
        return "CAUSAL_LM";
    return model.has(-1, WeightName::classifier) ? "SEQ_CLS" : "FEATURE_EXTRACTION";
}

} // namespace

int PeftConfig::rankOf(const std::string& module) const {
    return static_cast<int>(std::lround(valueFor(ranks, module).value_or(rank)));
}

double PeftConfig::scaleOf(const std::string& module, int own) const {
    const double numerator = valueFor(alphas, module).value_or(alpha);
    return numerator / (isRankStabilised ? std::sqrt(static_cast<double>(own)) : own);
}

PeftConfig readPeftConfig(const std::string& path) {
    const auto file = MappedFile::open(path);
    if (file->bytes().size() > longestConfig)
        throw Error(fmt::format("is {} bytes long; at most {} are read", file->bytes().size(), longestConfig), path);
    const JsonObject json = JsonObject::parse(charactersOf(file->bytes()), path);
    refuseOtherKinds(json);
    checkInitialWeights(json);
    PeftConfig config;
    config.path = path;
    config.rank = static_cast<int>(json.integer("r", 1, largestRank).value_or(config.rank));
    config.alpha = json.number("lora_alpha").value_or(config.alpha);
    if (!std::isfinite(config.alpha) || config.alpha <= 0)
        json.refuse("lora_alpha", "expected a positive number, found " + json.shownValue("lora_alpha"));
    config.dropout = json.number("lora_dropout").value_or(0);
    config.isRankStabilised = json.flag("use_rslora").value_or(false);
    config.ranks = patternsIn(json, "rank_pattern");
    config.alphas = patternsIn(json, "alpha_pattern");
    config.modelName = json.text("base_model_name_or_path").value_or("");
    return config;
}

std::string peftConfigText(const Adapter& adapter, const PeftModules& modules, const Model& model) {
    const AdapterSettings& settings = adapter.settings;
    ConfigJson targets = ConfigJson::array();
    ConfigJson ranks = ConfigJson::object();
    ConfigJson alphas = ConfigJson::object();
    bool isTransposed = false;
    for (const auto& [name, module] : modules.updates) {
        targets.push_back(name);
        isTransposed = isTransposed || module.transposed;
        if (module.update.rank != settings.rank)
            ranks[name] = module.update.rank;
        const double alpha = module.update.scale * module.update.rank;
        if (alpha != settings.alpha)
            alphas[name] = numberJson(alpha);
    }
    const ConfigJson config{
        {"peft_type", "LORA"},
        {"task_type", taskOf(model)},
        {"base_model_name_or_path", adapter.modelName.empty() ? model.card().name : adapter.modelName},
        {"inference_mode", true},
        {"r", settings.rank},
        {"lora_alpha", numberJson(settings.alpha)},
        {"lora_dropout", settings.dropout},
        {"rank_pattern", std::move(ranks)},
        {"alpha_pattern", std::move(alphas)},
        // The name by which PEFT knows an adapter without updates.
        {"target_modules", targets.empty() ? ConfigJson("dummy-target-modules") : std::move(targets)},
        {"modules_to_save", modules.saved.empty() ? ConfigJson() : ConfigJson(modules.saved)},
        {"bias", "none"},
        {"fan_in_fan_out", isTransposed},
        {"use_rslora", false},
        {"use_dora", false}};
    return config.dump(2, ' ', false, ConfigJson::error_handler_t::replace) + "\n";
}

} // namespace secateur
