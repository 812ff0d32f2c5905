#include "backends/text/asked_task_file.h"

#include "analysis/base/usage_error.h"
#include "backends/text/answer_match.h"
#include "backends/text/data_digest.h"
#include "backends/formats/hf_config.h"
#include "backends/text/task_file.h"

#include <fmt/format.h>

namespace secateur {

namespace {

void checkShots(const AskedTask& asked) {
    const TaskFormat& format = taskFormat(asked.task.formatId);
    const bool hasOptions = format.kind == TaskKind::choice || format.kind == TaskKind::lastWord;
    if (asked.rules.shots.count > 0 && !hasOptions)
        throw UsageError(fmt::format("is of format {}, which takes no examples", format.id), asked.path);
}

std::vector<TaskQuestion> examplesOf(const TaskRequest& request, const Task& task, const Progress& progress) {
    if (request.shots == 0)
        return {};
    if (request.shotsFrom.empty())
        return task.questions;
    return readTask(request.shotsFrom, {.format = std::string(task.formatId)}, progress).questions;
}

} // namespace

AskedTask readAskedTask(const TaskRequest& request, const Progress& progress) {
    AskedTask asked;
    asked.path = request.path;
    asked.task = readTask(request.path, {.format = request.format, .labels = request.labels}, progress);
    asked.rules.shots = {request.shots, request.drawsShots ? ShotChoice::drawn : ShotChoice::first, request.seed};
    asked.rules.limit = request.limit;
    asked.rules.seed = request.seed;
    asked.rules.tokens.bos = request.bos;
    asked.rules.batchTokens = request.batchTokens;
    checkShots(asked);
    asked.examples = examplesOf(request, asked.task, progress);
    asked.judge = answerJudge(asked.task, request.path);
    asked.digest = dataDigest(asked.task, asked.examples);
    return asked;
}

void nameClasses(AskedTask& asked, const ModelCard& model) {
    if (taskFormat(asked.task.formatId).kind == TaskKind::classification)
        asked.classNames = classNames(model);
}

} // namespace secateur
