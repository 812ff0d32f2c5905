#pragma once

#include "analysis/prediction/prediction.h"
#include "analysis/session/session.h"
#include "backends/session/hdf5_io.h"

#include <memory>

namespace secateur {

/// Replaces what masks are predicted from, where the session has that: /prediction with `units` ("head 3 4",
/// "bypass 7"), `gradient` [units], `fisher` [samples, units] (F = fisherᵀ fisher), `neuron_gradient` and
/// `neuron_fisher` [layers, neurons], `slope` [kinds of cuts]. The slope is for readers: it is learnt again from the
/// evaluations of the session.
void writePrediction(const hdf5::Handle& file, const Session& session);
/// Where a file holds one, what all its evaluations teach. @param session all that it holds
void writeSlope(const hdf5::Handle& file, const Session& session);

/// Null where there is none. @throws Error, its subject the place in the file, for what cannot be of this model
std::shared_ptr<const PredictionBasis> readPrediction(const hdf5::Handle& file, const ModelSpec& spec);

} // namespace secateur
