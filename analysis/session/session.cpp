#include "analysis/session/session.h"

#include "analysis/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

namespace secateur {

namespace {

bool isSameWay(const Evaluation& a, const Evaluation& b) {
    return a.dtype == b.dtype && a.device == b.device;
}

bool isOfSame(const Evaluation& a, const Evaluation& b) {
    return a.mask.digest == b.mask.digest && a.adapter.digest == b.adapter.digest;
}

bool isOf(const Evaluation& evaluation, std::string_view maskDigest, std::string_view adapterDigest) {
    return evaluation.mask.digest == maskDigest && evaluation.adapter.digest == adapterDigest;
}

bool isSame(const TextEvaluation& a, const TextEvaluation& b) {
    return a.digest == b.digest && a.perplexity.rules == b.perplexity.rules;
}

bool isSame(const TaskEvaluation& a, const TaskEvaluation& b) {
    return a.formatId == b.formatId && a.digest == b.digest && isSameChoice(a.rules, b.rules);
}

bool isSame(const Latency& a, const Latency& b) {
    return a.rules.promptTokens == b.rules.promptTokens && a.rules.newTokens == b.rules.newTokens;
}

bool isSame(const Prefill& a, const Prefill& b) {
    return a.tokens == b.tokens;
}

bool isSame(const PromptContinuation& a, const PromptContinuation& b) {
    return a.prompt == b.prompt;
}

bool isSame(const PooledEvaluation& a, const PooledEvaluation& b) {
    return a.digest == b.digest && a.sequenceLength == b.sequenceLength && a.reference.digest == b.reference.digest;
}

bool isTimed(const Evaluation& evaluation) {
    return evaluation.latency || !evaluation.prefills.empty();
}

/// Removes earlier runs that later ones repeat. @returns the number of removed runs
template <typename Run>
std::size_t eraseRepeated(std::vector<Run>& earlier, const std::vector<Run>& later) {
    return std::erase_if(earlier, [&](const Run& run) {
        return std::ranges::any_of(later, [&](const Run& other) { return isSame(run, other); });
    });
}

template <typename Run>
bool shareAny(const std::vector<Run>& some, const std::vector<Run>& others) {
    return std::ranges::any_of(some, [&](const Run& run) {
        return std::ranges::any_of(others, [&](const Run& other) { return isSame(run, other); });
    });
}

template <typename Run>
void append(std::vector<Run>& runs, std::vector<Run> more) {
    std::ranges::move(more, std::back_inserter(runs));
}

/// Removes the runs of an earlier evaluation that a later one repeats. Of two runs on a text, removes the run with
/// fewer windows.
/// @returns whether the earlier evaluation changed
bool settle(Evaluation& earlier, Evaluation& later) {
    if (!isOfSame(earlier, later) || !isSameWay(earlier, later))
        return false;
    const bool hadText = earlier.text.has_value();
    bool goesOn = false;
    if (earlier.text && later.text && isSame(*earlier.text, *later.text)) {
        const std::size_t before = earlier.text->perplexity.windows.size();
        const std::size_t now = later.text->perplexity.windows.size();
        goesOn = now > before;
        (now < before ? later : earlier).text.reset();
    }
    std::size_t erased = eraseRepeated(earlier.tasks, later.tasks) + eraseRepeated(earlier.prefills, later.prefills) +
                         eraseRepeated(earlier.continuations, later.continuations);
    if (earlier.latency && later.latency && isSame(*earlier.latency, *later.latency)) {
        earlier.latency.reset();
        ++erased;
    }
    if (earlier.pooled && later.pooled && isSame(*earlier.pooled, *later.pooled)) {
        earlier.pooled.reset();
        ++erased;
    }
    if (isEmpty(earlier) && !goesOn)
        earlier.seconds = 0; // all runs of the earlier evaluation were replaced
    return erased > 0 || hadText != earlier.text.has_value();
}

bool canJoin(const Evaluation& row, const Evaluation& more) {
    const auto hasName = [&](const TaskEvaluation& task) {
        return std::ranges::find(row.tasks, task.name, &TaskEvaluation::name) != row.tasks.end();
    };
    const bool timesAgree = !isTimed(row) || !isTimed(more) ||
                            (row.timedAgainst.digest == more.timedAgainst.digest && !(row.latency && more.latency));
    return isOfSame(row, more) && isSameWay(row, more) && !(row.text && more.text) && !(row.pooled && more.pooled) &&
           std::ranges::none_of(more.tasks, hasName) && timesAgree && !shareAny(row.prefills, more.prefills) &&
           !shareAny(row.continuations, more.continuations);
}

void joinRow(Evaluation& row, Evaluation more) {
    row.mask = std::move(more.mask);
    row.adapter = std::move(more.adapter);
    if (more.text) {
        row.text = std::move(more.text);
        row.reusedLayers = more.reusedLayers;
    }
    if (more.pooled)
        row.pooled = std::move(more.pooled);
    if (isTimed(more))
        row.timedAgainst = std::move(more.timedAgainst);
    if (more.latency)
        row.latency = std::move(more.latency);
    append(row.tasks, std::move(more.tasks));
    append(row.prefills, std::move(more.prefills));
    append(row.continuations, std::move(more.continuations));
    row.seconds += more.seconds;
    row.created = std::max(row.created, more.created);
    for (std::string& warning : more.warnings)
        if (std::ranges::find(row.warnings, warning) == row.warnings.end())
            row.warnings.push_back(std::move(warning));
}

/// Whether there is a window (wordPpl: a page) that both runs scored.
bool overlap(const Perplexity& a, const Perplexity& b) {
    const auto shares = [](const auto& ours, const auto& theirs, auto index) {
        return std::ranges::any_of(ours, [&](const auto& own) {
            return std::ranges::find(theirs, std::invoke(index, own), index) != theirs.end();
        });
    };
    return a.rules.protocol == TextProtocol::wordPpl ? shares(a.pages, b.pages, &PageSize::index)
                                                     : shares(a.windows, b.windows, &WindowLoss::index);
}

/// The first of the names "M.json", "M.json (2)" and so on that no other mask has.
std::string freeName(const std::vector<SessionMask>& masks, const SessionMask& wanted) {
    std::string name = wanted.name;
    for (int number = 2;; ++number) {
        const auto other = std::ranges::find(masks, name, &SessionMask::name);
        if (other == masks.end() || other->digest == wanted.digest)
            return name;
        name = fmt::format("{} ({})", wanted.name, number);
    }
}

} // namespace

const MetricResult* Session::latest(std::string_view resultId) const {
    const auto find = [&](bool alsoParts) -> const MetricResult* {
        const auto found = std::find_if(results.rbegin(), results.rend(), [&](const MetricResult& result) {
            return result.request.resultId() == resultId && (alsoParts || !result.data || !result.data->isPart());
        });
        return found == results.rend() ? nullptr : &*found;
    };
    const MetricResult* whole = find(false);
    return whole ? whole : find(true);
}

const SessionMask* Session::mask(std::string_view digest) const {
    const auto found =
        std::find_if(masks.rbegin(), masks.rend(), [&](const SessionMask& mask) { return mask.digest == digest; });
    return found == masks.rend() ? nullptr : &*found;
}

void add(Session& session, MetricResult result) {
    // The time of a measurement is ignored in the comparison.
    const auto isSame = [&](const MetricResult& other) {
        Measurement now = result.measurement;
        now.created = other.measurement.created;
        return other.request.resultId() == result.request.resultId() && other.measurement == now;
    };
    const auto same = std::ranges::find_if(session.results, isSame);
    if (same != session.results.end() && result.isLessThan(*same))
        return;
    std::erase_if(session.results, isSame);
    session.results.push_back(std::move(result));
}

std::string add(Session& session, SessionMask mask) {
    mask.name = freeName(session.masks, mask);
    const auto same = std::ranges::find(session.masks, mask.name, &SessionMask::name);
    std::string name = mask.name;
    if (same != session.masks.end())
        *same = std::move(mask);
    else
        session.masks.push_back(std::move(mask));
    return name;
}

bool isEmpty(const Evaluation& evaluation) {
    return !evaluation.text && !evaluation.pooled && evaluation.tasks.empty() && !isTimed(evaluation) &&
           evaluation.continuations.empty();
}

void place(std::vector<Evaluation>& evaluations, Evaluation evaluation, std::vector<bool>& isChanged) {
    if (evaluation.mask.digest == "dense")
        evaluation.mask.name.clear(); // a mask that cuts nothing stands for the dense model, which has no name
    if (evaluation.text)
        evaluation.text->reference.reset();
    for (TaskEvaluation& task : evaluation.tasks)
        task.reference.reset();
    for (std::size_t i = 0; i < evaluations.size(); ++i)
        isChanged[i] = settle(evaluations[i], evaluation) || isChanged[i];
    if (isEmpty(evaluation))
        return;
    const auto row = std::find_if(evaluations.rbegin(), evaluations.rend(),
                                  [&](const Evaluation& other) { return canJoin(other, evaluation); });
    if (row != evaluations.rend()) {
        joinRow(*row, std::move(evaluation));
        isChanged[static_cast<std::size_t>(evaluations.rend() - row) - 1] = true;
    } else {
        evaluations.push_back(std::move(evaluation));
        isChanged.push_back(true);
    }
}

void add(Session& session, Evaluation evaluation) {
    std::vector<bool> isChanged(session.evaluations.size());
    place(session.evaluations, std::move(evaluation), isChanged);
    std::erase_if(session.evaluations, isEmpty);
}

const Evaluation* sameText(const Session& session, const Evaluation& other, std::string_view maskDigest,
                           std::string_view adapterDigest) {
    const auto found = std::ranges::find_if(session.evaluations, [&](const Evaluation& one) {
        return isOf(one, maskDigest, adapterDigest) && isSameWay(one, other) && one.text && other.text &&
               isSame(*one.text, *other.text);
    });
    return found == session.evaluations.end() ? nullptr : &*found;
}

const TaskEvaluation* sameTask(const Session& session, const Evaluation& other, const TaskEvaluation& task,
                               std::string_view maskDigest, std::string_view adapterDigest) {
    for (const Evaluation& one : session.evaluations) {
        if (!isOf(one, maskDigest, adapterDigest) || !isSameWay(one, other))
            continue;
        const auto found = std::ranges::find_if(one.tasks, [&](const TaskEvaluation& t) { return isSame(t, task); });
        if (found != one.tasks.end())
            return &*found;
    }
    return nullptr;
}

EvaluatedAdapter named(const Session& session, EvaluatedAdapter adapter) {
    if (!adapter.isPresent())
        return adapter;
    const auto sameDigest = std::ranges::find(session.evaluations, adapter.digest,
                                              [](const Evaluation& one) { return one.adapter.digest; });
    if (sameDigest != session.evaluations.end())
        return sameDigest->adapter;
    const std::string wanted = adapter.name.empty() ? "adapter" : adapter.name;
    adapter.name = wanted;
    const auto isTaken = [&](const Evaluation& one) {
        return one.adapter.isPresent() && one.adapter.name == adapter.name;
    };
    for (int number = 2; std::ranges::any_of(session.evaluations, isTaken); ++number)
        adapter.name = fmt::format("{} ({})", wanted, number);
    return adapter;
}

Evaluation compared(const Session& session, Evaluation evaluation, std::string_view maskDigest) {
    if (isOf(evaluation, maskDigest, {}))
        return evaluation;
    const Evaluation* reference = sameText(session, evaluation, maskDigest);
    if (reference && overlap(evaluation.text->perplexity, reference->text->perplexity))
        evaluation.text->reference =
            ReferenceText{reference->mask, reference->text->perplexity,
                          pairedDifference(evaluation.text->perplexity, reference->text->perplexity)};
    for (TaskEvaluation& task : evaluation.tasks) {
        if (const TaskEvaluation* other = sameTask(session, evaluation, task, maskDigest)) {
            const SessionMask* mask = maskDigest == "dense" ? nullptr : session.mask(maskDigest);
            task.reference = ReferenceTask{
                {mask ? mask->name : "", std::string(maskDigest)}, other->run, taskDifferences(other->run, task.run)};
        }
    }
    return evaluation;
}

std::vector<Evaluation> joinMasks(Session& session, const Session& other) {
    std::map<std::string, std::string> renamed; // new names, by digest and old name
    for (const SessionMask& mask : other.masks)
        renamed[mask.digest + ' ' + mask.name] = add(session, mask);
    std::vector<Evaluation> evaluations = other.evaluations;
    for (Evaluation& evaluation : evaluations) {
        const auto name = renamed.find(evaluation.mask.digest + ' ' + evaluation.mask.name);
        if (name != renamed.end())
            evaluation.mask.name = name->second;
    }
    return evaluations;
}

void joinRuns(Session& session, const Session& other) {
    for (Evaluation& evaluation : joinMasks(session, other))
        add(session, std::move(evaluation));
    for (const Curves& curves : other.curves)
        add(session.curves, curves);
}

void join(Session& session, const Session& other) {
    if (other.model.fingerprint != session.model.fingerprint)
        throw Error(fmt::format("is a session of {} ({}), not of {} ({})", other.model.name, other.model.fingerprint,
                                session.model.name, session.model.fingerprint));
    for (const MetricResult& result : other.results)
        add(session, result);
    if (other.prediction)
        session.prediction = other.prediction;
    joinRuns(session, other);
}

} // namespace secateur
