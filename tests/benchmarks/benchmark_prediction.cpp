// Predicted losses of random masks, compared with their measured losses.
//
// benchmark_prediction MODEL TEXT --out FILE [--masks 300] [--seed 1] [--tokens 2048] [--window 512] [--skip 0]
//                      [--length 128] [--passes 4] [--type float32|bfloat16]
//
// FILE has one row for each mask. A mask whose loss is already in the file is not measured again.
// --skip N: leaves out the first N tokens of the text.
// --length N: number of tokens in the sequences on which gradients are computed.

#include "analysis/base/statistics.h"
#include "analysis/evaluation/text_evaluator.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/prediction/prediction.h"
#include "analysis/running/runner.h"
#include "backends/base/atomic_file.h"
#include "backends/base/runtime.h"
#include "backends/engine/open_model.h"
#include "backends/text/text_source.h"
#include "backends/tokenizers/open_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

using namespace secateur;

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
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
    std::int64_t number(const std::string& name, std::int64_t otherwise) const {
        const auto found = named.find(name);
        return found == named.end() ? otherwise : std::stoll(found->second);
    }
};

/// A mask with its description, its measured loss and its predictions.
struct DrawnMask {
    PruningMask mask;
    std::string kind;
    std::string cuts;
    double measured = std::numeric_limits<double>::quiet_NaN();
    double first = 0;
    double second = 0;
    Prediction predicted = {};
};

/// Draws random masks of five kinds in turn: heads (up to 30 % of them), sublayers, blocks, bypasses, and a mixture of
/// these.
class Drawing {
public:
    Drawing(const ModelSpec& spec, std::uint64_t seed)
        : m_spec(spec)
        , m_random(seed) {}

    DrawnMask next() {
        m_drawn = DrawnMask{PruningMask(m_spec), "", ""};
        switch (m_count++ % 5) {
        case 0:
            m_drawn.kind = "heads";
            heads(spread(0.3 * allHeads()));
            break;
        case 1:
            m_drawn.kind = "sublayers";
            sublayers(spread(0.2 * m_spec.layerCount()));
            break;
        case 2:
            m_drawn.kind = "blocks";
            blocks(spread(0.1 * m_spec.layerCount()));
            break;
        case 3:
            m_drawn.kind = "bypasses";
            bypasses(spread(0.3 * m_spec.layerCount()));
            break;
        default:
            m_drawn.kind = "mixed";
            blocks(below(2));
            bypasses(below(3));
            sublayers(below(3));
            heads(spread(0.1 * allHeads()));
        }
        return m_drawn;
    }

private:
    int below(int end) { return static_cast<int>(m_random() % static_cast<unsigned>(end)); }
    double share() { return static_cast<double>(m_random() >> 11) * 0x1p-53; }
    /// A random integer from 1 to `most`, uniform on a logarithmic scale.
    int spread(double most) { return std::max(1, static_cast<int>(std::exp(share() * std::log(most)) + 0.5)); }
    int allHeads() const {
        int count = 0;
        for (const LayerSpec& layer : m_spec.layers)
            count += layer.heads;
        return count;
    }
    bool isUntouched(int layer) const { return m_drawn.mask.layer(layer).keepsAll(); }

