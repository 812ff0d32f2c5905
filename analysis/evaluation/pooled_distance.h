#pragma once

#include "analysis/model/model.h"
#include "analysis/running/plan.h"
#include "analysis/base/progress.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <cstdint>

namespace secateur {

/// A mean over sequences.
struct MeanDistance {
    double value = 0;
    double standardError = 0; ///< NaN for a single sequence
};

/// How far a mask moves what an encoder makes of texts: its pooled output p, or without a pooler the final state of the
/// first token.
struct PooledDistance {
    MeanDistance relative; ///< ||p - p_0|| / ||p_0||, Euclidean; p_0 of the run it is compared with
    MeanDistance cosine;   ///< 1 - cos(p, p_0)
    bool hasPooler = false;
    std::size_t sequences = 0;
    std::int64_t tokens = 0;
};

/// Whether a model is an encoder without a head: then lmHead() gives its pooled output.
bool givesPooledOutput(const Model& model);

/// Runs all sequences under both plans; distances are in float64.
/// @param run, reference plans of model.runner() @param batchTokens that run at once, padding included
/// @throws Error for models that give no pooled output, no sequences, and outputs that are zero or not finite;
/// Cancelled
PooledDistance pooledDistance(const Model& model, const Plan& run, const Plan& reference, const SequenceSet& set,
                              std::int64_t batchTokens = 4096, const Progress& progress = {});

} // namespace secateur
