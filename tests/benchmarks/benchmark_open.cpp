// The time and memory that opening takes: a checkpoint of 13 billion numbers in one file, and the same in 300 shards.
// The files are sparse: they take no room on the disk, and their numbers are all 0.

#include "analysis/model.h"
#include "backends/open_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr int layers = 40;
constexpr std::int64_t hidden = 5120;
constexpr std::int64_t ffn = 13824;
constexpr std::int64_t vocab = 32000;
constexpr std::size_t shards = 300;

struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;

    std::int64_t bytes() const {
        std::int64_t count = 2; // BF16
        for (const std::int64_t size : shape)
            count *= size;
        return count;
    }
    std::string shapeText() const {
        return shape.size() == 1 ? fmt::format("[{}]", shape[0]) : fmt::format("[{},{}]", shape[0], shape[1]);
    }
};

std::vector<Tensor> allTensors() {
    std::vector<Tensor> tensors{{"model.embed_tokens.weight", {vocab, hidden}},
                                {"model.norm.weight", {hidden}},
                                {"lm_head.weight", {vocab, hidden}}};
    for (int layer = 0; layer < layers; ++layer) {
        const auto add = [&](const char* name, std::vector<std::int64_t> shape) {
            tensors.push_back({fmt::format("model.layers.{}.{}.weight", layer, name), std::move(shape)});
        };
        add("input_layernorm", {hidden});
        add("post_attention_layernorm", {hidden});
        for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
            add(fmt::format("self_attn.{}", name).c_str(), {hidden, hidden});
        add("mlp.gate_proj", {ffn, hidden});
        add("mlp.up_proj", {ffn, hidden});
        add("mlp.down_proj", {hidden, ffn});
    }
    return tensors;
}

/// A folder of its own that goes away with the run.
class Folder {
public:
    Folder()
        : m_path(fs::temp_directory_path() / fmt::format("secateur-benchmark-{:x}", std::random_device()())) {
        fs::create_directory(m_path);
        std::ofstream(m_path / "config.json")
            << fmt::format(R"({{"model_type":"llama","hidden_size":{},"intermediate_size":{},"num_hidden_layers":{},)"
                           R"("num_attention_heads":40,"vocab_size":{},"rms_norm_eps":1e-5,"hidden_act":"silu"}})",
                           hidden, ffn, layers, vocab);
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(m_path, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    const fs::path& path() const { return m_path; }

private:
    fs::path m_path;
};

void writeSafetensors(const fs::path& path, const std::vector<Tensor>& tensors) {
    std::string header = "{";
    std::int64_t end = 0;
    for (const Tensor& tensor : tensors) {
        const std::int64_t begin = end;
        end += tensor.bytes();
        header += fmt::format(R"({}"{}":{{"dtype":"BF16","shape":{},"data_offsets":[{},{}]}})",
                              header.size() > 1 ? "," : "", tensor.name, tensor.shapeText(), begin, end);
    }
    header += "}";
    const std::uint64_t length = header.size();
    {
        std::ofstream file(path, std::ios::binary);
        file.write(reinterpret_cast<const char*>(&length), sizeof length);
        file << header;
    }
    fs::resize_file(path, sizeof length + length + static_cast<std::uint64_t>(end));
}

void writeShards(const fs::path& folder) {
    std::vector<std::vector<Tensor>> parts(shards);
    std::size_t next = 0;
    for (Tensor& tensor : allTensors())
        parts[next++ % shards].push_back(std::move(tensor));
    std::string map;
    for (std::size_t i = 0; i < shards; ++i) {
        const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards);
        writeSafetensors(folder / name, parts[i]);
        for (const Tensor& tensor : parts[i])
            map += fmt::format("{}\"{}\":\"{}\"", map.empty() ? "" : ",", tensor.name, name);
    }
    std::ofstream(folder / "model.safetensors.index.json") << fmt::format(R"({{"weight_map":{{{}}}}})", map);
}

/// A line of /proc/self/status in MB.
double statusMegabytes(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(key))
            return std::stod(line.substr(key.size() + 1)) * 1024 / 1e6;
    }
    return 0;
}

void measure(const char* what, const fs::path& folder) {
    constexpr int runs = 5;
    std::ofstream("/proc/self/clear_refs") << "5"; // forgets the peak of resident memory
    const double before = statusMegabytes("VmRSS:");
    double first = 0;
    double best = 1e9;
    std::int64_t bytes = 0;
    for (int run = 0; run < runs; ++run) {
        const auto start = std::chrono::steady_clock::now();
        const auto model = secateur::openModel(folder.string());
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        first = run == 0 ? seconds : first;
        best = std::min(best, seconds);
        bytes = model->card().bytes;
    }
    fmt::print("{:12} {:5.1f} GB: first {:.4f} s, best of {} {:.4f} s; resident {:.0f} MB before, {:.0f} MB at most\n",
               what, static_cast<double>(bytes) / 1e9, first, runs, best, before, statusMegabytes("VmHWM:"));
}

} // namespace

int main() {
    try {
        const Folder one;
        writeSafetensors(one.path() / "model.safetensors", allTensors());
        measure("one file", one.path());
        const Folder many;
        writeShards(many.path());
        measure("300 shards", many.path());
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
