// Speed of the vector loops of a layer, compared with the same formulas in tensors, and with a float32 matrix product
// or a copy alone in the same run. The best of several rounds is printed. Operations are counted for visible keys only.
// Bytes are counted as often as the formula reads or writes them.
//
// benchmark_loops [THREADS [TEXT]]: measures only loops whose name contains TEXT.

#include "backends/base/runtime.h"
#include "backends/kernels/layer_loops.h"
#include "backends/kernels/machine_kernels.h"
#include "backends/kernels/plain_loops.h"
#include "backends/kernels/vector_loops.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

using namespace secateur;

namespace {

std::string_view wantedText;

/// The time in seconds of the fastest of several runs of `work`.
double seconds(const std::function<void()>& work) {
    using Clock = std::chrono::steady_clock;
    work();
    double best = std::numeric_limits<double>::infinity();
    const Clock::time_point start = Clock::now();
    for (int round = 0; round < 200; ++round) {
        const Clock::time_point begin = Clock::now();
        work();
        best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
        if (round >= 5 && Clock::now() - start > std::chrono::milliseconds(800))
            break;
    }
    return best;
}

/// Operations per second of a single matrix product.
double productRate() {
    const at::Tensor a = at::randn({1536, 576});
    const at::Tensor b = at::randn({576, 1536});
    return 2.0 * 1536 * 576 * 1536 / seconds([&] { machineKernels().product(a, b); });
}

/// Bytes read and written per second by copies that are larger than the caches.
double copyRate() {
    const at::Tensor from = at::randn({1 << 24});
    const at::Tensor to = at::empty_like(from);
    const double bytes = 2.0 * static_cast<double>(from.nbytes());
    return bytes / seconds([&] {
               at::parallel_for(0, from.numel(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
                   std::memcpy(to.data_ptr<float>() + begin, from.data_ptr<float>() + begin,
                               static_cast<std::size_t>(end - begin) * sizeof(float));
               });
           });
}

void report(const std::string& name, double amount, double bare, const char* unit, const std::function<void()>& loop,
            const std::function<void()>& plain) {
    if (name.find(wantedText) == std::string::npos)
        return;
    const double own = seconds(loop);
    const double byTensors = seconds(plain);
    fmt::print("{:44} {:7.3f} ms {:7.1f} {} = {:3.0f} % of bare; by tensors {:8.3f} ms = {:4.1f} times\n", name,
               own * 1e3, amount / own / 1e9, unit, 100 * amount / own / bare, byTensors * 1e3, byTensors / own);
    std::fflush(stdout);
}

struct AttentionSubject {
    const char* name;
    AttentionShape shape;
    int rows;
    int first;
    int positions;
};

const AttentionSubject attentionSubjects[] = {
    {"8 x 512, 9 heads of 3 x 64", {.heads = 9, .kvHeads = 3, .headDim = 64, .scale = 0.125F}, 8, 0, 512},
    {"8 x 512, the same, softcap",
     {.heads = 9, .kvHeads = 3, .headDim = 64, .scale = 0.125F, .softcap = 50},
     8,
     0,
     512},
    {"1 x 2048, 32 heads of 8 x 128", {.heads = 32, .kvHeads = 8, .headDim = 128, .scale = 0.09F}, 1, 0, 2048},
    {"1 x 4096, window 512, 8 heads of 4 x 256",
     {.heads = 8, .kvHeads = 4, .headDim = 256, .window = 512, .scale = 0.06F},
     1,
     0,
     4096},
    {"16 x 128, encoder, 12 heads x 64",
     {.heads = 12, .kvHeads = 12, .headDim = 64, .causal = false, .scale = 0.125F},
     16,
     0,
     128},
    {"4 x 512, 32 heads x 80", {.heads = 32, .kvHeads = 32, .headDim = 80, .scale = 0.11F}, 4, 0, 512},
    {"1 x 512, one head x 64", {.heads = 1, .kvHeads = 1, .headDim = 64, .scale = 0.125F}, 1, 0, 512},
    {"64 x 20, 9 heads of 3 x 64", {.heads = 9, .kvHeads = 3, .headDim = 64, .scale = 0.125F}, 64, 0, 20},
};

double visiblePairs(const AttentionSubject& subject) {
    double pairs = 0;
    for (int i = 0; i < subject.positions; ++i) {
        const int position = subject.first + i;
        const int seen = subject.shape.causal ? position + 1 : subject.first + subject.positions;
        pairs += subject.shape.window > 0 ? std::min(seen, subject.shape.window) : seen;
    }
    return pairs * subject.rows * subject.shape.heads;
}

void attention(const AttentionSubject& subject, double bareProduct, double bareCopy) {
    const AttentionShape& shape = subject.shape;
    const std::int64_t keyCount = subject.first + subject.positions;
    const at::Tensor queries = at::randn({subject.rows, shape.heads, subject.positions, shape.headDim});
    const at::Tensor keys = at::randn({subject.rows, shape.kvHeads, keyCount, shape.headDim});
    const at::Tensor values = at::randn({subject.rows, shape.kvHeads, keyCount, shape.headDim});
    const at::Tensor context =
        at::empty({subject.rows, subject.positions, std::int64_t{shape.heads} * shape.headDim}, at::kBFloat16);
    const std::vector<int> first(static_cast<std::size_t>(subject.rows), subject.first);
    const std::vector<int> lengths(static_cast<std::size_t>(subject.rows), subject.positions);
    const at::Tensor mask =
        visibleKeys(first, lengths, subject.positions, keyCount, shape.causal, shape.window, at::kCPU);
    const KeyValueViews views(keys, values);
    const at::Tensor keyHalves = keys.to(at::kBFloat16);
    const at::Tensor valueHalves = values.to(at::kBFloat16);
    const KeyValueViews halves(keyHalves, valueHalves);
    const auto loopOfHalves = [&] { attend(queries, halves, shape, first, lengths, context); };
    const auto loop = [&] { attend(queries, views, shape, first, lengths, context); };
    const auto plain = [&] {
        plainAttention(queries, keys, values, mask, shape.scale, shape.softcap).transpose(1, 2).to(at::kBFloat16);
    };
    const std::string name = fmt::format("attend {}", subject.name);
    const std::string ofHalves = name + ", keys and values in bfloat16";
    if (subject.positions == 1) {
        const auto bytes = static_cast<double>(keys.nbytes() + values.nbytes());
        report(name, bytes, bareCopy, "GB/s", loop, plain);
        report(ofHalves, bytes / 2, bareCopy, "GB/s", loopOfHalves, plain);
    } else {
        const double operations = 4.0 * visiblePairs(subject) * shape.headDim;
        report(name, operations, bareProduct, "GFLOP/s", loop, plain);
        report(ofHalves, operations, bareProduct, "GFLOP/s", loopOfHalves, plain);
    }
}

void norms(double bare) {
    const at::Tensor x = at::randn({4096, 576});
    const at::Tensor added = at::randn({4096, 576});
    const at::Tensor weight = at::randn({576});
    const at::Tensor out = at::empty({4096, 576}, at::kBFloat16);
    const auto numbers = static_cast<double>(x.numel());
    for (const NormKind kind : {NormKind::rms, NormKind::layer}) {
        const NormValues norm{kind, 1e-5, weight.data_ptr<float>(), nullptr};
        const char* name = kind == NormKind::rms ? "rms norm" : "layer norm";
        report(
            fmt::format("{} 4096 x 576 to bfloat16", name), 6 * numbers, bare, "GB/s", [&] { normRows(x, norm, out); },
            [&] { plainNorm(x, kind, 1e-5, weight, {}).to(at::kBFloat16); });
        report(
            fmt::format("sum and {} 4096 x 576 to bfloat16", name), 14 * numbers, bare, "GB/s",
            [&] { addAndNormRows(x, added, x, norm, out); },
            [&] { plainNorm(x.add_(added), kind, 1e-5, weight, {}).to(at::kBFloat16); });
        x.normal_();
    }
}

void heads(double bare) {
    const AttentionShape shape{.heads = 9, .kvHeads = 3, .headDim = 64};
    const at::Tensor projected = at::randn({8, 512, 15 * 64});
    const at::Tensor angles = at::rand({512, 32});
    const at::Tensor cosines = angles.cos();
    const at::Tensor sines = angles.sin();
    const at::Tensor weight = at::randn({64});
    const at::Tensor queries = at::empty({8, 9, 512, 64});
    const at::Tensor keys = at::empty({8, 3, 512, 64});
    const at::Tensor values = at::empty({8, 3, 512, 64});
    const std::vector<int> first(8, 0);
    const std::vector<int> lengths(8, 512);
    for (const bool norms : {false, true}) {
        const NormValues norm{NormKind::rms, 1e-6, norms ? weight.data_ptr<float>() : nullptr, nullptr};
        report(
            norms ? "place, norm and turn heads 8 x 512 x 15 x 64" : "place and turn heads 8 x 512 x 15 x 64",
            8.0 * static_cast<double>(projected.numel()), bare, "GB/s",
            [&] {
                placeHeads(projected, shape, norm, norm, {cosines.data_ptr<float>(), sines.data_ptr<float>(), 64},
                           first, lengths, queries, {keys, values});
            },
            [&] {
                const at::Tensor all = projected.view({8, 512, 15, 64}).transpose(1, 2);
                const at::Tensor turning = all.narrow(1, 0, 12);
                plainRotary(norms ? plainNorm(turning, NormKind::rms, 1e-6, weight, {}) : turning, cosines.unsqueeze(0),
                            sines.unsqueeze(0));
                all.narrow(1, 12, 3).contiguous();
            });
    }
}

void activations(double bare) {
    const at::Tensor projected = at::randn({4096, 2 * 1536});
    const at::Tensor hidden = at::empty({4096, 1536}, at::kBFloat16);
    constexpr std::pair<const char*, Activation> all[] = {{"silu", Activation::silu},
                                                          {"gelu (tanh)", Activation::geluTanh},
                                                          {"gelu (erf)", Activation::geluErf},
                                                          {"relu", Activation::relu}};
    for (const auto& [name, activation] : all) {
        report(
            fmt::format("{} gated 4096 x 1536 to bfloat16", name), 10.0 * static_cast<double>(hidden.numel()), bare,
            "GB/s", [&, which = activation] { activateRows(projected, which, true, hidden); },
            [&, which = activation] { plainActivation(projected, which, true).to(at::kBFloat16); });
    }
}

void losses(double bare) {
    const at::Tensor logits = at::randn({256, 49152});
    const at::Tensor targets = at::randint(0, 49152, {256}, at::kLong);
    const std::vector<int> numbers(targets.data_ptr<std::int64_t>(), targets.data_ptr<std::int64_t>() + 256);
    std::vector<float> loss(256);
    std::vector<std::uint8_t> greedy(256);
    for (const float softcap : {0.0F, 30.0F}) {
        report(
            fmt::format("cross-entropy 256 x 49152{}", softcap > 0 ? ", softcap" : ""),
            4.0 * static_cast<double>(logits.numel()), bare, "GB/s",
            [&] { crossEntropyRows(logits, numbers, softcap, loss, greedy); },
            [&] {
                plainCrossEntropy(logits, targets, softcap);
                logits.argmax(-1).eq(targets);
            });
    }
}

} // namespace

int main(int count, char** arguments) {
    initialiseRuntime(count > 1 ? std::atoi(arguments[1]) : 0);
    if (count > 2)
        wantedText = arguments[2];
    const double product = productRate();
    const double copy = copyRate();
    fmt::print("{} threads, vectors of {}: bare product {:.0f} GFLOP/s, bare copy {:.1f} GB/s\n", at::get_num_threads(),
               vectorLoops().lanes, product / 1e9, copy / 1e9);
    for (const AttentionSubject& subject : attentionSubjects)
        attention(subject, product, copy);
    for (const int rows : {1, 16})
        attention({rows == 1 ? "generation, 1 x 4096, 9 heads of 3 x 64" : "generation, 16 x 4096, 9 heads of 3 x 64",
                   {.heads = 9, .kvHeads = 3, .headDim = 64, .scale = 0.125F},
                   rows,
                   4095,
                   1},
                  product, copy);
    norms(copy);
    heads(copy);
    activations(copy);
    losses(copy);
    return 0;
}
