#include "backends/formats/safetensors_bytes.h"

#include <nlohmann/json.hpp>

namespace secateur {

std::string safetensorsBytes(const std::map<std::string, FloatTensor>& tensors,
                             const std::map<std::string, std::string>& metadata) {
    using Json = nlohmann::ordered_json;
    Json header{{"__metadata__", Json(metadata)}};
    std::size_t end = 0;
    for (const auto& [name, tensor] : tensors) {
        const std::size_t begin = end;
        end += tensor.numbers.size_bytes();
        header[name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    }
    std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
    text.resize((text.size() + 7) / 8 * 8, ' '); // aligned as by the safetensors library
    const auto length = static_cast<std::uint64_t>(text.size());
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
    bytes.reserve(sizeof length + text.size() + end);
    bytes += text;
    for (const auto& [_, tensor] : tensors)
        bytes.append(reinterpret_cast<const char*>(tensor.numbers.data()), tensor.numbers.size_bytes());
    return bytes;
}

} // namespace secateur
