// Time of gradient metrics: batches compared with single sentences, two ways to compute gradient norms, and memory by
// number of layers.
//
// benchmark_gradients MODEL [--sentences 256] [--batch 32]   seconds of gnorm on sentences of 20 to 60 tokens
// benchmark_gradients MODEL --stages 32                      time of each stage for a batch of this many rows
// benchmark_gradients --forms [HIDDEN]                       the faster way to compute a norm, by length
// benchmark_gradients --depth [LAYERS]                       peak memory of a synthetic model with this many layers
//
// The first quarter of the sentences is also measured sentence by sentence and with all gradient metrics. These times
// are extrapolated to all sentences. Single sentences run on the same engine, which does not compute gradients of
// weights. gradients.py measures autograd on the whole model.

#include "analysis/metrics/gradient_sums.h"
#include "analysis/metrics/measure_stages.h"
#include "analysis/model/model.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner.h"
#include "analysis/running/runner_results.h"
#include "backends/engine/open_model.h"
#include "backends/base/runtime.h"
#include "tests/benchmarks/synthetic_checkpoint.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <string>

using namespace secateur;

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<TokenSequence> drawnSentences(std::size_t count, int shortest, int longest, int vocab) {
    std::mt19937 random(1);
    std::vector<TokenSequence> sentences(count);
    for (TokenSequence& sentence : sentences) {
        const int length = shortest + static_cast<int>(random() % static_cast<unsigned>(longest - shortest + 1));
        for (int i = 0; i < length; ++i)
            sentence.ids.push_back(static_cast<int>(random() % static_cast<unsigned>(vocab)));
        sentence.types.assign(sentence.ids.size(), 0);
    }
    return sentences;
}

double measured(const Model& model, const Plan& plan, std::span<const TokenSequence> sentences,
                std::int64_t batchTokens, const std::string& metrics) {
    const auto begin = Clock::now();
    measureGradient(model, {.plan = plan, .sequences = sentences, .batchTokens = batchTokens},
                    parseMetricRequests(metrics), {});
    return since(begin);
}

void compareBatches(const std::string& path, std::size_t count, std::int64_t batch) {
    const auto model = openModel(path);
    const auto plan = model->runner().plan(PruningMask(model->spec()), ComputeType::float32);
    const auto sentences = drawnSentences(count, 20, 60, model->spec().vocab);
    // The first run also converts the weights, so it is not timed.
    measured(*model, *plan, std::span(sentences).first(1), 1, "gnorm");
    const double together = measured(*model, *plan, sentences, batch * 40, "gnorm");
    fmt::print("{}: {} sentences of 20 to 60 tokens\ngnorm, batches of about {}: {:.2f} s\n", model->card().name, count,
               batch, together);
    constexpr std::size_t share = 4;
    const auto some = std::span(sentences).first(count / share);
    const double alone = share * measured(*model, *plan, some, 1, "gnorm");
    fmt::print("one by one: {:.2f} s; ratio {:.2f}\n", alone, alone / together);
    const double all = share * measured(*model, *plan, some, batch * 40, "gradient");
    fmt::print("all gradient metrics of the group: {:.2f} s\n", all);
}

/// Prints the time in seconds of each stage for one batch.
void timeStages(const std::string& path, std::int64_t rows) {
    const auto model = openModel(path);
    const Runner& runner = model->runner();
    const auto plan = runner.plan(PruningMask(model->spec()), ComputeType::float32);
    const auto sentences = drawnSentences(static_cast<std::size_t>(rows), 40, 40, model->spec().vocab);
    const PaddedBatches batches = paddedBatches(sentences, 1 << 20);
    const Batch& batch = batches.batches.front();
    std::vector<int> targets(batch.ids.begin() + 1, batch.ids.end());
    targets.push_back(-1);
    for (int round = 0; round < 3; ++round) {
        auto begin = Clock::now();
        const auto lap = [&] {
            const double seconds = since(begin);
            begin = Clock::now();
            return seconds;
        };
        std::vector<at::Tensor> streams{runner.embed(*plan, batch)};
        for (int layer = 0; layer < model->spec().layerCount(); ++layer)
            streams.push_back(runner.runLayer(*plan, layer, streams.back(), batch));
        const double up = lap();
        std::vector<std::unique_ptr<RecordedLayer>> recorded;
        const std::vector<Tap> taps{Tap::attentionInput, Tap::query, Tap::key, Tap::value};
        for (int layer = 0; layer < model->spec().layerCount(); ++layer)
            recorded.push_back(runner.recordLayer(*plan, layer, streams[static_cast<std::size_t>(layer)], batch, taps));
        const double recording = lap();
        at::Tensor gradient =
            runner.lossGradient(*plan, streams.back(), batch, Scalarisation::taskLoss, targets, {}).stream;
        const double lmHead = lap();
        double again = 0;
        double tapped = 0;
        double sums = 0;
        for (int layer = model->spec().layerCount() - 1; layer >= 0; --layer) {
            const at::Tensor& x = streams[static_cast<std::size_t>(layer)];
            lap();
            runner.backward(*plan, layer, x, batch, gradient, taps);
            again += lap();
            const OutputGradient pull{gradient, taps};
            LayerGradients found;
            recorded[static_cast<std::size_t>(layer)]->backwardEach(
                {&pull, 1}, [&](std::size_t, LayerGradients own) { found = std::move(own); });
            recorded.pop_back();
            tapped += lap();
            const ProjectionNorms norms(found.taps.at(Tap::attentionInput).value);
            for (const Tap tap : {Tap::query, Tap::key, Tap::value})
                norms.squares(found.taps.at(tap).gradient);
            sums += lap();
            gradient = std::move(found.input);
        }
        fmt::print("{} x 40 tokens: up {:.2f} s, recording {:.2f} s, LM head {:.2f} s, down {:.2f} s (layers run "
                   "again {:.2f} "
                   "s), norms {:.2f} s\n",
                   rows, up, recording, lmHead, tapped, again, sums);
    }
}

