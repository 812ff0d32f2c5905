#include "analysis/evaluation/perplexity.h"

#include "analysis/base/error.h"
#include "analysis/running/for_each_layer.h"
#include "analysis/evaluation/scored_batches.h"
#include "analysis/base/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace secateur {

namespace {

/// Loss of a window or a page, and what it is divided by.
struct LossShare {
    double nats = 0;
    double weight = 0;
    std::size_t index = 0; ///< of the window or page in the text
};

/// In the order of the text.
std::vector<LossShare> sharesOf(const Perplexity& run) {
    std::vector<LossShare> shares;
    if (run.rules.protocol == TextProtocol::tokenPpl) {
        for (const WindowLoss& window : run.windows)
            shares.push_back({window.nats, static_cast<double>(window.tokens), window.index});
        return shares;
    }
    for (const PageSize& page : run.pages)
        shares.push_back({0, static_cast<double>(page.words), page.index});
    for (const WindowLoss& window : run.windows)
        shares[window.page].nats += window.nats;
    return shares;
}

struct MeanWithError {
    double mean = 0;
    double standardError = 0;
};

/// Sum of the losses over sum of the weights, and the standard error of that ratio; with equal weights that of a mean.
MeanWithError ratio(const std::vector<LossShare>& shares) {
    double nats = 0;
    double weight = 0;
    for (const LossShare& share : shares) {
        nats += share.nats;
        weight += share.weight;
    }
    const double mean = nats / weight;
    const auto count = static_cast<double>(shares.size());
    double squares = 0;
    for (const LossShare& share : shares)
        squares += (share.nats - mean * share.weight) * (share.nats - mean * share.weight);
    const double error = shares.size() < 2 ? std::numeric_limits<double>::quiet_NaN()
                                           : std::sqrt(squares * count / (count - 1)) / weight;
    return {mean, error};
}

double totalNats(const Perplexity& run) {
    return std::accumulate(run.windows.begin(), run.windows.end(), 0.0,
                           [](double sum, const WindowLoss& window) { return sum + window.nats; });
}

} // namespace

double Perplexity::perplexity() const {
    return std::exp(lossNats);
}

double Perplexity::tokenLossNats() const {
    return totalNats(*this) / static_cast<double>(tokens);
}

std::int64_t Perplexity::words() const {
    return std::accumulate(pages.begin(), pages.end(), std::int64_t{0},
                           [](std::int64_t sum, const PageSize& page) { return sum + page.words; });
}

std::int64_t Perplexity::bytes() const {
    return std::accumulate(pages.begin(), pages.end(), std::int64_t{0},
                           [](std::int64_t sum, const PageSize& page) { return sum + page.bytes; });
}

double Perplexity::bytePerplexity() const {
    return std::exp(totalNats(*this) / static_cast<double>(bytes()));
}

double Perplexity::bitsPerByte() const {
    return totalNats(*this) / (static_cast<double>(bytes()) * std::log(2.0));
}

double LossDifference::halfWidth95() const {
    return studentQuantile(count - 1) * standardError;
}

Perplexity perplexityOf(const ScoredText& text, const std::vector<WindowLoss>& losses) {
    const auto pageOf = [&](std::size_t window) { return text.windows.sequences[window].document; };
    std::vector<bool> isWhole(text.pages.size(), true);
    Perplexity run{text.rules, {}, {}, 0, 0, 0};
    if (text.rules.protocol == TextProtocol::wordPpl)
        for (std::size_t i = 0; i < losses.size(); ++i)
            isWhole[pageOf(i)] = isWhole[pageOf(i)] && losses[i].tokens > 0;
    std::vector<std::size_t> places(text.pages.size());
    for (std::size_t page = 0; page < text.pages.size(); ++page) {
        places[page] = run.pages.size();
        if (isWhole[page])
            run.pages.push_back(text.pages[page]);
    }
    for (std::size_t i = 0; i < losses.size(); ++i) {
        WindowLoss window = losses[i];
        if (window.tokens == 0 || (!places.empty() && !isWhole[pageOf(i)]))
            continue;
        window.page = places.empty() ? 0 : places[pageOf(i)];
        run.windows.push_back(window);
    }
    return perplexityOf(run.rules, std::move(run.windows), std::move(run.pages));
}

Perplexity perplexityOf(const PerplexityRules& rules, std::vector<WindowLoss> windows, std::vector<PageSize> pages) {
    Perplexity run{rules, std::move(windows), std::move(pages), 0, 0, 0};
    for (const WindowLoss& window : run.windows)
        run.tokens += window.tokens;
    const MeanWithError loss = ratio(sharesOf(run));
    run.lossNats = loss.mean;
    run.standardError = loss.standardError;
    return run;
}

Perplexity perplexity(const Model& model, const Plan& plan, const ScoredText& text, std::int64_t batchTokens,
                      const Progress& progress) {
    if (!model.has(-1, WeightName::lmHead))
        throw Error("has no read-out (lm_head): no text can be scored", model.card().path);
    std::vector<std::size_t> windows(text.windows.sequences.size());
    std::iota(windows.begin(), windows.end(), std::size_t{0});
    ScoredBatches all;
    addBatches(all, text, windows, batchTokens);
    std::vector<WindowLoss> losses(windows.size());
    LayerWalk walk;
    walk.finished = [&](std::size_t batch, const at::Tensor& x) {
        for (const WindowLoss& loss : rowLosses(model, plan, x, all.batches[batch], all.rows[batch], progress))
            losses[loss.index] = loss;
    };
    forEachLayer(model.runner(), plan, all.batches, walk, progress);
    model.checkFiles();
    progress.report(1, "done");
    return perplexityOf(text, losses);
}

LossDifference pairedDifference(const Perplexity& run, const Perplexity& reference) {
    PerplexityRules rules = reference.rules;
    rules.mostTokens = run.rules.mostTokens;
    if (run.rules != rules)
        throw Error(fmt::format("Losses by {} in windows of {} with BOS {} and by {} in windows of {} with BOS {} "
                                "cannot be compared",
                                name(run.rules.protocol), run.rules.window,
                                name(run.rules.bos.value_or(BosMode::tokenizerDefault)), name(reference.rules.protocol),
                                reference.rules.window, name(reference.rules.bos.value_or(BosMode::tokenizerDefault))));
    const std::vector<LossShare> others = sharesOf(reference);
    auto other = others.begin();
    std::vector<LossShare> common;
    for (const LossShare& share : sharesOf(run)) {
        other = std::find_if(other, others.end(), [&](const LossShare& later) { return later.index >= share.index; });
        if (other == others.end() || other->index != share.index)
            continue;
        if (share.weight != other->weight)
            throw Error("Losses of two different texts cannot be compared");
        common.push_back({share.nats - other->nats, share.weight, share.index});
    }
    if (common.empty())
        throw Error("Losses of two different parts of a text cannot be compared");
    const MeanWithError difference = ratio(common);
    return {difference.mean, difference.standardError, common.size()};
}

} // namespace secateur
