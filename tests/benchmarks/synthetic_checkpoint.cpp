#include "tests/benchmarks/synthetic_checkpoint.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <fmt/format.h>

#include <fstream>
#include <random>
#include <utility>

namespace secateur::benchmarks {

namespace fs = std::filesystem;

namespace {

std::string shapeText(const Tensor& tensor) {
    const std::vector<std::int64_t>& shape = tensor.shape;
    return shape.size() == 1 ? fmt::format("[{}]", shape[0]) : fmt::format("[{},{}]", shape[0], shape[1]);
}

} // namespace

std::int64_t Tensor::elements() const {
    std::int64_t count = 1;
    for (const std::int64_t size : shape)
        count *= size;
    return count;
}

std::vector<Tensor> allTensors(const Shape& shape) {
    const std::int64_t hidden = shape.hidden;
    const std::int64_t keys = hidden / shape.heads * shape.kvHeads;
    std::vector<Tensor> tensors{{"model.embed_tokens.weight", {shape.vocab, hidden}},
                                {"model.norm.weight", {hidden}},
                                {"lm_head.weight", {shape.vocab, hidden}}};
    for (int layer = 0; layer < shape.layers; ++layer) {
        const auto add = [&](const char* name, std::vector<std::int64_t> sizes) {
            tensors.push_back({fmt::format("model.layers.{}.{}.weight", layer, name), std::move(sizes)});
        };
        add("input_layernorm", {hidden});
        add("post_attention_layernorm", {hidden});
        add("self_attn.q_proj", {hidden, hidden});
        add("self_attn.k_proj", {keys, hidden});
        add("self_attn.v_proj", {keys, hidden});
        add("self_attn.o_proj", {hidden, hidden});
        add("mlp.gate_proj", {shape.ffn, hidden});
        add("mlp.up_proj", {shape.ffn, hidden});
        add("mlp.down_proj", {hidden, shape.ffn});
    }
    return tensors;
}

void writeConfig(const fs::path& folder, const Shape& shape) {
    std::ofstream(folder / "config.json")
        << fmt::format(R"({{"model_type":"llama","hidden_size":{},"intermediate_size":{},"num_hidden_layers":{},)"
                       R"("num_attention_heads":{},"num_key_value_heads":{},"vocab_size":{},"rms_norm_eps":1e-5,)"
                       R"("hidden_act":"silu"}})",
                       shape.hidden, shape.ffn, shape.layers, shape.heads, shape.kvHeads, shape.vocab);
}

ModelFolder::ModelFolder(const Shape& shape)
    : m_path(fs::temp_directory_path() / fmt::format("secateur-benchmark-{:x}", std::random_device()())) {
    fs::create_directory(m_path);
    writeConfig(m_path, shape);
}

ModelFolder::~ModelFolder() {
    std::error_code ignored;
    fs::remove_all(m_path, ignored);
}

void writeSafetensors(const fs::path& path, const std::string& type, const std::vector<Tensor>& tensors,
                      const Numbers& numbers) {
    constexpr std::int64_t bytesOfNumber = 2;
    std::string header = "{";
    std::int64_t end = 0;
    for (const Tensor& tensor : tensors) {
        const std::int64_t begin = std::exchange(end, end + bytesOfNumber * tensor.elements());
        header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})",
                              header.size() > 1 ? "," : "", tensor.name, type, shapeText(tensor), begin, end);
    }
    header += "}";
    const std::uint64_t length = header.size();
    const auto start = static_cast<std::int64_t>(sizeof length + length);
    {
        std::ofstream file(path, std::ios::binary);
        file.write(reinterpret_cast<const char*>(&length), sizeof length);
        file << header;
        std::int64_t place = start;
        for (const Tensor& tensor : tensors) {
            const std::vector<std::uint16_t> values = numbers ? numbers(tensor) : std::vector<std::uint16_t>();
            file.seekp(place);
            file.write(reinterpret_cast<const char*>(values.data()),
                       bytesOfNumber * static_cast<std::streamsize>(values.size()));
            place += bytesOfNumber * tensor.elements();
        }
    }
    fs::resize_file(path, static_cast<std::uintmax_t>(start + end));
}

double statusMegabytes(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(key))
            return std::stod(line.substr(key.size() + 1)) * 1024 / 1e6;
    }
    return 0;
}

void forgetPeak() {
#ifdef __GLIBC__
    malloc_trim(0); // returns freed memory to the system
#endif
    std::ofstream("/proc/self/clear_refs") << "5";
}

} // namespace secateur::benchmarks
