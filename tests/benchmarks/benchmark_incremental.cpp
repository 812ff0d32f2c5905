// Time of an evaluation after an edit in layer l, compared with s(l), the share of a dense evaluation's operations that
// must run again.
//
// benchmark_incremental MODEL TEXT [--type float32|bfloat16] [--tokens 8192] [--window 512] [--budget BYTES]
//                       [--repeat 3] [--masks 0] [--threads 0] [--clock processor] [--step 5] [--csv FILE]
//
// --masks N: first compares the losses of N random edits with those of full runs, on a quarter of the text.
// --step N: times every N-th layer and the last one.
// --csv FILE: writes the table to a file.
// --clock processor: measures CPU time of this process. With --threads 1 it is more precise on a busy machine.

#include "analysis/masks/price.h"
#include "analysis/running/runner.h"
#include "analysis/evaluation/text_evaluator.h"
#include "backends/base/atomic_file.h"
#include "backends/engine/open_model.h"
#include "backends/tokenizers/open_tokenizer.h"
#include "backends/base/runtime.h"
#include "backends/text/text_source.h"
#include "tests/support/drawn_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>
#include <string>
#include <vector>

using namespace secateur;

namespace {

/// The seconds since construction: CPU time if `ofProcessor` is set, otherwise wall time.
class Watch {
public:
    double seconds() const {
        return ofProcessor ? static_cast<double>(std::clock() - m_processor) / CLOCKS_PER_SEC
                           : std::chrono::duration<double>(std::chrono::steady_clock::now() - m_begin).count();
    }
    static inline bool ofProcessor = false;

private:
    std::clock_t m_processor = std::clock();
    std::chrono::steady_clock::time_point m_begin = std::chrono::steady_clock::now();
};

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
    std::int64_t number(const std::string& name, std::int64_t otherwise) const {
        const auto found = named.find(name);
        return found == named.end() ? otherwise : std::stoll(found->second);
    }
};

PruningMask oneHeadLess(const ModelSpec& spec, int layer, std::size_t head) {
    PruningMask mask(spec);
    LayerMask cut = mask.layer(layer);
    cut.heads.at(head % cut.heads.size()) = false;
    mask.setLayer(layer, cut);
    return mask;
}

class Benchmark {
public:
    Benchmark(const Model& model, const Arguments& arguments)
        : m_model(model)
        , m_arguments(arguments)
        , m_type(arguments.named.contains("--type") ? computeTypeOf(arguments.named.at("--type"))
                                                    : ComputeType::float32) {}

    void run() const {
        const std::int64_t tokens = m_arguments.number("--tokens", 8192);
        if (m_arguments.number("--masks", 0) > 0)
            compareRandomMasks(text(std::max<std::int64_t>(tokens / 4, m_arguments.number("--window", 512))));
        timeLayers(text(tokens));
        timeFirstFigure(text(tokens));
    }

private:
    ScoredText text(std::int64_t tokens) const {
        const PerplexityRules rules{
            TextProtocol::tokenPpl, {}, static_cast<int>(m_arguments.number("--window", 512)), tokens};
        return scoredText(readDocuments(m_arguments.paths.at(1), {}, TextSplit::windows),
                          *openTokenizer(m_model.card()), withDefaults(rules, m_model.spec()));
    }

    EvaluatorOptions options(double groupSeconds) const {
        return {m_type, m_arguments.number("--budget", std::int64_t{4} << 30), 4096, groupSeconds};
    }

    double denseSeconds(const ScoredText& text) const {
        const auto plan = m_model.runner().plan(PruningMask(m_model.spec()), m_type);
        const Watch watch;
        perplexity(m_model, *plan, text);
        return watch.seconds();
    }

    void compareRandomMasks(const ScoredText& text) const {
        TextEvaluator evaluator(m_model, text, options(std::numeric_limits<double>::infinity()));
        test::Edits edits(m_model.spec(), 1);
        double worst = 0;
        for (int i = 0; i < m_arguments.number("--masks", 0); ++i) {
            const PruningMask& mask = edits.next();
            const MaskEvaluation found = evaluator.evaluate(mask);
            const Perplexity full = perplexity(m_model, *m_model.runner().plan(mask, m_type), text);
            double error = std::abs(found.run.lossNats - full.lossNats);
            for (std::size_t window = 0; window < full.windows.size(); ++window)
                error = std::max(error, std::abs(found.run.windows[window].nats - full.windows[window].nats) /
                                            static_cast<double>(full.windows[window].tokens));
            worst = std::max(worst, error);
            fmt::print("mask {:2}: from layer {:2}, loss {:.6f}, full {:.6f}, apart {:.1e} nats per token at most\n", i,
                       found.reusedLayers, found.run.lossNats, full.lossNats, error);
        }
        fmt::print("random masks: {:.1e} nats per token apart at most\n", worst);
    }

