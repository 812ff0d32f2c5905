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

/// A mask that a person can ask for by its name.
struct SessionMask {
    std::string name;   ///< no other mask's of the session
    std::string digest; ///< of the mask (contract.md, Mask JSON)
    MaskRecord record;
};

/// What a person keeps of their work on one model. Stands without the checkpoint.
struct Session {
    ModelCard model;
    std::vector<MetricResult> results;       ///< in the order they were made; the last of a result id is the latest
    std::map<std::string, std::string> view; ///< window state, by name
    std::string created;                     ///< ISO 8601, UTC
    std::vector<SessionMask> masks = {};     ///< in the order they came
    /// In the order they were made, each with all that was run under one mask, in one type, on one device, as far as it
    /// is of one text and of tasks of different names. Without references: what they would be compared with is another
    /// of them (compared()). But times keep theirs, for it took turns with them.
    std::vector<Evaluation> evaluations = {};

    /// What masks are predicted from (prediction.h); null = nothing yet.
    std::shared_ptr<const PredictionBasis> prediction = {};

    /// What these results are compared with; null = nothing. Not saved.
    std::shared_ptr<const Session> reference = {};

    const MetricResult* latest(std::string_view resultId) const;
    /// The latest of this digest; null when there is none.
    const SessionMask* mask(std::string_view digest) const;
};

/// Adds a result as the latest; one with the same id, measured in the same way at whatever time, is replaced, but not
/// by a run that was stopped earlier.
void add(Session& session, MetricResult result);

/// Adds a mask under its name, or where another mask has that, with a number behind it. The same mask under the same
/// name is replaced. @returns the name that it got
std::string add(Session& session, SessionMask mask);

/// Adds an evaluation as the latest. Runs of the same text and tasks, times of as many tokens and continuations of the
/// same prompt, made in the same way under the same mask, are replaced, but not by a run of fewer windows; what was run
/// of the mask besides, it joins where it can.
void add(Session& session, Evaluation evaluation);

/// The evaluation whose text is another's, scored in the same way under some mask; null when there is none.
const Evaluation* sameText(const Session& session, const Evaluation& other, std::string_view maskDigest);

/// The task that is another's one, asked in the same way under some mask; null when there is none.
const TaskEvaluation* sameTask(const Session& session, const Evaluation& other, const TaskEvaluation& task,
                               std::string_view maskDigest);

/// An evaluation with the differences to the session's runs under some mask, of all that was run under both.
Evaluation compared(const Session& session, Evaluation evaluation, std::string_view maskDigest = "dense");

/// Adds the masks and evaluations of another session of the same model.
void joinRuns(Session& session, const Session& other);
/// Adds all of another session of the same model but its view. @throws Error naming both models when it is another's
void join(Session& session, const Session& other);

// How sessions grow, for what writes only the changes of a file.

/// Adds the masks of another session. @returns its evaluations, by the names that their masks have now
std::vector<Evaluation> joinMasks(Session& session, const Session& other);

/// Whether nothing is left of an evaluation whose runs were all replaced.
bool isEmpty(const Evaluation& evaluation);

/// Adds an evaluation to a list as add() does to a session's, but leaves empty ones in their places.
/// @param isChanged of each evaluation; true for those that changed, and for a new one
void place(std::vector<Evaluation>& evaluations, Evaluation evaluation, std::vector<bool>& isChanged);

} // namespace secateur
