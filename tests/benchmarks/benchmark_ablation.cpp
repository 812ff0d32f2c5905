// Time of the exact ablation of every head, compared with one evaluation of the dense model for each head.
//
// The largest possible ratio follows from the number of operations. The program prints it as "bound". When a head is
// cut, only the MLP of its layer, the layers above and the LM head must run again.
//
// benchmark_ablation MODEL TEXT [--type float32|bfloat16] [--tokens 2048] [--window 512] [--batch-tokens 4096]
//                    [--part 0/1] [--threads 0] [--screen 0] [--out FILE]
//
// --part K/N: measures only the layers whose number modulo N is K, so that runs can alternate with those of
// ablation.py, which has the same option. Evaluations of the dense model run between the layers; their time is measured
// separately.
// --screen N: also searches the N lowest heads by screening, and prints how many of them are among the N lowest of the
// exact ranking. Needs all layers.
// --out FILE: writes a row for each head with layer, head and nats, and with --screen the screened value and its
// standard error.

#include "analysis/metrics/ablation.h"
#include "analysis/metrics/ablation_walk.h"
#include "analysis/running/runner.h"
#include "analysis/masks/price.h"
#include "analysis/metrics/screened_ablation.h"
#include "backends/engine/open_model.h"
#include "backends/base/runtime.h"
#include "backends/text/sequence_text.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <string>

using namespace secateur;

