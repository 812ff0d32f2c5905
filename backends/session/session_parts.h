#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model_card.h"
#include "analysis/prediction/prediction.h"
#include "analysis/session/session.h"
#include "backends/session/hdf5_io.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

// The parts of a session file, one after the other; session_hdf5.cpp puts them together.

/// The model card as attributes of a session's /model group: the fields of `inspect`, per-layer ones as arrays.
void writeModelCard(const hdf5::Handle& group, const ModelCard& card);
/// @param version of the session's format. @throws Error when a field is missing or makes no sense
ModelCard readModelCard(const hdf5::Handle& group, std::int64_t version);

/// A result and where it lies: /metrics/<group>/<number>.
struct StoredResult {
    MetricResult result;
    std::string group;
    int number = 0;
    std::int64_t order = 0; ///< counts all results of the session as they were made
};

/// Everything under /metrics in the order it was made. A metric that this version does not know is described by what
/// the file says of it, so that nothing is lost and it can be looked at. @throws Error naming the place
std::vector<StoredResult> readResults(const hdf5::Handle& file, const ModelSpec& spec);

/// Adds a result as the latest of its id, over the same measurement made earlier, unless that saw more. `stored` grows
/// with it.
void writeResult(const hdf5::Handle& metrics, const MetricResult& result, std::vector<StoredResult>& stored);

/// Everything under /masks: the JSON form of each, in which nothing is lost; the arrays beside it are for whoever reads
/// the file without Secateur. @throws Error naming the place
std::vector<SessionMask> readMasks(const hdf5::Handle& file, const ModelSpec& spec);

/// Writes those masks that the file holds otherwise, or not yet. @param held readMasks(), which `masks` begins with
void writeMasks(const hdf5::Handle& file, const std::vector<SessionMask>& masks, const std::vector<SessionMask>& held);

/// Everything under /evaluations. Means and errors are worked out again from the losses and answers that are kept.
/// @throws Error naming the place
std::vector<Evaluation> readEvaluations(const hdf5::Handle& file);

/// Into a file that holds none.
void writeEvaluations(const hdf5::Handle& file, const std::vector<Evaluation>& evaluations);

/// Adds evaluations as a session does; those that do not change are left as they are.
void addEvaluations(const hdf5::Handle& file, std::vector<Evaluation> additions);

/// A run of a task as a group of a session: how it was asked, what came of it, and every answer. Its scores are worked
/// out again from the answers. @throws Error naming the dataset or attribute
TaskEvaluation readTaskRun(const hdf5::Handle& group);
void writeTaskRun(const hdf5::Handle& group, const TaskEvaluation& task);

// How fast a model ran, and what it wrote, in a session. What is read is checked against the file, and medians and
// speed-ups are worked out again from the seconds of every run. All throw Error, its subject the place inside the
// group.

void writeLatency(const hdf5::Handle& group, const Latency& latency);
Latency readLatency(const hdf5::Handle& group);

void writePrefill(const hdf5::Handle& group, const Prefill& prefill);
Prefill readPrefill(const hdf5::Handle& group);

/// What the references of all times of an evaluation ran: attributes of the evaluation itself.
void writeTimedAgainst(const hdf5::Handle& evaluation, const EvaluatedMask& mask);
EvaluatedMask readTimedAgainst(const hdf5::Handle& evaluation);

void writeContinuation(const hdf5::Handle& group, const PromptContinuation& written);
PromptContinuation readContinuation(const hdf5::Handle& group);

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