    void timeLayers(const ScoredText& text) const {
        const ModelSpec& spec = m_model.spec();
        const auto shares = operationShares(spec, PruningMask(spec), text.rules.window);
        TextEvaluator evaluator(m_model, text, options(std::numeric_limits<double>::infinity()));
        evaluator.evaluate(PruningMask(spec));
        fmt::print("{} {}: {} tokens, a stream of every {}. layer kept, {:.0f} MB; one layer {:.1f} MFLOP per token, "
                   "the LM head {:.1f}\n",
                   m_model.card().name, name(evaluator.type()), text.windows.tokens, evaluator.streamInterval(),
                   1e-6 * static_cast<double>(evaluator.streamBytes()),
                   1e-6 * layerOperations(spec, 0, PruningMask(spec).layer(0), text.rules.window),
                   1e-6 * lmHeadOperations(spec));
        fmt::print(" l  expected s  seconds  dense s  share  s(l)   share / s(l)\n");
        std::string csv = "layer,seconds,dense_seconds,share,operations_share\n";
        for (const int layer : timedLayers()) {
            double dense = std::numeric_limits<double>::infinity();
            double best = dense;
            const double expected = evaluator.expectedSeconds(oneHeadLess(spec, layer, 0));
            for (int i = 0; i < m_arguments.number("--repeat", 3); ++i) {
                dense = std::min(dense, denseSeconds(text));
                const Watch watch;
                evaluator.evaluate(oneHeadLess(spec, layer, static_cast<std::size_t>(i)));
                best = std::min(best, watch.seconds());
            }
            const int from = layer / evaluator.streamInterval() * evaluator.streamInterval();
            const double share = shares[static_cast<std::size_t>(from)];
            fmt::print("{:2}  {:10.2f}  {:7.2f}  {:7.2f}  {:.3f}  {:.3f}  {:.2f}\n", layer, expected, best, dense,
                       best / dense, share, best / dense / share);
            csv += fmt::format("{},{:.6f},{:.6f},{:.6f},{:.6f}\n", layer, best, dense, best / dense, share);
        }
        if (const auto file = m_arguments.named.find("--csv"); file != m_arguments.named.end())
            writeWhole(file->second, csv, FileKind::csv);
    }

    std::vector<int> timedLayers() const {
        std::vector<int> layers;
        const int last = m_model.spec().layerCount() - 1;
        for (int layer = 0; layer < last; layer += static_cast<int>(m_arguments.number("--step", 5)))
            layers.push_back(layer);
        layers.push_back(last);
        return layers;
    }

    /// Prints the times that a user waits for: until the evaluation of the dense model, and then until the first and
    /// the final result of an edit.
    void timeFirstFigure(const ScoredText& text) const {
        const Watch making;
        TextEvaluator evaluator(m_model, text, options(EvaluatorOptions().groupSeconds));
        fmt::print("made in {:.2f} s\n", making.seconds());
        for (const int layer : {m_model.spec().layerCount() / 2, 0, m_model.spec().layerCount() - 1}) {
            const PruningMask mask = oneHeadLess(m_model.spec(), layer, 0);
            const double expected = evaluator.expectedSeconds(mask);
            const Watch watch;
            std::string first;
            const MaskEvaluation all = evaluator.evaluate(mask, [&](const MaskEvaluation& part) {
                if (first.empty())
                    first = fmt::format("{:.4f} ± {:.4f} of {} windows after {:.2f} s", part.difference.nats,
                                        part.difference.halfWidth95(), part.difference.count, watch.seconds());
            });
            fmt::print("edit in layer {:2}: {}; {:.4f} ± {:.4f} of {} after {:.2f} s, {:.2f} s expected\n", layer,
                       first, all.difference.nats, all.difference.halfWidth95(), all.difference.count, watch.seconds(),
                       expected);
        }
    }

    const Model& m_model;
    const Arguments& m_arguments;
    ComputeType m_type;
};

} // namespace

int main(int count, char** values) {
    const Arguments arguments(count, values);
    initialiseRuntime(static_cast<int>(arguments.number("--threads", 0)));
    Watch::ofProcessor = arguments.named.contains("--clock");
    const auto model = openModel(arguments.paths.at(0));
    Benchmark(*model, arguments).run();
}
