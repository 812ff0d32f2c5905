#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/masks/mask_record.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model_card.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

struct PredictionBasis;

/// A mask of a session, with its name.
struct SessionMask {
    std::string name;   ///< unique in the session
    std::string digest; ///< maskDigest(), see resources/manual/formats.md
    MaskRecord record;
};

/// Metrics, masks, evaluations and predictions of one model. It is complete without the checkpoint.
struct Session {
    ModelCard model;
    std::vector<MetricResult> results;       ///< in the order they were made; the last of a result id is the latest
    std::map<std::string, std::string> view; ///< window state, by name
    std::string created;                     ///< ISO 8601, UTC
    std::vector<SessionMask> masks = {};     ///< in the order they were added
    /// In the order they were made. One evaluation holds the runs under one mask, in one dtype, on one device, with at
    /// most one text and tasks of different names. References are not stored: compared() finds them among the other
    /// evaluations. Only times keep theirs, which was timed in turns with them.
    std::vector<Evaluation> evaluations = {};

    /// Gradients for predicting the loss under masks (prediction.h); null = none yet.
    std::shared_ptr<const PredictionBasis> prediction = {};

    /// Another session to compare with; null = none. Not saved.
    std::shared_ptr<const Session> reference = {};

    const MetricResult* latest(std::string_view resultId) const;
    /// The latest mask with this digest; null if there is none.
    const SessionMask* mask(std::string_view digest) const;
};

/// Adds a result as the latest. It replaces one with the same id and measurement (but for the time), unless it was
/// stopped earlier than that one.
void add(Session& session, MetricResult result);

/// Adds a mask under its name, with a number appended if another mask has that name. The same mask under the same name
/// is replaced. @returns the name that it got
std::string add(Session& session, SessionMask mask);

/// Adds an evaluation as the latest. Runs of the same text and tasks, times of the same number of tokens and
/// continuations of the same prompt are replaced if mask, dtype and device are the same, but not by a run of fewer
/// windows. Where possible it joins an evaluation of the same mask.
void add(Session& session, Evaluation evaluation);

/// The evaluation that scored the text of `other` in the same way under a mask; null if there is none.
const Evaluation* sameText(const Session& session, const Evaluation& other, std::string_view maskDigest);

/// The run of a task of `other`, asked in the same way under a mask; null if there is none.
const TaskEvaluation* sameTask(const Session& session, const Evaluation& other, const TaskEvaluation& task,
                               std::string_view maskDigest);

/// An evaluation with the paired differences to the session's runs of the same texts and tasks under another mask.
Evaluation compared(const Session& session, Evaluation evaluation, std::string_view maskDigest = "dense");

/// Adds the masks and evaluations of another session of the same model.
void joinRuns(Session& session, const Session& other);
/// Adds all of another session of the same model, except its view. @throws Error naming both models if they differ
void join(Session& session, const Session& other);

// The steps of add() and join(), for a writer that changes only a part of a file.

/// Adds the masks of another session. @returns its evaluations, with the names that their masks have here
std::vector<Evaluation> joinMasks(Session& session, const Session& other);

/// Whether an evaluation has no runs (left).
bool isEmpty(const Evaluation& evaluation);

/// Adds an evaluation to a list as add() does, but leaves empty evaluations in their places.
/// @param isChanged one for each evaluation: set to true for those that change, and appended for a new one
void place(std::vector<Evaluation>& evaluations, Evaluation evaluation, std::vector<bool>& isChanged);

} // namespace secateur
