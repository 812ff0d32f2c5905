// Time and memory of looking at weights: the first picture of a tensor of 32,000 x 5,120 (F16 and F32), its exact
// picture, zooming and panning, the tree of a checkpoint of 70 billion parameters, and the statistics of all tensors of
// a checkpoint. Memory is the largest that a thread sees which looks every millisecond, without the pages of the files.
//
//     benchmark_weights [MODEL]

#include "analysis/weights/block_pyramid.h"
#include "analysis/weights/checkpoint_statistics.h"
#include "backends/base/runtime.h"
#include "backends/weights/open_tensors.h"
#include "tests/benchmarks/synthetic_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <fstream>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
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

/// The largest anonymous memory of the process while this object lives.
class PeakMemory {
public:
    PeakMemory() {
        forgetPeak();
        m_start = m_most = statusMegabytes("RssAnon:");
        m_watch = std::jthread([this](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                m_most = std::max(m_most.load(), statusMegabytes("RssAnon:"));
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        });
    }

    /// Megabytes more than at the start.
    double megabytes() const { return m_most - m_start; }

private:
    double m_start = 0;
    std::atomic<double> m_most = 0;
    std::jthread m_watch;
};

/// A file with one tensor of random numbers. @param type F16 or F32
std::string writeLargeTensor(const std::filesystem::path& folder, const std::string& type) {
    const std::string path = (folder / (type + ".safetensors")).string();
    std::ofstream file(path, std::ios::binary);
    const std::int64_t parts = type == "F16" ? 1 : 2; // of 16 bits each
    const std::int64_t bytes = rows * columns * 2 * parts;
    std::string header = fmt::format(R"({{"large":{{"dtype":"{}","shape":[{},{}],"data_offsets":[0,{}]}}}})", type,
                                     rows, columns, bytes);
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const std::uint64_t length = header.size();
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file << header;
    // The upper bits are float16 or bfloat16 numbers with exponents of numbers around 0.02; other bits at random.
    std::mt19937 random(1);
    std::vector<std::uint16_t> row(static_cast<std::size_t>(columns * parts));
    const auto last = static_cast<std::size_t>(parts - 1);
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::size_t place = 0; place < row.size(); ++place) {
            const auto bits = static_cast<std::uint16_t>(random());
            if (place % static_cast<std::size_t>(parts) != last)
                row[place] = bits;
            else if (parts == 1)
                row[place] = static_cast<std::uint16_t>((bits & 0x83FFU) | (7U + (bits >> 10U & 3U)) << 10U);
            else
                row[place] = static_cast<std::uint16_t>((bits & 0x807FU) | (119U + (bits >> 7U & 3U)) << 7U);
        }
        file.write(reinterpret_cast<const char*>(row.data()), columns * 2 * parts);
    }
    return path;
}

void measurePictures(const std::string& path) {
    constexpr std::int64_t height = 900;
    constexpr std::int64_t width = 1400;
    const PeakMemory memory;
    std::shared_ptr<const StoredTensors> tensors;
    std::unique_ptr<BlockPyramid> pyramid;
    const GridWindow whole{0, 0, rows, columns};
    const std::int64_t down = blockSize(rows, height);
    const std::int64_t right = blockSize(columns, width);
    BlockPicture shown; // stays while the next one is made
    const double first = secondsOf([&] {
        tensors = openTensors(path);
        pyramid = std::make_unique<BlockPyramid>(tensors->grid(0));
        shown = pyramid->sampled(whole, down, right, BlockValue::mean);
    });
    const double built = secondsOf([&] { pyramid->build(); });
    fmt::print("{} x {} {}: first picture {:.3f} s, exact after another {:.3f} s\n", rows, columns,
               tensors->tensors().front().type, first, built);
    double worst = 0;
    double worstFine = 0;
    for (std::int64_t step = 0; step < 60; ++step) {
        worst = std::max(worst, secondsOf([&] { shown = pyramid->picture(whole, down, right, {}, BlockValue::mean); }));
        const GridWindow window{step * 64, step * 8, height, width};
        worstFine =
            std::max(worstFine, secondsOf([&] { shown = pyramid->picture(window, 1, 1, {}, BlockValue::mean); }));
    }
    fmt::print("panning: {:.1f} ms from memory, {:.1f} ms for {} x {} single numbers\n", worst * 1e3, worstFine * 1e3,
               height, width);
    const double zoomed = secondsOf([&] {
        for (std::int64_t block = right; block >= 1; block /= 2)
            shown = pyramid->picture({0, 0, height * block, width * block}, block, block, {}, BlockValue::mean);
    });
    fmt::print("zooming from {} to 1: {:.3f} s\n", right, zoomed);
    TensorStatistics statistics;
    const double seconds = secondsOf([&] { statistics = statisticsOf(pyramid->grid()); });
    fmt::print("statistics {:.3f} s, {:.0f} million numbers/s\n", seconds,
               static_cast<double>(rows * columns) / seconds / 1e6);
    fmt::print("largest memory without the files: {:.0f} MB\n", memory.megabytes());
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
        for (const char* type : {"F16", "F32"})
            measurePictures(writeLargeTensor(folder.path(), type));
        measureTree();
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
