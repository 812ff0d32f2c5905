#include "widgets/evaluations/stored_evaluation.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace secateur {

namespace {

bool isChosen(const TextEvaluation& text, const KeptChoice& kept, std::string_view textDigest) {
    const TextRequest& wanted = kept.choice.text;
    const PerplexityRules& rules = text.perplexity.rules;
    const bool hasName = wanted.path.empty() ? text.source == builtInSource : text.source == wanted.path;
    return hasName && wanted.field.empty() && (textDigest.empty() || text.digest == textDigest) &&
           rules.protocol == wanted.rules.protocol && rules.window == wanted.rules.window &&
           (!wanted.rules.bos || rules.bos == wanted.rules.bos) && kept.tokens() == rules.mostTokens;
}

bool isAsked(const TaskEvaluation& task, const TaskRequest& request) {
    const TaskRules& rules = task.rules;
    const bool isDrawn = rules.shots.choice == ShotChoice::drawn;
    const bool hasShots = rules.shots.count == request.shots &&
                          (request.shots == 0 || (isDrawn == request.drawsShots && request.shotsFrom.empty()));
    const bool hasSeed = rules.limit == 0 || rules.seed == request.seed;
    return task.source == request.path && (request.format.empty() || task.formatId == request.format) && hasShots &&
           rules.limit == request.limit && hasSeed && rules.tokens.bos == request.bos;
}

bool isTimed(const Latency& latency, const SpeedRequest& request) {
    return latency.rules.promptTokens == request.promptTokens && latency.rules.newTokens == request.newTokens &&
           static_cast<int>(latency.run.seconds.size()) == request.runs;
}

bool isMeasured(const PooledEvaluation& pooled, const PooledRequest& request) {
    const bool hasName = request.path.empty() ? pooled.source == builtInSource : pooled.source == request.path;
    return hasName && pooled.mostTokens == request.mostTokens && pooled.reference.digest == "dense";
}

/// A run over those of its windows that another one scored too.
Perplexity onSameWindows(const Perplexity& run, const Perplexity& other) {
    if (run.windows.size() == other.windows.size() || run.rules.protocol != TextProtocol::tokenPpl)
        return run;
    std::vector<WindowLoss> windows = run.windows;
    std::erase_if(windows, [&](const WindowLoss& window) {
        return std::ranges::find(other.windows, window.index, &WindowLoss::index) == other.windows.end();
    });
    return perplexityOf(run.rules, std::move(windows), {});
}

/// Fills in the field of an item's kind. @returns whether the evaluation has a result of the item
bool fill(ExtraResult& result, const Session& session, const Evaluation& stored, const ExtraItem& item) {
    if (const auto* task = std::get_if<TaskRequest>(&item)) {
        const auto found = std::ranges::find_if(stored.tasks, [&](const auto& one) { return isAsked(one, *task); });
        if (found != stored.tasks.end())
            result.task = compared(session, stored).tasks[static_cast<std::size_t>(found - stored.tasks.begin())];
    } else if (const auto* prompt = std::get_if<PromptRequest>(&item)) {
        const auto found =
            std::ranges::find_if(stored.continuations, [&](const auto& one) { return one.prompt == *prompt; });
        if (found != stored.continuations.end())
            result.written = *found;
    } else if (const auto* speed = std::get_if<SpeedRequest>(&item)) {
        if (stored.latency && isTimed(*stored.latency, *speed))
            result.latency = stored.latency;
    } else if (stored.pooled && isMeasured(*stored.pooled, std::get<PooledRequest>(item))) {
        result.pooled = stored.pooled;
    }
    return result.task || result.written || result.latency || result.pooled;
}

} // namespace

const Evaluation* storedRun(const Session& session, std::string_view maskDigest, const KeptChoice& kept,
                            std::string_view textDigest) {
    const Evaluation* best = nullptr;
    const auto windows = [](const Evaluation& one) { return one.text->perplexity.windows.size(); };
    for (const Evaluation& one : session.evaluations)
        if (one.isOf(maskDigest) && one.text &&
            isChosen(*one.text, kept, textDigest) && (!best || windows(one) >= windows(*best)))
            best = &one;
    return best;
}

MaskEvaluation storedEvaluation(const Session& session, const Evaluation& stored) {
    MaskEvaluation found;
    found.run = stored.text->perplexity;
    found.windows = stored.text->windows;
    found.reusedLayers = stored.reusedLayers;
    if (stored.mask.digest == "dense") {
        found.dense = found.run;
        return found;
    }
    if (const auto reference = compared(session, stored).text->reference) {
        found.dense = onSameWindows(reference->perplexity, found.run);
        found.difference = reference->difference;
    }
    return found;
}

std::optional<ExtraResult> storedResult(const Session& session, const ExtraItem& item, std::string_view maskDigest) {
    for (auto stored = session.evaluations.rbegin(); stored != session.evaluations.rend(); ++stored) {
        ExtraResult result;
        if (!stored->isOf(maskDigest) || !fill(result, session, *stored, item))
            continue;
        result.dtype = stored->dtype;
        result.device = stored->device;
        return result;
    }
    return std::nullopt;
}

} // namespace secateur
