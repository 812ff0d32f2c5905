// Time and memory of opening a checkpoint of 13 billion parameters in one file, and in 300 shards. The files are
// sparse: all values are 0 and take no space on the disk.

#include "analysis/model/model.h"
#include "backends/engine/open_model.h"
#include "tests/benchmarks/synthetic_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using namespace secateur::benchmarks;

constexpr Shape shape{.layers = 40, .hidden = 5120, .ffn = 13824, .vocab = 32000, .heads = 40, .kvHeads = 40};
constexpr std::size_t shards = 300;

void writeShards(const fs::path& folder) {
    std::vector<std::vector<Tensor>> parts(shards);
    std::size_t next = 0;
    for (Tensor& tensor : allTensors(shape))
        parts[next++ % shards].push_back(std::move(tensor));
    std::string map;
    for (std::size_t i = 0; i < shards; ++i) {
        const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards);
        writeSafetensors(folder / name, "BF16", parts[i]);
        for (const Tensor& tensor : parts[i])
            map += fmt::format("{}\"{}\":\"{}\"", map.empty() ? "" : ",", tensor.name, name);
    }
    std::ofstream(folder / "model.safetensors.index.json") << fmt::format(R"({{"weight_map":{{{}}}}})", map);
}

void measure(const char* what, const fs::path& folder) {
    constexpr int runs = 5;
    forgetPeak();
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
        const ModelFolder one(shape);
        writeSafetensors(one.path() / "model.safetensors", "BF16", allTensors(shape));
        measure("one file", one.path());
        const ModelFolder many(shape);
        writeShards(many.path());
        measure("300 shards", many.path());
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
