#pragma once

#include "analysis/evaluation/perplexity.h"
#include "analysis/base/progress.h"
#include "analysis/masks/pruning_mask.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

namespace secateur::test {

/// Compares the total loss and the loss of each window of two runs. Returns the largest relative difference; infinite
/// if the runs have different windows or numbers of tokens.
inline double apart(const Perplexity& found, const Perplexity& expected) {
    if (found.windows.size() != expected.windows.size() || found.tokens != expected.tokens)
        return std::numeric_limits<double>::infinity();
    double worst = std::abs(found.lossNats - expected.lossNats) / std::abs(expected.lossNats);
    for (std::size_t i = 0; i < found.windows.size(); ++i) {
        const WindowLoss& one = found.windows[i];
        const WindowLoss& other = expected.windows[i];
        if (one.index != other.index || one.tokens != other.tokens || one.page != other.page)
            return std::numeric_limits<double>::infinity();
        worst = std::max(worst, std::abs(one.nats - other.nats) / std::abs(other.nats));
    }
    return worst;
}

/// `mask` with head `head` of layer `index` cut as well.
inline PruningMask cut(PruningMask mask, int index, std::size_t head) {
    LayerMask layer = mask.layer(index);
    layer.heads.at(head) = false;
    mask.setLayer(index, layer);
    return mask;
}

/// The part of the run `later` on the windows that the run `earlier` does not have.
inline Perplexity without(const ScoredText& text, const Perplexity& later, const Perplexity& earlier) {
    std::vector<WindowLoss> losses(text.windows.sequences.size());
    for (const WindowLoss& loss : later.windows)
        losses[loss.index] = loss;
    for (const WindowLoss& loss : earlier.windows)
        losses[loss.index].tokens = 0;
    return perplexityOf(text, losses);
}

/// A Progress that requests a stop at report number `report`, counted from 1.
inline Progress stoppedAt(int report, std::stop_source& stop) {
    return Progress(
        [left = std::make_shared<int>(report), &stop](double, std::string_view) {
            if (--*left <= 0)
                stop.request_stop();
        },
        stop.get_token());
}

} // namespace secateur::test
