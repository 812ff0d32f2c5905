#pragma once

#include "analysis/campaigns/curves.h"
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

/// Metrics, masks, evaluations, curves and predictions of one model. It can be read and shown without the checkpoint.
struct Session {
    ModelCard model;
    std::vector<MetricResult> results;       ///< in the order in which they were measured
    std::map<std::string, std::string> view; ///< state of the window, by name
    std::string created;                     ///< time in UTC as ISO 8601
    std::vector<SessionMask> masks = {};     ///< in the order in which they were added
    /// In the order in which they were made. An evaluation contains runs under one mask, with one adapter or none, in
    /// one dtype, on one device, with at most one text, and tasks with different names. Reference runs are not stored
    /// in it: compared() finds them among the other evaluations. Only timings keep their reference, because the two
    /// were measured in alternation.
    std::vector<Evaluation> evaluations = {};

    /// Curves of sweeps, one set for each set of conditions. Their masks are in `masks`, by digest.
    std::vector<Curves> curves = {};

    /// Gradients for predicting the loss under masks (prediction.h); null = not measured.
    std::shared_ptr<const PredictionBasis> prediction = {};

    /// Another session to compare with; null = none. It is not saved.
    std::shared_ptr<const Session> reference = {};

    /// The latest result with this id; one on a part of a text only if there is no other. Null if there is none.
    const MetricResult* latest(std::string_view resultId) const;
    /// The latest mask with this digest; null if there is none.
    const SessionMask* mask(std::string_view digest) const;
};

/// Adds a result as the latest. It replaces a result with the same id and the same measurement (except for the time).
/// If it covers less than that result (MetricResult::isLessThan()), the new result is dropped instead.
void add(Session& session, MetricResult result);

/// Adds a mask under its name. If a different mask has this name, a number is appended. An equal mask with the same
/// name is replaced. @returns the name under which the mask was added
std::string add(Session& session, SessionMask mask);

/// Adds an evaluation as the latest. If mask, adapter, dtype and device are the same, it replaces runs of the same text
/// and tasks, times of the same numbers of tokens, and continuations of the same prompts. Of two runs on a text, the
/// run with more windows is kept. If possible, the new runs join an evaluation of the same mask.
void add(Session& session, Evaluation evaluation);

/// The evaluation under a mask that scored the same text as `other` by the same rules; null if there is none.
/// @param adapterDigest of the adapter of that evaluation; empty = without an adapter
const Evaluation* sameText(const Session& session, const Evaluation& other, std::string_view maskDigest,
                           std::string_view adapterDigest = {});

/// The run of the same task by the same rules under a mask; null if there is none. @param other evaluation that
/// contains `task` @param adapterDigest as for sameText()
const TaskEvaluation* sameTask(const Session& session, const Evaluation& other, const TaskEvaluation& task,
                               std::string_view maskDigest, std::string_view adapterDigest = {});

/// The adapter with the name that it has in the session, or else with the first free one of "NAME", "NAME (2)" and so
/// on.
EvaluatedAdapter named(const Session& session, EvaluatedAdapter adapter);

/// Adds references to an evaluation: the session's runs of the same text and tasks under another mask, without an
/// adapter, with the paired differences from them.
Evaluation compared(const Session& session, Evaluation evaluation, std::string_view maskDigest = "dense");

/// Adds the masks, evaluations and curves of another session of the same model.
void joinRuns(Session& session, const Session& other);
/// Adds all data of another session of the same model, except its view. @throws Error naming both models if they differ
void join(Session& session, const Session& other);

// The steps of add() and join(), for writing only those parts of a session file that change.

/// Adds the masks of another session. @returns the evaluations of that session, with the names that their masks have in
/// this one
std::vector<Evaluation> joinMasks(Session& session, const Session& other);

/// Whether an evaluation has no runs, for example after others replaced them.
bool isEmpty(const Evaluation& evaluation);

/// Adds an evaluation to a list as add() does. Evaluations that became empty are not removed, so that indices stay
/// valid.
/// @param isChanged an element for each evaluation; set to true for those that change; grows with the list
void place(std::vector<Evaluation>& evaluations, Evaluation evaluation, std::vector<bool>& isChanged);

} // namespace secateur
