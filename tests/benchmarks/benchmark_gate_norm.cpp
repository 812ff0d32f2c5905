// Time of the gate-norms of large models, compared with matrix products of the same shapes alone and with reading the
// same bytes.
//
// One model has 13 billion parameters in float16 and as many key heads as query heads. The other has 8 billion
// parameters in bfloat16 and eight key heads. Only queries and keys have values (4.2 GB and 1.3 GB). The models are
// written to the folder for temporary files.
//
// benchmark_gate_norm [13b | 8b [FOLDER]]: measures only one of the models. With FOLDER, the model is written there and
// kept for other programs.
// benchmark_gate_norm --device cuda: measures the larger one on a device, without files: from weights in its memory, and
// from weights in the memory of the processor.

#include "analysis/metrics/measure.h"
#include "analysis/metrics/wide_query_key.h"
#include "analysis/model/model.h"
#include "backends/engine/open_model.h"
#include "backends/base/runtime.h"
#include "backends/kernels/machine_kernels.h"
#include "tests/benchmarks/synthetic_checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace secateur;
using namespace secateur::benchmarks;

namespace {

using SteadyClock = std::chrono::steady_clock;

double since(SteadyClock::time_point begin) {
    return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

struct Subject {
    const char* name;
    const char* type;
    Shape shape;

    at::ScalarType scalarType() const { return std::string_view(type) == "F16" ? at::kHalf : at::kBFloat16; }
    std::int64_t keyRows() const { return shape.hidden / shape.heads * shape.kvHeads; }
};

constexpr Subject subjects[] = {
    {"13b", "F16", {.layers = 40, .hidden = 5120, .ffn = 13824, .vocab = 32000, .heads = 40, .kvHeads = 40}},
    {"8b", "BF16", {.layers = 32, .hidden = 4096, .ffn = 14336, .vocab = 128256, .heads = 32, .kvHeads = 8}},
};

/// Random normal values for queries and keys. Other tensors get no values.
std::vector<std::uint16_t> drawn(const Subject& subject, const Tensor& tensor) {
    if (tensor.name.find("q_proj") == std::string::npos && tensor.name.find("k_proj") == std::string::npos)
        return {};
    const auto seed = static_cast<std::int64_t>(std::hash<std::string>()(tensor.name) >> 1);
    at::manual_seed(static_cast<std::uint64_t>(seed));
    const at::Tensor values = at::empty({tensor.elements()}, at::kFloat).normal_(0, 0.02).to(subject.scalarType());
    const auto* bits = static_cast<const std::uint16_t*>(values.data_ptr());
    return {bits, bits + values.numel()};
}

void write(const Subject& subject, const std::filesystem::path& folder) {
    writeSafetensors(folder / "model.safetensors", subject.type, allTensors(subject.shape),
                     [&](const Tensor& tensor) { return drawn(subject, tensor); });
}

/// The time in seconds of the smallest set of products that the norms of layers and heads need, computed by ATen in
/// bfloat16.
double bareProducts(const Subject& subject) {
    const Shape& shape = subject.shape;
    const auto rows = [&](std::int64_t count) { return at::randn({count, shape.hidden}).to(at::kBFloat16); };
    const at::Tensor query = rows(shape.hidden);
    const at::Tensor key = rows(subject.keyRows());
    const at::Tensor groups = rows(subject.keyRows());
    const auto heads = [&](const at::Tensor& t, std::int64_t count) {
        const at::Tensor blocks = t.view({count, -1, shape.hidden});
        return blocks.bmm(blocks.transpose(1, 2));
    };
    const SteadyClock::time_point begin = SteadyClock::now();
    for (int layer = 0; layer < shape.layers; ++layer) {
        if (shape.kvHeads == shape.heads) {
            query.t().mm(key);
        } else {
            groups.mm(groups.t());
            key.mm(key.t());
        }
        heads(query, shape.heads);
        heads(key, shape.kvHeads);
    }
    return since(begin);
}

/// The time in seconds of reading every element once. Pages are released after use.
double plainRead(const Model& model) {
    const SteadyClock::time_point begin = SteadyClock::now();
    double sum = 0;
    for (int layer = 0; layer < model.spec().layerCount(); ++layer) {
        for (const WeightName which : {WeightName::query, WeightName::key}) {
            const at::Tensor weight = model.tensor(layer, which);
            const auto* words = static_cast<const std::uint64_t*>(weight.data_ptr());
            constexpr std::int64_t numbersInWord = 4;
            sum += at::parallel_reduce(
                0, weight.numel() / numbersInWord, 1 << 16, 0.0,
                [&](std::int64_t from, std::int64_t to, double) {
                    std::uint64_t bits = 0;
                    for (std::int64_t i = from; i < to; ++i)
                        bits ^= words[i];
                    return static_cast<double>(bits);
                },
                [](double a, double b) { return a + b; });
            model.release(layer, which);
        }
    }
    return sum == 1 ? 0 : since(begin); // the sum is used, so that the compiler does not remove the loop
}

struct Times {
    double exact = 0;         ///< seconds of the measurement without a callback for estimates
    double firstEstimate = 0; ///< seconds until every layer has an estimate
    double withEstimates = 0; ///< seconds of the measurement with a callback for estimates
    double spread = 0;        ///< root mean square of (estimate - exact) / standard error
};

Times gateNorms(const Model& model) {
    const auto requests = parseMetricRequests("gate_norm,gate_norm_head");
    Times times;
    SteadyClock::time_point begin = SteadyClock::now();
    const std::vector<MetricResult> results = measure(model, requests, {});
    times.exact = since(begin);

    std::vector<std::optional<double>> seen(model.spec().layers.size());
    std::size_t missing = seen.size();
    double squares = 0;
    begin = SteadyClock::now();
    measure(model, requests, {}, [&](const LayerCells& cells) {
        std::optional<double>& value = seen[static_cast<std::size_t>(cells.layer)];
        if (cells.request != 0 || value)
            return;
        value = cells.values[0];
        if (!cells.standardErrors.empty()) {
            const double exact = results[0].values(static_cast<std::size_t>(cells.layer), 0);
            squares += std::pow((*value - exact) / cells.standardErrors[0], 2);
        }
        if (--missing == 0)
            times.firstEstimate = since(begin);
    });
    times.withEstimates = since(begin);
    times.spread = std::sqrt(squares / static_cast<double>(seen.size()));
    return times;
}

void run(const Subject& subject, const std::filesystem::path& folder) {
    if (!std::filesystem::exists(folder / "model.safetensors"))
        write(subject, folder);
    const auto model = openModel(folder.string());
    plainRead(*model); // reads the file into the page cache, so that it is not timed
    for (int round = 1; round <= 3; ++round) {
        const double read = plainRead(*model);
        forgetPeak();
        const Times times = gateNorms(*model);
        const double peak = statusMegabytes("VmHWM:");
        const double products = bareProducts(subject);
        fmt::print("{} round {}: products {:.2f} s + read {:.2f} s; layers and heads {:.2f} s = {:.2f} of that; first "
                   "value of every layer {:.2f} s (errors {:.2f} of their standard error), then all {:.2f} s; at most "
                   "{:.0f} MB resident\n",
                   subject.name, round, products, read, times.exact, times.exact / (products + read),
                   times.firstEstimate, times.spread, times.withEstimates, peak);
        std::fflush(stdout);
    }
}

/// Random queries and keys of some layers.
std::vector<WideSource> drawnSources(const Subject& subject, int layers, const at::Device& device) {
    const auto drawn = [&](std::int64_t rows) {
        return (at::randn({rows, subject.shape.hidden}, at::TensorOptions(device)) * 0.02).to(subject.scalarType());
    };
    const int headDim = static_cast<int>(subject.shape.hidden / subject.shape.heads);
    std::vector<WideSource> sources;
    for (int layer = 0; layer < layers; ++layer)
        sources.push_back({drawn(subject.shape.hidden), drawn(subject.keyRows()), {},
                           static_cast<int>(subject.shape.heads), static_cast<int>(subject.shape.kvHeads), headDim});
    return sources;
}

/// Prints the times of the norms of layers alone, and of layers and heads.
void printNorms(const Kernels& kernels, const std::vector<WideSource>& sources, const char* place) {
    for (const bool withHeads : {false, true})
        for (int round = 1; round <= 3; ++round) {
            const SteadyClock::time_point begin = SteadyClock::now();
            double sum = 0;
            for (const WideSource& source : sources) {
                WideQueryKey queryKey(kernels, source);
                sum += std::sqrt(queryKey.squaredLayerNorm([] {}));
                if (withHeads)
                    queryKey.squaredHeadNorms();
            }
            fmt::print("{} layers from {}, {}, round {}: {:.0f} ms; mean norm {:.4f}\n", sources.size(), place,
                       withHeads ? "layers and heads" : "layers", round, 1e3 * since(begin),
                       sum / static_cast<double>(sources.size()));
        }
}

void runOnDevice(const std::string& device) {
    const auto kernels = kernelsOf(device);
    const Subject& subject = subjects[0];
    constexpr int someLayers = 8;
    printNorms(*kernels, drawnSources(subject, subject.shape.layers, at::Device(device)), "the device's memory");
    printNorms(*kernels, drawnSources(subject, someLayers, at::kCPU), "the processor's memory");
}

} // namespace

int main(int count, char** arguments) {
    try {
        initialiseRuntime(0);
        if (count == 3 && arguments[1] == std::string_view("--device")) {
            runOnDevice(arguments[2]);
            return 0;
        }
        for (const Subject& subject : subjects) {
            if (count > 1 && arguments[1] != std::string_view(subject.name))
                continue;
            if (count > 2) {
                writeConfig(arguments[2], subject.shape);
                run(subject, arguments[2]);
            } else {
                const ModelFolder folder(subject.shape);
                run(subject, folder.path());
            }
        }
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
