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

// The groups of a session file, which session_hdf5.cpp puts together. Everything that reads throws Error, its subject
// the place in the file (resources/manual/formats.md, Session).

/// The model card as attributes of a session's /model group: the fields of `inspect`, per-layer ones as arrays.
void writeModelCard(const hdf5::Handle& group, const ModelCard& card);
/// @param version of the session's format
ModelCard readModelCard(const hdf5::Handle& group, std::int64_t version);

/// A result and its group: /metrics/<group>/<number>.
struct StoredResult {
    MetricResult result;
    std::string group;
    int number = 0;
    std::int64_t order = 0; ///< position among all results of the session, in the order they were made
};

/// All of /metrics in the order it was made. A metric unknown to this version is described by what the file says of it,
/// so that it can be shown and is not lost.
std::vector<StoredResult> readResults(const hdf5::Handle& file, const ModelSpec& spec);

/// Adds a result as the latest of its id. It replaces an earlier one of the same measurement, unless that ran on more
/// tokens. `stored` is updated.
void writeResult(const hdf5::Handle& metrics, const MetricResult& result, std::vector<StoredResult>& stored);

/// All of /masks, from the JSON form of each. The arrays beside it are for other readers of the file.
std::vector<SessionMask> readMasks(const hdf5::Handle& file, const ModelSpec& spec);

/// Writes the masks that are new or changed. @param held readMasks(), the beginning of `masks`
void writeMasks(const hdf5::Handle& file, const std::vector<SessionMask>& masks, const std::vector<SessionMask>& held);

/// All of /evaluations. Means and errors are computed again from the stored losses and answers.
std::vector<Evaluation> readEvaluations(const hdf5::Handle& file);

/// Writes /evaluations to a file that has none.
void writeEvaluations(const hdf5::Handle& file, const std::vector<Evaluation>& evaluations);

/// Adds evaluations as add() does to a session. Only those that change are written.
void addEvaluations(const hdf5::Handle& file, std::vector<Evaluation> additions);

/// A run of a task: its rules and every answer. Scores are computed again from the answers.
TaskEvaluation readTaskRun(const hdf5::Handle& group);
void writeTaskRun(const hdf5::Handle& group, const TaskEvaluation& task);

// Times and continuations. Medians and speed-ups are computed again from the seconds of each run.

void writeLatency(const hdf5::Handle& group, const Latency& latency);
Latency readLatency(const hdf5::Handle& group);

void writePrefill(const hdf5::Handle& group, const Prefill& prefill);
Prefill readPrefill(const hdf5::Handle& group);

/// The mask of the references of all times of an evaluation: attributes of the evaluation itself.
void writeTimedAgainst(const hdf5::Handle& evaluation, const EvaluatedMask& mask);
EvaluatedMask readTimedAgainst(const hdf5::Handle& evaluation);

void writeContinuation(const hdf5::Handle& group, const PromptContinuation& written);
PromptContinuation readContinuation(const hdf5::Handle& group);

/// Replaces /prediction if the session has a prediction: `units` ("head 3 4", "bypass 7"), `gradient` [units],
/// `fisher` [samples, units] (F = fisherᵀ fisher), `neuron_gradient` and `neuron_fisher` [layers, neurons], `slope`
/// [kinds of cuts]. The slope is for other readers of the file: it is fitted again to the evaluations.
void writePrediction(const hdf5::Handle& file, const Session& session);
/// Fits the slope to all evaluations of a file with a prediction. @param session the contents of the file
void writeSlope(const hdf5::Handle& file, const Session& session);

/// Null if there is none. @throws Error also for values that do not fit the model
std::shared_ptr<const PredictionBasis> readPrediction(const hdf5::Handle& file, const ModelSpec& spec);

} // namespace secateur
