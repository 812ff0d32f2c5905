// Time and memory of looking at weights: the first picture of a tensor of 32,000 x 5,120, its exact picture, panning,
// the tree of a checkpoint of 70 billion parameters, and the statistics of all tensors of a checkpoint.
//
//     benchmark_weights [MODEL]

#include "analysis/weights/block_pyramid.h"
#include "analysis/weights/checkpoint_statistics.h"
#include "backends/base/runtime.h"
#include "backends/weights/open_tensors.h"
#include "tests/benchmarks/synthetic_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace secateur;
using namespace secateur::benchmarks;

constexpr std::int64_t rows = 32000;
constexpr std::int64_t columns = 5120;

double secondsOf(const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A file with one tensor of random float16 numbers.
std::string writeLargeTensor(const std::filesystem::path& folder) {
    const std::string path = (folder / "large.safetensors").string();
    std::ofstream file(path, std::ios::binary);
    const std::int64_t bytes = rows * columns * 2;
    std::string header =
        fmt::format(R"({{"large":{{"dtype":"F16","shape":[{},{}],"data_offsets":[0,{}]}}}})", rows, columns, bytes);
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const std::uint64_t length = header.size();
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file << header;
    // Exponents of numbers around 0.02; other bits at random.
    std::mt19937 random(1);
    std::vector<std::uint16_t> row(static_cast<std::size_t>(columns));
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::uint16_t& number : row) {
            const auto bits = static_cast<std::uint16_t>(random());
            number = static_cast<std::uint16_t>((bits & 0x83FFU) | (7U + (bits >> 10U & 3U)) << 10U);
        }
        file.write(reinterpret_cast<const char*>(row.data()), columns * 2);
    }
    return path;
}

void measurePictures(const std::string& path) {
    constexpr std::int64_t height = 900;
    constexpr std::int64_t width = 1400;
    const double before = statusMegabytes("RssAnon:");
    std::shared_ptr<const StoredTensors> tensors;
    std::unique_ptr<BlockPyramid> pyramid;
    const GridWindow whole{0, 0, rows, columns};
    const std::int64_t down = blockSize(rows, height);
    const std::int64_t right = blockSize(columns, width);
    const double first = secondsOf([&] {
        tensors = openTensors(path);
        pyramid = std::make_unique<BlockPyramid>(tensors->grid(0));
        pyramid->sampled(whole, down, right);
    });
    const double built = secondsOf([&] { pyramid->build(); });
    fmt::print("{} x {} F16: first picture {:.3f} s, exact after another {:.3f} s\n", rows, columns, first, built);
    double worst = 0;
    double worstFine = 0;
    for (std::int64_t step = 0; step < 60; ++step) {
        worst = std::max(worst, secondsOf([&] { pyramid->picture(whole, down, right); }));
        const GridWindow window{step * 64, step * 8, height, width};
        worstFine = std::max(worstFine, secondsOf([&] { pyramid->picture(window, 1, 1); }));
    }
    fmt::print("panning: {:.1f} ms from memory, {:.1f} ms for {} x {} single numbers\n", worst * 1e3, worstFine * 1e3,
               height, width);
    TensorStatistics statistics;
    const double seconds = secondsOf([&] { statistics = statisticsOf(pyramid->grid()); });
    fmt::print("statistics {:.3f} s, {:.0f} million numbers/s\n", seconds,
               static_cast<double>(rows * columns) / seconds / 1e6);
    fmt::print("memory without the files: {:.0f} MB\n", statusMegabytes("RssAnon:") - before);
}

void measureTree() {
    const Shape shape{.layers = 80, .hidden = 8192, .ffn = 28672, .vocab = 128256, .heads = 64, .kvHeads = 8};
    const ModelFolder folder(shape);
    writeSafetensors(folder.path() / "model.safetensors", "BF16", allTensors(shape));
    std::size_t count = 0;
    const double seconds = secondsOf([&] { count = openTensors(folder.path().string())->tensors().size(); });
    fmt::print("tree of 70 billion parameters: {} tensors in {:.3f} s\n", count, seconds);
}

void measureCheckpoint(const std::string& path) {
    const auto tensors = openTensors(path);
    std::int64_t numbers = 0;
    for (const StoredTensor& tensor : tensors->tensors())
        numbers += tensor.elements();
    for (int run = 0; run < 3; ++run) {
        const double seconds = secondsOf([&] { checkpointStatistics(*tensors); });
        fmt::print("statistics of {}: {:.3f} s, {:.0f} million numbers/s\n", path, seconds,
                   static_cast<double>(numbers) / seconds / 1e6);
    }
}

} // namespace

int main(int count, char** arguments) {
    try {
        initialiseRuntime(0);
        if (count > 1)
            measureCheckpoint(arguments[1]);
        const ModelFolder folder(Shape{.layers = 1, .hidden = 64, .ffn = 64, .vocab = 64, .heads = 1, .kvHeads = 1});
        measurePictures(writeLargeTensor(folder.path()));
        measureTree();
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