void compareForms(std::int64_t hidden) {
    for (const std::int64_t length : {32, 64, 96, 128, 192, 256, 384, 512}) {
        const std::int64_t rows = std::max<std::int64_t>(1, 2048 / length);
        const at::Tensor input = at::randn({rows, length, hidden});
        const at::Tensor delta = at::randn({rows, length, hidden / 64, 64});
        const auto seconds = [&](NormForm form) {
            double best = 1e9;
            for (int i = 0; i < 5; ++i) {
                const auto begin = Clock::now();
                const ProjectionNorms norms(input, form);
                for (int projection = 0; projection < 3; ++projection)
                    norms.squares(delta);
                best = std::min(best, since(begin));
            }
            return best * 1e3;
        };
        fmt::print("hidden {} length {:4}: tokens {:8.1f} ms, matrix {:8.1f} ms\n", hidden, length,
                   seconds(NormForm::tokens), seconds(NormForm::matrix));
    }
}

/// Prints the peak memory of a run without that of the loaded weights, and the size of the residual streams in it.
void memoryOfDepth(int layers) {
    const benchmarks::Shape shape{
        .layers = layers, .hidden = 512, .ffn = 1536, .vocab = 4096, .heads = 8, .kvHeads = 4};
    const benchmarks::ModelFolder folder(shape);
    const at::Tensor numbers = at::empty({1 << 22}, at::kFloat).normal_(0, 0.02).to(at::kBFloat16);
    const auto* bits = static_cast<const std::uint16_t*>(numbers.data_ptr());
    benchmarks::writeSafetensors(
        folder.path() / "model.safetensors", "BF16", benchmarks::allTensors(shape),
        [&](const benchmarks::Tensor& tensor) { return std::vector<std::uint16_t>(bits, bits + tensor.elements()); });
    const auto model = openModel((folder.path() / "model.safetensors").string());
    const auto plan = model->runner().plan(PruningMask(model->spec()), ComputeType::float32);
    const auto sentences = drawnSentences(16, 256, 256, shape.vocab);
    constexpr std::int64_t batchTokens = 2048;
    measured(*model, *plan, std::span(sentences).first(1), batchTokens, "gnorm,head_mask_gradient");
    malloc_trim(0); // returns freed memory to the system, so that it does not count as used
    benchmarks::forgetPeak();
    const double before = benchmarks::statusMegabytes("VmRSS");
    const double seconds = measured(*model, *plan, sentences, batchTokens, "gnorm,head_mask_gradient");
    const double peak = benchmarks::statusMegabytes("VmHWM") - before;
    const double streams = static_cast<double>(batchTokens * shape.hidden * layers) * 4 / 1e6;
    fmt::print("{:2} layers: {:6.0f} MB, of which streams {:4.0f} MB, the rest {:4.0f} MB; {:.1f} s\n", layers, peak,
               streams, peak - streams, seconds);
}

} // namespace

int main(int count, char** values) {
    initialiseRuntime(0);
    std::map<std::string, std::string> named;
    std::string model;
    for (int i = 1; i < count; ++i) {
        const std::string value = values[i];
        if (value.starts_with("--"))
            named[value] = i + 1 < count ? values[++i] : "";
        else
            model = value;
    }
    const auto number = [&](const std::string& name, int otherwise) {
        return named.contains(name) && !named[name].empty() ? std::stoi(named[name]) : otherwise;
    };
    if (named.contains("--stages"))
        timeStages(model, number("--stages", 32));
    else if (named.contains("--forms"))
        compareForms(number("--forms", 576));
    else if (named.contains("--depth"))
        memoryOfDepth(number("--depth", 8));
    else
        compareBatches(model, static_cast<std::size_t>(number("--sentences", 256)), number("--batch", 32));
}
