#pragma once

#include "analysis/campaigns/curves.h"
#include "analysis/evaluation/evaluation.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model_card.h"
#include "analysis/prediction/prediction.h"
#include "analysis/session/session.h"
#include "backends/session/hdf5_io.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

// Functions that read and write the groups of a session file. session_hdf5.cpp combines them
// (resources/manual/formats.md, Session). Functions that read throw an Error whose subject is the place in the file.

/// Writes the model card as attributes of a session's group /model: the fields of `inspect`, with arrays for fields of
/// layers.
void writeModelCard(const hdf5::Handle& group, const ModelCard& card);
/// @param version version of the session format
ModelCard readModelCard(const hdf5::Handle& group, std::int64_t version);

/// A result and its place in the file: /metrics/<group>/<number>.
struct StoredResult {
    MetricResult result;
    std::string group;
    int number = 0;
    std::int64_t order = 0; ///< position among all results of the session, in the order in which they were made
};

/// All results of /metrics, in the order in which they were made. The title and other facts of a metric that this
/// version does not know are taken from the file, so that it can be shown and stored again.
std::vector<StoredResult> readResults(const hdf5::Handle& file, const ModelSpec& spec);

/// Adds a result as the latest of its result id, like add() for a Session. Updates `stored`.
void writeResult(const hdf5::Handle& metrics, const MetricResult& result, std::vector<StoredResult>& stored);

/// All masks of /masks, read from their JSON text. The arrays next to this text are for other programs.
std::vector<SessionMask> readMasks(const hdf5::Handle& file, const ModelSpec& spec);

/// Writes the masks that are new or changed. @param held masks in the file; `masks` begins with them
void writeMasks(const hdf5::Handle& file, const std::vector<SessionMask>& masks, const std::vector<SessionMask>& held);

/// Digests of the masks in /masks, by the number of their group.
using StoredMasks = std::map<std::int64_t, std::string>;
StoredMasks storedMasks(const hdf5::Handle& file);

/// A set of curves and its number n in /curves/<strategy>/n.
struct StoredCurves {
    int number = 0;
    Curves curves;
};

/// All curves of /curves, in the order of their numbers. The groups of one number are one set; the dense model is the
/// group /curves/dense. @throws Error also if groups of one number have different conditions
std::vector<StoredCurves> readCurves(const hdf5::Handle& file, const StoredMasks& masks);
/// Writes the dense model of a set and the curves of some strategies. Replaces existing groups.
void writeCurves(const hdf5::Handle& file, const Curves& curves, const std::vector<std::string>& strategies, int number,
                 const StoredMasks& masks);
/// Adds curves, like add() for a session's. Writes only the curves that have additions.
void addCurves(const hdf5::Handle& file, const std::vector<Curves>& additions, const StoredMasks& masks);

/// All evaluations of /evaluations. Means and errors are computed again from the stored losses and answers.
std::vector<Evaluation> readEvaluations(const hdf5::Handle& file);

/// Writes the group /evaluations to a file that has none.
void writeEvaluations(const hdf5::Handle& file, const std::vector<Evaluation>& evaluations);

/// Adds evaluations, like add() for a Session. Writes only those that change.
void addEvaluations(const hdf5::Handle& file, std::vector<Evaluation> additions);

/// A run of a task: its rules and every answer. Scores are computed from the answers when a run is read.
TaskEvaluation readTaskRun(const hdf5::Handle& group);
void writeTaskRun(const hdf5::Handle& group, const TaskEvaluation& task);

// Times and continuations. Medians and speed-ups are computed from the seconds of each run when they are read.

void writeLatency(const hdf5::Handle& group, const Latency& latency);
Latency readLatency(const hdf5::Handle& group);

void writePrefill(const hdf5::Handle& group, const Prefill& prefill);
Prefill readPrefill(const hdf5::Handle& group);

/// Writes Evaluation::timedAgainst as attributes of the evaluation's group.
void writeTimedAgainst(const hdf5::Handle& evaluation, const EvaluatedMask& mask);
EvaluatedMask readTimedAgainst(const hdf5::Handle& evaluation);

void writeContinuation(const hdf5::Handle& group, const PromptContinuation& written);
PromptContinuation readContinuation(const hdf5::Handle& group);

/// Replaces the group /prediction if the session has a prediction. It contains `units` ("head 3 4", "bypass 7"),
/// `gradient` [units], `fisher` [samples, units] (F = fisherᵀ fisher), `neuron_gradient` and `neuron_fisher` [layers,
/// neurons], and `slope` [kinds of cuts]. `slope` is for other programs; Secateur fits it again to the evaluations.
void writePrediction(const hdf5::Handle& file, const Session& session);
/// If a file has a prediction, fits its `slope` to all evaluations. @param session the contents of the file
void writeSlope(const hdf5::Handle& file, const Session& session);

/// The prediction in /prediction; null if there is none. @throws Error also if its values do not fit the model
std::shared_ptr<const PredictionBasis> readPrediction(const hdf5::Handle& file, const ModelSpec& spec);

} // namespace secateur