    void heads(int count) {
        for (int tries = 0; count > 0 && tries < 10000; ++tries) {
            const int layer = below(m_spec.layerCount());
            const int head = below(m_spec.layers[static_cast<std::size_t>(layer)].heads);
            const LayerMask& own = m_drawn.mask.layer(layer);
            if (own.attention != AttentionCut::keep || !own.block || !own.heads[static_cast<std::size_t>(head)])
                continue;
            const HeadId id{layer, head};
            setHeads(m_drawn.mask, std::span(&id, 1), false);
            m_drawn.cuts += fmt::format("H{}.{} ", layer, head);
            --count;
        }
    }
    void sublayers(int count) {
        for (int tries = 0; count > 0 && tries < 10000; ++tries) {
            const int layer = below(m_spec.layerCount());
            const bool isMlp = below(2) == 1;
            const LayerMask& own = m_drawn.mask.layer(layer);
            if (!own.block || !own.mlp || own.attention != AttentionCut::keep)
                continue;
            isMlp ? setMlp(m_drawn.mask, layer, false) : setAttention(m_drawn.mask, layer, false);
            m_drawn.cuts += fmt::format("{}{} ", isMlp ? 'M' : 'A', layer);
            --count;
        }
    }
    void blocks(int count) {
        for (int tries = 0; count > 0 && tries < 10000; ++tries) {
            const int layer = below(m_spec.layerCount());
            if (!isUntouched(layer))
                continue;
            setBlock(m_drawn.mask, layer, false);
            m_drawn.cuts += fmt::format("B{} ", layer);
            --count;
        }
    }
    void bypasses(int count) {
        for (int tries = 0; count > 0 && tries < 10000; ++tries) {
            const int layer = below(m_spec.layerCount());
            if (!isUntouched(layer))
                continue;
            const double alpha = std::round(share() * 10) / 10;
            LayerMask own = m_drawn.mask.layer(layer);
            own.attention = AttentionCut::bypassQk;
            own.alpha = alpha;
            m_drawn.mask.setLayer(layer, own);
            m_drawn.cuts += fmt::format("Q{}:{} ", layer, alpha);
            --count;
        }
    }

    const ModelSpec& m_spec;
    std::mt19937_64 m_random;
    DrawnMask m_drawn;
    int m_count = 0;
};

class Benchmark {
public:
    Benchmark(const Model& model, const Arguments& arguments)
        : m_model(model)
        , m_arguments(arguments)
        , m_type(computeTypeOf(arguments.named.contains("--type") ? arguments.named.at("--type") : "auto"))
        , m_text(text()) {}

    void run() {
        draw();
        const auto found = basis();
        measure();
        predict(found);
        report();
        save();
    }

private:
    ScoredText text() const {
        const auto skip = m_arguments.number("--skip", 0);
        const PerplexityRules rules{TextProtocol::tokenPpl,
                                    {},
                                    static_cast<int>(m_arguments.number("--window", 512)),
                                    skip + m_arguments.number("--tokens", 2048)};
        ScoredText text = scoredText(readDocuments(m_arguments.paths.at(1), {}, TextSplit::windows),
                                     *openTokenizer(m_model.card()), withDefaults(rules, m_model.spec()));
        const auto windows = static_cast<std::ptrdiff_t>(skip / text.rules.window);
        text.windows.sequences.erase(text.windows.sequences.begin(), text.windows.sequences.begin() + windows);
        text.firstScored.erase(text.firstScored.begin(), text.firstScored.begin() + windows);
        return text;
    }

    void draw() {
        Drawing drawing(m_model.spec(), static_cast<std::uint64_t>(m_arguments.number("--seed", 1)));
        for (std::int64_t i = 0; i < m_arguments.number("--masks", 300); ++i)
            m_masks.push_back(drawing.next());
    }

    std::shared_ptr<const PredictionBasis> basis() const {
        const PredictionRules rules{m_arguments.number("--tokens", 2048), m_arguments.number("--length", 128),
                                    static_cast<int>(m_arguments.number("--passes", fewestSignPasses))};
        const auto begin = Clock::now();
        auto found = predictionBasis(m_model, {"", "", m_text, {}}, rules, {});
        fmt::print("{} gates, {} targets, {} samples: {:.1f} s\n", found->effects.gates.size(), found->effects.targets,
                   found->effects.factors.rows(), since(begin));
        std::fflush(stdout);
        return found;
    }

    /// The measured losses in FILE, by kind and cuts of the mask.
    std::map<std::string, double> measuredBefore() const {
        std::map<std::string, double> known;
        std::ifstream in(m_arguments.named.at("--out"));
        for (std::string line; std::getline(in, line);)
            if (const auto last = line.rfind(','); last != std::string::npos && !line.starts_with("kind,"))
                known[line.substr(0, line.find(',', line.find(',') + 1))] = std::stod(line.substr(last + 1));
        return known;
    }

