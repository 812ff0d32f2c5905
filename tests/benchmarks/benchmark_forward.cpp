// Tokens per second of a forward pass with losses, compared with matrix products of the same shapes alone, and the time
// that cutting units saves.
//
// benchmark_forward MODEL [--type float32|bfloat16|float16] [--device cpu|cuda]
//                   [--rows 8] [--length 512] [--batches 1] [--repeat 4] [--budget BYTES]
//                   [--curve] [--products none|vectors|tiles]
// benchmark_forward --write FOLDER: writes a checkpoint of 2 billion parameters, for a run with less memory than it
// needs
//
// forward.py measures the same with transformers.

#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "backends/base/runtime.h"
#include "backends/engine/open_model.h"
#include "backends/kernels/bfloat16_rows.h"
#include "backends/kernels/onednn.h"
#include "backends/kernels/packed_matrix.h"
#include "tests/benchmarks/synthetic_checkpoint.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>

using namespace secateur;

namespace {

using SteadyClock = std::chrono::steady_clock;

double since(SteadyClock::time_point begin) {
    return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

struct Arguments {
    std::string model;
    std::map<std::string, std::string> named;

    Arguments(int count, char** values) {
        for (int i = 1; i < count; ++i) {
            const std::string value = values[i];
            if (value == "--curve")
                named["--curve"] = "yes";
            else if (value.starts_with("--") && i + 1 < count)
                named[value] = values[++i];
            else
                model = value;
        }
    }
    std::int64_t number(const std::string& name, std::int64_t otherwise) const {
        const auto found = named.find(name);
        return found == named.end() ? otherwise : std::stoll(found->second);
    }
};

Batch drawnBatch(int rows, int length, int vocab, unsigned seed) {
    std::mt19937 random(seed);
    Batch batch;
    batch.rows = rows;
    batch.positions = length;
    for (std::int64_t i = 0; i < batch.tokens(); ++i)
        batch.ids.push_back(static_cast<int>(random() % static_cast<unsigned>(vocab)));
    return batch;
}

std::vector<int> nextTokens(const Batch& batch) {
    std::vector<int> next(batch.ids.begin() + 1, batch.ids.end());
    next.push_back(-1);
    for (int row = 0; row < batch.rows; ++row)
        next[static_cast<std::size_t>((row + 1) * batch.positions - 1)] = -1;
    return next;
}

/// The time in seconds of one evaluation. Sets `loss` to the mean loss.
double evaluate(const Runner& runner, const Plan& plan, const std::vector<Batch>& batches, double& loss) {
    const auto begin = SteadyClock::now();
    double sum = 0;
    std::int64_t count = 0;
    LayerWalk walk;
    walk.finished = [&](std::size_t batch, const at::Tensor& x) {
        const TokenLosses losses = runner.losses(plan, x, batches[batch], nextTokens(batches[batch]));
        sum = std::accumulate(losses.nats.begin(), losses.nats.end(), sum);
        count += batches[batch].tokens() - batches[batch].rows;
    };
    forEachLayer(runner, plan, batches, walk);
    loss = sum / static_cast<double>(count);
    return since(begin);
}

/// Computes result = input weight^T for one weight.
using Multiply = std::function<void(const at::Tensor& input, const at::Tensor& result)>;
/// Prepares a weight [out, in] for inputs of `rows` rows.
using Prepare = std::function<Multiply(const at::Tensor& weight, std::int64_t rows)>;

Multiply byEngine(const at::Tensor& weight, std::int64_t /*rows*/) {
    return [matrix = std::make_shared<PackedMatrix>(weight)](const at::Tensor& input, const at::Tensor& result) {
        matrix->multiply(input, result, false);
    };
}

Multiply byOneDnn(const at::Tensor& weight, std::int64_t rows) {
    using dnnl::memory;
    const memory::data_type type = onednn::typeOf(weight);
    const memory::desc input({rows, weight.size(1)}, type, memory::format_tag::ab);
    const memory::desc any({weight.size(1), weight.size(0)}, type, memory::format_tag::any);
    const auto product =
        std::make_shared<onednn::Product>(input, any, onednn::plainFloats({rows, weight.size(0)}), false);
    dnnl::stream stream(onednn::engine());
    return [product, packed = onednn::reordered(weight.t(), product->weights(), stream)](const at::Tensor& x,
                                                                                         const at::Tensor& result) {
        dnnl::stream own(onednn::engine());
        product->run(own, onednn::view(x), packed, onednn::view(result));
    };
}

/// The matrix products of a pass without anything else: a batch of tokens times every weight matrix.
class BareProducts {
public:
    BareProducts(const ModelSpec& spec, std::int64_t tokens, at::ScalarType type, const Prepare& prepare)
        : m_type(type) {
        const std::int64_t hidden = spec.hidden;
        for (const LayerSpec& layer : spec.layers) {
            const std::int64_t heads = std::int64_t{layer.heads} * layer.headDim;
            const std::int64_t keys = std::int64_t{layer.kvHeads} * layer.headDim;
            for (const auto& [out, in] : {std::pair{heads + 2 * keys, hidden},
                                          {hidden, heads},
                                          {(spec.gatedMlp ? 2 : 1) * std::int64_t{layer.ffn}, hidden},
                                          {hidden, std::int64_t{layer.ffn}}})
                add({tokens, out, in}, prepare(drawn(out, in), tokens));
        }
        const at::Tensor head = drawn(spec.vocab, hidden);
        constexpr std::int64_t chunk = 256;
        Multiply multiply;
        for (std::int64_t begin = 0, rows = 0; begin < tokens; begin += chunk) {
            const std::int64_t count = std::min(chunk, tokens - begin);
            if (count != std::exchange(rows, count))
                multiply = prepare(head, count);
            add({count, spec.vocab, hidden}, multiply);
        }
    }

    /// Number of multiplications of all products.
    double multiplications() const {
        return std::accumulate(m_products.begin(), m_products.end(), 0.0, [](double sum, const Product& product) {
            return sum + static_cast<double>(product.shape[0] * product.shape[1] * product.shape[2]);
        });
    }

    /// The time in seconds of all products in the order of a pass, so that every weight is read from memory. The best
    /// of `repeats` runs.
    double inTurn(int repeats) const {
        double best = 1e9;
        for (int i = 0; i < repeats; ++i) {
            const auto begin = SteadyClock::now();
            for (const Product& product : m_products)
                run(product);
            best = std::min(best, since(begin));
        }
        return best;
    }

    /// The time in seconds of all products if each shape is repeated alone, so that its weights are in the caches. The
    /// best of `repeats` runs.
    double warm(int repeats) const {
        std::map<std::array<std::int64_t, 3>, double> best;
        double sum = 0;
        for (const Product& product : m_products) {
            auto [found, isNew] = best.try_emplace(product.shape, 1e9);
            for (int i = 0; isNew && i < repeats; ++i) {
                const auto begin = SteadyClock::now();
                run(product);
                found->second = std::min(found->second, since(begin));
            }
            sum += found->second;
        }
        return sum;
    }

private:
    struct Product {
        std::array<std::int64_t, 3> shape; ///< rows, columns of the result, columns of the input
        Multiply multiply;
        at::Tensor input;
        at::Tensor result;
    };

    at::Tensor drawn(std::int64_t out, std::int64_t in) const { return at::randn({out, in}).to(m_type); }

    /// Products of the same shape share their input and result tensors.
    void add(const std::array<std::int64_t, 3>& shape, Multiply multiply) {
        const auto same = std::ranges::find(m_products, shape, &Product::shape);
        const bool isNew = same == m_products.end();
        const at::Tensor input = isNew ? drawn(shape[0], shape[2]) : same->input;
        const at::Tensor result = isNew ? at::empty({shape[0], shape[1]}, at::kFloat) : same->result;
        m_products.push_back({shape, std::move(multiply), input, result});
    }

    static void run(const Product& product) { product.multiply(product.input, product.result); }

    at::ScalarType m_type;
    std::vector<Product> m_products;
};

/// Number of multiplications of queries with the keys that they see, and of probabilities with values.
double attentionMultiplications(const ModelSpec& spec, const Batch& batch) {
    double sum = 0;
    for (const LayerSpec& layer : spec.layers)
        for (int query = 0; query < batch.positions; ++query) {
            const int seen = spec.family == Family::decoder ? query + 1 : batch.positions;
            sum +=
                2.0 * batch.rows * layer.heads * layer.headDim * std::min(seen, layer.window > 0 ? layer.window : seen);
        }
    return sum;
}

/// Cuts a share of the units named by `what`. Heads and neurons are cut from the beginning of every layer. Attention,
/// MLPs and blocks are dropped in evenly spaced layers.
PruningMask cutShare(const ModelSpec& spec, const std::string& what, double share) {
    PruningMask mask(spec);
    for (int index = 0; index < spec.layerCount(); ++index) {
        LayerMask layer = mask.layer(index);
        const auto cut = [&](std::vector<bool>& flags) {
            const auto count = static_cast<std::size_t>(share * static_cast<double>(flags.size()) + 0.5);
            std::fill(flags.begin(), flags.begin() + static_cast<std::ptrdiff_t>(count), false);
        };
        const bool isOut = std::floor((index + 1) * share + 1e-9) > std::floor(index * share + 1e-9);
        if (what == "heads")
            cut(layer.heads);
        if (what == "neurons")
            cut(layer.neurons);
        if (what == "attention" && isOut)
            layer.attention = AttentionCut::drop;
        if (what == "mlp" && isOut)
            layer.mlp = false;
        if (what == "blocks" && isOut)
            layer.block = false;
        mask.setLayer(index, layer);
    }
    return mask;
}

void printCurve(const Model& model, ComputeType type, const std::vector<Batch>& batches) {
    const Runner& runner = model.runner();
    for (const std::string what : {"heads", "neurons", "attention", "mlp", "blocks"}) {
        double whole = 0;
        fmt::print("{:10}", what);
        for (const double share : {0.0, 1 / 3.0, 2 / 3.0, 1.0}) {
            const auto plan = runner.plan(cutShare(model.spec(), what, share), type);
            double loss = 0;
            evaluate(runner, *plan, batches, loss);
            double best = 1e9;
            for (int i = 0; i < 3; ++i)
                best = std::min(best, evaluate(runner, *plan, batches, loss));
            whole = share == 0 ? best : whole;
            fmt::print("  {:.2f}: {:.2f} s ({:.2f})", share, best, best / whole);
        }
        fmt::print("\n");
    }
}

/// Writes a checkpoint of 4.5 GB in bfloat16. It is large enough to test a run with a quarter of that memory.
void write(const std::filesystem::path& folder) {
    const benchmarks::Shape shape{.layers = 32, .hidden = 2048, .ffn = 8192, .vocab = 32000, .heads = 16, .kvHeads = 8};
    std::filesystem::create_directories(folder);
    benchmarks::writeConfig(folder, shape);
    const at::Tensor numbers = at::empty({1 << 24}, at::kFloat).normal_(0, 0.02).to(at::kBFloat16);
    const auto* bits = static_cast<const std::uint16_t*>(numbers.data_ptr());
    benchmarks::writeSafetensors(
        folder / "model.safetensors", "BF16", benchmarks::allTensors(shape), [&](const benchmarks::Tensor& tensor) {
            std::vector<std::uint16_t> values;
            const auto wanted = static_cast<std::size_t>(tensor.elements());
            while (values.size() < wanted)
                values.insert(values.end(), bits, bits + std::min<std::size_t>(1 << 24, wanted - values.size()));
            return values;
        });
}

void run(const Arguments& arguments) {
    if (arguments.named.contains("--write"))
        return write(arguments.named.at("--write"));
    const auto type =
        arguments.named.contains("--type") ? computeTypeOf(arguments.named.at("--type")) : ComputeType::float32;
    const std::string device = arguments.named.contains("--device") ? arguments.named.at("--device") : "cpu";
    const auto model =
        openModel(arguments.model, {}, {.device = device, .memoryBudget = arguments.number("--budget", 0)});
    std::vector<Batch> batches;
    for (unsigned i = 0; i < arguments.number("--batches", 1); ++i)
        batches.push_back(drawnBatch(static_cast<int>(arguments.number("--rows", 8)),
                                     static_cast<int>(arguments.number("--length", 512)), model->spec().vocab, i));
    if (arguments.named.contains("--curve"))
        return printCurve(*model, type, batches);
    const Runner& runner = model->runner();
    const auto plan = runner.plan(PruningMask(model->spec()), type);
    const double tokens = static_cast<double>(batches.front().tokens()) * static_cast<double>(batches.size());
    double loss = 0;
    const double cold = evaluate(runner, *plan, batches, loss);
    double best = 1e9;
    for (int i = 0; i < arguments.number("--repeat", 4); ++i)
        best = std::min(best, evaluate(runner, *plan, batches, loss));
    const double peak = benchmarks::statusMegabytes("VmHWM");
    fmt::print(
        "{} {}: {:.0f} tokens/s ({:.2f} s; with the weights' conversion {:.2f} s); loss {:.6f}; {}resident, peak "
        "{:.0f} MB\n",
        model->card().name, name(plan->type()), tokens / best, best, cold, loss, plan->isResident() ? "" : "not ",
        peak);
    if (!plan->isResident() || device != "cpu")
        return;
    const double perBatch = best / static_cast<double>(batches.size());
    for (const auto& [by, prepare] : {std::pair<std::string, Prepare>{"the engine", byEngine}, {"oneDNN", byOneDnn}}) {
        const BareProducts products(model->spec(), batches.front().tokens(),
                                    plan->type() == ComputeType::bfloat16 ? at::kBFloat16 : at::kFloat, prepare);
        const double inTurn = products.inTurn(4);
        const double warm = products.warm(4);
        const double withAttention =
            1 + attentionMultiplications(model->spec(), batches.front()) / products.multiplications();
        fmt::print(
            "bare products of a batch by {}, one after the other {:.3f} s: {:.2f} of its time, {:.2f} with those "
            "of attention at the same rate; each alone, in the caches, {:.3f} s: {:.2f}\n",
            by, inTurn, inTurn / perBatch, withAttention * inTurn / perBatch, warm, warm / perBatch);
    }
}

} // namespace

/// Selects the products of bfloat16 rows: those of this program on tiles or in vectors, or (none) those of oneDNN.
bool selectProducts(const std::string& name) {
    const std::map<std::string, RowProductKind> kinds{
        {"none", RowProductKind::none}, {"vectors", RowProductKind::vectors}, {"tiles", RowProductKind::tiles}};
    return kinds.contains(name) && useRowProducts(kinds.at(name));
}

int main(int count, char** values) {
    initialiseRuntime(0);
    const Arguments arguments(count, values);
    if (arguments.named.contains("--products") && !selectProducts(arguments.named.at("--products"))) {
        fmt::print(stderr, "this processor has no such products\n");
        return 2;
    }
    run(arguments);
}
