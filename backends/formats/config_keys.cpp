#include "backends/formats/config_keys.h"

#include "backends/config/architectures.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

namespace secateur {

namespace {

constexpr int mostCount = std::numeric_limits<int>::max();

double required(const JsonObject& config, const std::string& key) {
    if (!config.number(key))
        config.refuse(key, "is missing");
    return positiveAt(config, key, 1);
}

} // namespace

int widthAt(const JsonObject& config, std::string_view key, int otherwise) {
    return static_cast<int>(config.integer(std::string(key), 1, mostWidth).value_or(otherwise));
}

int countAt(const JsonObject& config, std::string_view key, int otherwise) {
    return static_cast<int>(config.integer(std::string(key), 0, mostCount).value_or(otherwise));
}

double positiveAt(const JsonObject& config, std::string_view key, double otherwise) {
    const double value = config.number(std::string(key)).value_or(otherwise);
    if (!(value > 0))
        config.refuse(std::string(key), fmt::format("expected a number above 0, found {}", value));
    return value;
}

double switchableAt(const JsonObject& config, std::string_view key, double otherwise) {
    const std::string name(key);
    if (!config.has(name))
        return otherwise;
    return config.number(name) ? positiveAt(config, key, 0) : 0;
}

Activation activationAt(const JsonObject& config, std::string_view key, Activation otherwise) {
    static constexpr std::array known{
        std::pair{std::string_view("silu"), Activation::silu},
        std::pair{std::string_view("swish"), Activation::silu},
        std::pair{std::string_view("gelu"), Activation::geluErf},
        std::pair{std::string_view("gelu_python"), Activation::geluErf},
        std::pair{std::string_view("gelu_new"), Activation::geluTanh},
        std::pair{std::string_view("gelu_fast"), Activation::geluTanh},
        std::pair{std::string_view("gelu_pytorch_tanh"), Activation::geluTanh},
        std::pair{std::string_view("relu"), Activation::relu},
    };
    const auto name = config.text(std::string(key));
    if (!name)
        return otherwise;
    for (const auto& [spelling, activation] : known) {
        if (spelling == *name)
            return activation;
    }
    config.refuse(std::string(key), fmt::format("the activation \"{}\" is not known", *name));
}

void readScaling(const JsonObject& scaling, RotarySpec& rotary) {
    // Before transformers 4.43 the key was "type".
    const std::string key = scaling.has("rope_type") ? "rope_type" : "type";
    const std::string type = scaling.text(key).value_or("default");
    if (type == "default")
        return;
    rotary.factor = required(scaling, "factor");
    if (type == "linear") {
        rotary.scaling = RopeScaling::linear;
    } else if (type == "llama3") {
        rotary.scaling = RopeScaling::llama3;
        rotary.lowFrequencyFactor = required(scaling, "low_freq_factor");
        rotary.highFrequencyFactor = required(scaling, "high_freq_factor");
        const auto context = scaling.integer("original_max_position_embeddings", 1, mostCount);
        if (!context)
            scaling.refuse("original_max_position_embeddings", "is missing");
        rotary.originalContext = static_cast<int>(*context);
    } else {
        scaling.refuse(key,
                       fmt::format("the rotary scaling \"{}\" is not known; known are default, linear, llama3", type));
    }
}

} // namespace secateur
