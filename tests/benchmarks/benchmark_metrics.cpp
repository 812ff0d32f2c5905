// Time of a pass with forward metrics relative to a pass without metrics: with all metrics, and with each group of
// metrics that use the same sums.
//
// benchmark_metrics MODEL [--type float32|bfloat16] [--rows 8] [--length 512] [--repeat 5] [--budget BYTES]
//                   [--only GROUP]
//
// Passes with and without metrics alternate, and the median of the ratios of their times is printed. The printed peak
// memory is that of the process. --rows 1 --length 4096 measures a long sequence.

#include "analysis/metrics/forward_metrics.h"
#include "analysis/metrics/measure_stages.h"
#include "analysis/model/model.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner.h"
#include "backends/engine/open_model.h"
#include "backends/base/runtime.h"
#include "tests/benchmarks/synthetic_checkpoint.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string>

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
            if (value.starts_with("--") && i + 1 < count)
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

std::vector<TokenSequence> drawnSequences(std::int64_t rows, std::int64_t length, int vocab) {
    std::mt19937 random(1);
    std::vector<TokenSequence> sequences(static_cast<std::size_t>(rows));
    for (TokenSequence& sequence : sequences) {
        for (std::int64_t i = 0; i < length; ++i)
            sequence.ids.push_back(static_cast<int>(random() % static_cast<unsigned>(vocab)));
        sequence.types.assign(sequence.ids.size(), 0);
    }
    return sequences;
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// A group of metrics that are computed from the same sums.
struct Group {
    const char* name;
    /// The sums that the metrics use; empty for all metrics; SharedSums::none for metrics of attention maps.
    std::vector<SharedSums> read;
};

std::vector<MetricRequest> requestsOf(const Group& group) {
    std::vector<MetricRequest> requests;
    for (const MetricInfo& metric : forwardMetrics())
        if (const SharedSums sums = std::get<ForwardMetric>(metric.computation).reads;
            group.read.empty() || std::ranges::find(group.read, sums) != group.read.end())
            requests.push_back({&metric, {}});
    return requests;
}

void run(const Arguments& arguments) {
    const auto type =
        arguments.named.contains("--type") ? computeTypeOf(arguments.named.at("--type")) : ComputeType::float32;
    const auto model = openModel(arguments.model, {}, {.memoryBudget = arguments.number("--budget", 0)});
    const Runner& runner = model->runner();
    const auto plan = runner.plan(PruningMask(model->spec()), type);
    const auto sequences =
        drawnSequences(arguments.number("--rows", 8), arguments.number("--length", 512), model->spec().vocab);
    const PaddedBatches batches = paddedBatches(sequences, 4096);
    const auto plain = [&] {
        const auto begin = SteadyClock::now();
        forEachLayer(runner, *plan, batches.batches, {});
        return since(begin);
    };
    plain();
    fmt::print("{} {}: {} tokens\n", model->card().name, name(plan->type()), batches.tokens());
    const std::vector<Group> groups{{"all", {}},
                                    {"stream", {SharedSums::stream}},
                                    {"similarity", {SharedSums::similarity}},
                                    {"context", {SharedSums::context}},
                                    {"contributions", {SharedSums::contributions}},
                                    {"neurons", {SharedSums::neurons}},
                                    {"attention", {SharedSums::none}}};
    for (const Group& group : groups) {
        if (arguments.named.contains("--only") && arguments.named.at("--only") != group.name)
            continue;
        const std::vector<MetricRequest> requests = requestsOf(group);
        std::vector<double> ratios;
        std::vector<double> seconds;
        for (int i = 0; i < arguments.number("--repeat", 5); ++i) {
            const double before = plain();
            const auto begin = SteadyClock::now();
            measureForward(*model, {*plan, sequences}, requests, {});
            seconds.push_back(since(begin));
            ratios.push_back(2 * seconds.back() / (before + plain()));
        }
        fmt::print("{:14} {:2} metrics: {:.3f} of a plain pass ({:.2f} s); peak {:.0f} MB\n", group.name,
                   requests.size(), median(ratios), median(seconds), benchmarks::statusMegabytes("VmHWM"));
    }
}

} // namespace

int main(int count, char** values) {
    initialiseRuntime(0);
    run(Arguments(count, values));
}
