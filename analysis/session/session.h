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

/// Metrics, masks, evaluations and predictions of one model. Can be read and shown without the checkpoint.
struct Session {
    ModelCard model;
    std::vector<MetricResult> results;       ///< in the order they were measured
    std::map<std::string, std::string> view; ///< window state, by name
    std::string created;                     ///< ISO 8601, UTC
    std::vector<SessionMask> masks = {};     ///< in the order they were added
    /// In the order they were made. An evaluation holds runs under one mask, in one dtype, on one device, with at most
    /// one text, and tasks of different names. Reference runs are not stored in it: compared() finds them among the
    /// other evaluations. Only timings keep their reference, because the two were timed in turns.
    std::vector<Evaluation> evaluations = {};

    /// Gradients for predicting the loss under masks (prediction.h); null = not measured.
    std::shared_ptr<const PredictionBasis> prediction = {};

    /// Another session to compare with; null = none. Not saved.
    std::shared_ptr<const Session> reference = {};

    /// The latest result with this id; null if there is none.
    const MetricResult* latest(std::string_view resultId) const;
    /// The latest mask with this digest; null if there is none.
    const SessionMask* mask(std::string_view digest) const;
};

/// Adds a result as the latest. It replaces a result with the same id and measurement, except for the time. If it
/// covers less than that one (MetricResult::isLessThan()), it is dropped instead.
void add(Session& session, MetricResult result);

/// Adds a mask under its name, with a number appended if a different mask has that name. An equal mask with the same
/// name is replaced. @returns the name under which it was added
std::string add(Session& session, SessionMask mask);

/// Adds an evaluation as the latest. Replaces runs of the same text and tasks, times of the same numbers of tokens, and
/// continuations of the same prompts if mask, dtype and device are the same. Of two runs on a text the one with more
/// windows stays. If possible, the new runs join an evaluation of the same mask.
void add(Session& session, Evaluation evaluation);

/// The evaluation under a mask that scored the same text as `other`, by the same rules; null if there is none.
const Evaluation* sameText(const Session& session, const Evaluation& other, std::string_view maskDigest);

/// The run under a mask of the same task, by the same rules; null if there is none. @param other evaluation of `task`
const TaskEvaluation* sameTask(const Session& session, const Evaluation& other, const TaskEvaluation& task,
                               std::string_view maskDigest);

/// Adds to an evaluation, as references, the session's runs of the same text and tasks under another mask, with the
/// paired differences from them.
Evaluation compared(const Session& session, Evaluation evaluation, std::string_view maskDigest = "dense");

/// Adds the masks and evaluations of another session of the same model.
void joinRuns(Session& session, const Session& other);
/// Adds all data of another session of the same model, except its view. @throws Error naming both models if they differ
void join(Session& session, const Session& other);

// The steps of add() and join(), for writing only the changed parts of a session file.

/// Adds the masks of another session. @returns that session's evaluations, with the names of their masks in this one
std::vector<Evaluation> joinMasks(Session& session, const Session& other);

/// Whether an evaluation has no runs, as after others have replaced them.
bool isEmpty(const Evaluation& evaluation);

/// Adds an evaluation to a list as add() does, but does not remove evaluations that became empty, so that indices stay
/// valid. @param isChanged one for each evaluation of the list: set to true if that one changes; grows with the list
void place(std::vector<Evaluation>& evaluations, Evaluation evaluation, std::vector<bool>& isChanged);

} // namespace secateur
