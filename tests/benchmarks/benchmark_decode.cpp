// Tokens per second of generation, and the share of the machine's read bandwidth at which its weights are read.
//
// benchmark_decode MODEL [--type float32|bfloat16] [--behind 12,512] [--texts 1] [--tokens 32] [--budget BYTES]
//
// The bandwidth is measured between the tokens, because that of a shared machine changes: with the threads of the
// runtime, on a buffer as large as the weights, up to 1 GB. Both are medians.

#include "analysis/model/model.h"
#include "analysis/running/generate.h"
#include "analysis/running/runner.h"
#include "backends/base/runtime.h"
#include "backends/engine/open_model.h"
#include "tests/benchmarks/synthetic_checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

using namespace secateur;

namespace {

using SteadyClock = std::chrono::steady_clock;

double since(SteadyClock::time_point begin) {
    return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

double medianOf(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// The sum of numbers, read by all threads as fast as memory allows.
float readAll(const at::Tensor& numbers) {
    const auto* from = numbers.data_ptr<float>();
    constexpr std::int64_t sums = 128; // enough independent additions that none waits
    return at::parallel_reduce(
        0, numbers.numel() / sums, 1 << 13, 0.0F,
        [&](std::int64_t begin, std::int64_t end, float before) {
            float sum[sums] = {};
            for (std::int64_t i = begin; i < end; ++i) {
                for (std::int64_t k = 0; k < sums; k += 16)
                    __builtin_prefetch(from + i * sums + k + 1024);
                for (std::int64_t k = 0; k < sums; ++k)
                    sum[k] += from[i * sums + k];
            }
            return before + std::accumulate(sum, sum + sums, 0.0F);
        },
        [](float a, float b) { return a + b; });
}

/// Measures bytes per second at which a buffer is read.
class Bandwidth {
public:
    explicit Bandwidth(std::int64_t bytes)
        : m_numbers(at::ones({std::min(bytes, most) / 4})) {}

    void measure() {
        const auto begin = SteadyClock::now();
        volatile float sum = readAll(m_numbers);
        (void)sum;
        m_seconds.push_back(since(begin));
    }
    /// The median of the measurements.
    double rate() { return static_cast<double>(m_numbers.nbytes()) / medianOf(m_seconds); }

private:
    static constexpr std::int64_t most = 1 << 30;
    at::Tensor m_numbers;
    std::vector<double> m_seconds;
};

/// Bytes of the weights that a token reads: all projections and the LM head.
std::int64_t weightBytes(const Model& model, ComputeType type) {
    const ModelSpec& spec = model.spec();
    std::int64_t numbers = std::int64_t{spec.vocab} * spec.hidden;
    for (const LayerSpec& layer : spec.layers)
        numbers += std::int64_t{spec.hidden} * (2 * (layer.heads + layer.kvHeads) * std::int64_t{layer.headDim} +
                                                (spec.gatedMlp ? 3 : 2) * std::int64_t{layer.ffn});
    const std::string& stored = model.card().dtype;
    const bool staysStored = type == ComputeType::float32 && stored != "F32";
    return staysStored ? model.card().bytes : numbers * (type == ComputeType::float32 ? 4 : 2);
}

struct Settings {
    std::string model;
    std::map<std::string, std::string> named{
        {"--type", "float32"}, {"--behind", "12,512"}, {"--texts", "1"}, {"--tokens", "32"}, {"--budget", "0"}};

    Settings(int count, char** values) {
        for (int i = 1; i < count; ++i) {
            const std::string value = values[i];
            if (value.starts_with("--") && i + 1 < count)
                named[value] = values[++i];
            else
                model = value;
        }
    }
    int number(const std::string& name) const { return std::stoi(named.at(name)); }
};

/// Seconds of each new token of all texts together, without the first one: the median of the tokens.
double secondsOfToken(const Model& model, const Plan& plan, const Settings& settings, int behind,
                      Bandwidth& bandwidth) {
    constexpr std::size_t tokensBetween = 4; ///< measurements of the bandwidth
    std::mt19937 random(1);
    std::vector<std::vector<int>> prompts(static_cast<std::size_t>(settings.number("--texts")));
    for (std::vector<int>& prompt : prompts)
        for (int i = 0; i < behind; ++i)
            prompt.push_back(static_cast<int>(random() % static_cast<unsigned>(model.spec().vocab)));
    GenerationRules rules;
    rules.newTokens = settings.number("--tokens") + 1;
    std::vector<double> seconds;
    auto last = SteadyClock::now();
    generate(model, plan, prompts, rules, {}, [&](std::size_t text, int) {
        if (text > 0)
            return;
        seconds.push_back(since(last));
        if (seconds.size() % tokensBetween == 0)
            bandwidth.measure();
        last = SteadyClock::now();
    });
    seconds.erase(seconds.begin()); // the prompt
    return medianOf(seconds);
}

} // namespace

int main(int count, char** values) {
    initialiseRuntime(0);
    const Settings settings(count, values);
    const auto model = openModel(settings.model, {}, {.memoryBudget = std::stoll(settings.named.at("--budget"))});
    const auto plan = model->runner().plan(PruningMask(model->spec()), computeTypeOf(settings.named.at("--type")));
    const std::int64_t bytes = weightBytes(*model, plan->type());
    std::istringstream all(settings.named.at("--behind"));
    for (std::string behind; std::getline(all, behind, ',');) {
        Bandwidth bandwidth(bytes);
        const double seconds = secondsOfToken(*model, *plan, settings, std::stoi(behind), bandwidth);
        const double rate = static_cast<double>(bytes) / seconds;
        fmt::print("{} {} behind {} tokens: {:.1f} tokens/s of each of {} texts; weights read at {:.1f} GB/s, {:.2f} "
                   "of {:.1f}\n",
                   model->card().name, name(plan->type()), behind, 1 / seconds, settings.number("--texts"), rate / 1e9,
                   rate / bandwidth.rate(), bandwidth.rate() / 1e9);
    }
    fmt::print("peak {:.0f} MB\n", benchmarks::statusMegabytes("VmHWM"));
}