namespace {

using SteadyClock = std::chrono::steady_clock;

double since(SteadyClock::time_point begin) {
    return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

struct Arguments {
    std::vector<std::string> paths;
    std::map<std::string, std::string> named;

    Arguments(int count, char** values) {
        for (int i = 1; i < count; ++i) {
            const std::string value = values[i];
            if (value.starts_with("--") && i + 1 < count)
                named[value] = values[++i];
            else
                paths.push_back(value);
        }
    }
    std::string text(const std::string& name, const std::string& otherwise) const {
        const auto found = named.find(name);
        return found == named.end() ? otherwise : found->second;
    }
    std::int64_t number(const std::string& name, std::int64_t otherwise) const {
        return std::stoll(text(name, std::to_string(otherwise)));
    }
};

/// The time in seconds of one evaluation of the dense model's loss.
double denseSeconds(const Model& model, const Plan& plan, const SequenceText& text, std::int64_t batchTokens) {
    const auto begin = SteadyClock::now();
    const SequenceLosses losses(model, text.set.sequences, text.labels);
    const PaddedBatches batches = paddedBatches(text.set.sequences, batchTokens);
    LayerWalk walk;
    walk.finished = [&](std::size_t batch, const at::Tensor& x) {
        losses.of(plan, x, batches.batches[batch], batches.sequences[batch], {});
    };
    forEachLayer(model.runner(), plan, batches.batches, walk);
    return since(begin);
}

/// Results in which all heads outside this part's layers count as measured, so that they are skipped.
std::vector<MetricResult> othersKnown(const ModelSpec& spec, std::span<const MetricRequest> requests, int part,
                                      int parts) {
    AblationTable table(spec, PruningMask(spec), requests, {});
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        for (const AblationPart& head : table.missing(layer, 0))
            if (layer % parts != part)
                table.set(head, {});
    return table.results();
}

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

struct Timed {
    MetricResult result;
    double seconds = 0;
};

Timed screened(const Model& model, const AblationRun& run, std::int64_t lowest) {
    const auto requests = parseMetricRequests(fmt::format("ablation_head:screen={}", lowest));
    const auto begin = SteadyClock::now();
    MetricResult result = screenedAblation(model, run, requests.front(), {});
    return {std::move(result), since(begin)};
}

/// The indices of the `count` lowest values, in increasing order.
std::vector<std::size_t> lowestCells(const Matrix& values, std::int64_t count) {
    std::vector<std::size_t> cells(values.values().size());
    std::iota(cells.begin(), cells.end(), std::size_t{0});
    std::ranges::sort(cells, {}, [&](std::size_t cell) { return values.values()[cell]; });
    cells.resize(std::min(cells.size(), static_cast<std::size_t>(count)));
    std::ranges::sort(cells);
    return cells;
}

void print(const Timed& screening, const MetricResult& exact, std::int64_t lowest, double exactSeconds) {
    std::vector<std::size_t> common;
    std::ranges::set_intersection(lowestCells(screening.result.values, lowest), lowestCells(exact.values, lowest),
                                  std::back_inserter(common));
    fmt::print("{}; {:.2f} s, {:.2f} times as fast; {} of the {} lowest are those of the exact ranking\n",
               screening.result.warnings.front(), screening.seconds, exactSeconds / screening.seconds, common.size(),
               lowest);
}

void write(const std::string& path, const Matrix& exact, const MetricResult* screening) {
    std::ofstream file(path);
    for (std::size_t layer = 0; layer < exact.rows(); ++layer)
        for (std::size_t head = 0; head < exact.columns(); ++head) {
            file << fmt::format("{},{},{}", layer, head, exact(layer, head));
            if (screening)
                file << fmt::format(",{},{}", screening->values(layer, head), (*screening->standardError)(layer, head));
            file << "\n";
        }
}

} // namespace

int main(int count, char** values) {
    const Arguments arguments(count, values);
    initialiseRuntime(static_cast<int>(arguments.number("--threads", 0)));
    const auto model = openModel(arguments.paths.at(0));
    const auto plan =
        model->runner().plan(PruningMask(model->spec()), computeTypeOf(arguments.text("--type", "float32")));
    SequenceRequest request;
    request.path = arguments.paths.at(1);
    request.rules = {.split = TextSplit::windows,
                     .length = arguments.number("--window", 512),
                     .mostTokens = arguments.number("--tokens", 2048)};
    const SequenceText text = readSequenceText(*model, request);
    const std::int64_t batchTokens = arguments.number("--batch-tokens", 4096);
    const std::string which = arguments.text("--part", "0/1");
    const int part = std::stoi(which);
    const int parts = std::stoi(which.substr(which.find('/') + 1));

    // The first evaluation also converts the weights, so it is not timed.
    denseSeconds(*model, *plan, text, batchTokens);
    const auto requests = parseMetricRequests("ablation_head");
    const auto known = othersKnown(model->spec(), requests, part, parts);
    std::vector<double> dense{denseSeconds(*model, *plan, text, batchTokens)};
    AblationRun run{*plan, text.set.sequences, text.labels, batchTokens};
    run.memory = {known, [&](const std::vector<MetricResult>&) {
                      dense.push_back(denseSeconds(*model, *plan, text, batchTokens));
                  }};
    const AblationPasses owed = ablationPasses(*model, run, requests);
    const auto begin = SteadyClock::now();
    const MetricResult exact = measureAblation(*model, run, requests, {}).front();
    const double seconds = since(begin) - std::accumulate(dense.begin() + 1, dense.end(), 0.0);

    const auto shares =
        operationShares(model->spec(), PruningMask(model->spec()), static_cast<int>(request.rules.length));
    // Operations of the LM head relative to those of all layers.
    const double lmHead = shares.back() / (1 - shares.back());
    const auto heads = static_cast<double>(owed.parts);
    const double bound = heads * (1 + lmHead) / (owed.layers - 2 + heads * lmHead);
    const double ratio = heads * mean(dense) / seconds;
    fmt::print(
        "{} {}, {} tokens: {} heads in {:.2f} s; dense {:.3f} s (mean of {}, {:.3f} to {:.3f}); {:.3f} times one "
        "evaluation per head, bound {:.3f}, share {:.3f}\n",
        model->card().name, name(plan->type()), text.set.tokens, owed.parts, seconds, mean(dense), dense.size(),
        std::ranges::min(dense), std::ranges::max(dense), ratio, bound, ratio / bound);
    const std::int64_t lowest = arguments.number("--screen", 0);
    std::optional<Timed> screening;
    if (lowest > 0) {
        run.memory = {};
        screening = screened(*model, run, lowest);
        print(*screening, exact, lowest, seconds);
    }
    if (const std::string path = arguments.text("--out", ""); !path.empty())
        write(path, exact.values, screening ? &screening->result : nullptr);
}