    void measure() {
        std::map<std::string, double> known = measuredBefore();
        TextEvaluator evaluator(m_model, m_text,
                                {m_type, std::int64_t{2} << 30, 4096, std::numeric_limits<double>::infinity()});
        const auto begin = Clock::now();
        for (DrawnMask& drawn : m_masks) {
            const std::string row = drawn.kind + "," + drawn.cuts;
            const bool isNew = !known.contains(row);
            if (isNew)
                known[row] = evaluator.evaluate(drawn.mask).difference.nats;
            drawn.measured = known[row];
            if (isNew && (&drawn - m_masks.data()) % 20 == 19) {
                fmt::print("{} masks, {:.0f} s\n", &drawn - m_masks.data() + 1, since(begin));
                std::fflush(stdout);
                save();
            }
        }
    }

    /// Predicts the masks in random order. Each prediction may use the measured losses of the masks that come before
    /// it.
    void predict(std::shared_ptr<const PredictionBasis> basis) {
        Predictor predictor(m_model.spec(), std::move(basis));
        std::vector<std::size_t> order(m_masks.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::mt19937_64 random(static_cast<std::uint64_t>(m_arguments.number("--seed", 1)));
        for (std::size_t left = order.size(); left > 1; --left)
            std::swap(order[left - 1], order[random() % left]);
        double slowest = 0;
        for (const std::size_t index : order) {
            DrawnMask& drawn = m_masks[index];
            const auto begin = Clock::now();
            drawn.predicted = predictor.predict(drawn.mask).value();
            slowest = std::max(slowest, since(begin));
            drawn.first = predictor.firstOrder(drawn.mask);
            drawn.second = predictor.raw(drawn.mask).nats;
            predictor.learn(drawn.mask, drawn.measured);
        }
        fmt::print("slowest prediction {:.2f} ms; factors of heads, attention, MLPs, blocks, bypasses:", slowest * 1e3);
        for (const double factor : predictor.scale().factors())
            fmt::print(" {:.2f}", factor);
        fmt::print("\n");
    }

    void report() const {
        fmt::print("{:10} {:>5} {:>22} {:>8} {:>6}  {}\n", "", "masks", "Spearman: first order", "second", "shown",
                   "measured inside the interval");
        std::vector<std::string> kinds{""};
        for (const DrawnMask& drawn : m_masks)
            if (std::ranges::find(kinds, drawn.kind) == kinds.end())
                kinds.push_back(drawn.kind);
        for (const std::string& kind : kinds)
            reportKind(kind);
    }

    void reportKind(const std::string& kind) const {
        std::vector<double> first;
        std::vector<double> second;
        std::vector<double> shown;
        std::vector<double> measured;
        int inside = 0;
        for (const DrawnMask& drawn : m_masks) {
            if (!kind.empty() && drawn.kind != kind)
                continue;
            first.push_back(drawn.first);
            second.push_back(drawn.second);
            shown.push_back(drawn.predicted.nats);
            measured.push_back(drawn.measured);
            inside += drawn.predicted.low <= drawn.measured && drawn.measured <= drawn.predicted.high ? 1 : 0;
        }
        const auto spearman = [&](const std::vector<double>& x) { return rankCorrelation(x, measured).spearman; };
        fmt::print("{:10} {:5} {:22.3f} {:8.3f} {:6.3f}  {:.1f} %\n", kind.empty() ? "all" : kind, measured.size(),
                   spearman(first), spearman(second), spearman(shown),
                   100.0 * inside / static_cast<double>(measured.size()));
    }

    void save() const {
        std::string csv = "kind,cuts,first_order,second_order,predicted,low,high,delta_nats\n";
        for (const DrawnMask& drawn : m_masks)
            if (std::isfinite(drawn.measured))
                csv += fmt::format("{},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.9g}\n", drawn.kind, drawn.cuts,
                                   drawn.first, drawn.second, drawn.predicted.nats, drawn.predicted.low,
                                   drawn.predicted.high, drawn.measured);
        writeWhole(m_arguments.named.at("--out"), csv, FileKind::csv);
    }

    const Model& m_model;
    const Arguments& m_arguments;
    ComputeType m_type;
    ScoredText m_text;
    std::vector<DrawnMask> m_masks;
};

} // namespace

int main(int count, char** values) {
    const Arguments arguments(count, values);
    initialiseRuntime(static_cast<int>(arguments.number("--threads", 0)));
    const auto model = openModel(arguments.paths.at(0));
    Benchmark(*model, arguments).run();
}
