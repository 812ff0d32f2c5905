#include "widgets/evaluations/extra_runner.h"

#include "analysis/model/kernels.h"
#include "analysis/running/runner.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>

namespace secateur {

namespace {

constexpr std::int64_t pooledBatchTokens = 4096;

LatencyRules rulesOf(const SpeedRequest& request) {
    LatencyRules rules;
    rules.promptTokens = request.promptTokens;
    rules.newTokens = request.newTokens;
    rules.warmup = request.warmup;
    rules.runs = request.runs;
    return rules;
}

} // namespace

ExtraRunner::ExtraRunner(std::shared_ptr<const Model> model, Services services, ComputeType type)
    : m_model(std::move(model))
    , m_services(std::move(services))
    , m_type(type) {}

const Plan& ExtraRunner::densePlan() {
    if (!m_dense)
        m_dense = m_model->runner().plan(PruningMask(m_model->spec()), m_type);
    return *m_dense;
}

const Tokenizer& ExtraRunner::tokenizer() {
    if (!m_tokenizer)
        m_tokenizer = m_services.openTokenizer(*m_model);
    return *m_tokenizer;
}

const ExtraRunner::ReadTask& ExtraRunner::read(const TaskRequest& request, const std::vector<TaskRequest>& chosen,
                                               const Progress& progress) {
    const auto known = std::ranges::find(m_tasks, request, &ReadTask::request);
    if (known != m_tasks.end())
        return *known;
    AskedTask asked = m_services.readTask(*m_model, request, progress);
    std::vector<AskedTask> named{asked};
    for (const ReadTask& other : m_tasks)
        if (std::ranges::find(chosen, other.request) != chosen.end())
            named.push_back(other.asked);
    makeNamesDiffer(named);
    asked.task.name = named.front().task.name;
    TaskWork work = workOf(asked, m_model->spec(), tokenizer(), progress);
    return m_tasks.emplace_back(request, std::move(asked), work);
}

void ExtraRunner::findSpeed(const Progress& progress) {
    if (m_speed)
        return;
    const RunSpeed speed = runSpeed(*m_model, densePlan(), progress);
    m_stepSeconds = stepSeconds(*m_model, densePlan(), progress);
    m_speed = speed;
}

ExtraForecast ExtraRunner::forecast(const PromptRequest& prompt) {
    const auto length = std::ssize(encodedPrompt(prompt, tokenizer()));
    const TaskWork work{1, {length, static_cast<int>(length), 1}, prompt.newTokens, prompt.newTokens};
    return {taskSeconds(*m_speed, m_model->spec(), densePlan().mask(), work, m_stepSeconds)};
}

ExtraForecast ExtraRunner::forecast(const ReadTask& task) {
    const Task& content = task.asked.task;
    return {taskSeconds(*m_speed, m_model->spec(), densePlan().mask(), task.work, m_stepSeconds), content.name,
            std::string(content.formatId), task.work.questions,
            content.questions.size() + content.texts.size() + content.prompts.size()};
}

ExtraForecast ExtraRunner::forecast(const SpeedRequest& speed) {
    return {latencySeconds(*m_speed, m_model->spec(), densePlan().mask(), rulesOf(speed), m_stepSeconds)};
}

ExtraForecast ExtraRunner::prepare(const ExtraItem& item, const std::vector<TaskRequest>& chosen,
                                   const Progress& progress) {
    const std::lock_guard onlyUser(m_mutex);
    findSpeed(progress.part(0, 0));
    if (const auto* task = std::get_if<TaskRequest>(&item))
        return forecast(read(*task, chosen, progress));
    if (const auto* pooled = std::get_if<PooledRequest>(&item))
        return forecast(*pooled, progress.part(0, 0));
    const auto* prompt = std::get_if<PromptRequest>(&item);
    return prompt ? forecast(*prompt) : forecast(std::get<SpeedRequest>(item));
}

const SequenceText& ExtraRunner::sequences(const PooledRequest& request, const Progress& progress) {
    if (!m_sequences || !(m_sequences->first == request))
        m_sequences = {request, m_services.readSequences(*m_model, request.path, request.mostTokens, progress)};
    return m_sequences->second;
}

/// Both the dense model and the masked one run.
ExtraForecast ExtraRunner::forecast(const PooledRequest& request, const Progress& progress) {
    const SequenceText& text = sequences(request, progress);
    const RunSize size{text.set.tokens, static_cast<int>(text.data.sequenceLength), 0};
    return {2 * runSeconds(*m_speed, m_model->spec(), densePlan().mask(), size)};
}

PooledEvaluation ExtraRunner::distance(const PooledRequest& request, const PruningMask& mask,
                                       const Progress& progress) {
    const SequenceText& text = sequences(request, progress.part(0, 0));
    const auto plan = m_model->runner().plan(mask, densePlan().type());
    PooledEvaluation found{text.data.source,
                           text.digest,
                           text.data.sequenceLength,
                           {},
                           pooledDistance(*m_model, *plan, densePlan(), text.set, pooledBatchTokens, progress)};
    found.mostTokens = request.mostTokens;
    return found;
}

Latency ExtraRunner::time(const SpeedRequest& request, const PruningMask& mask, const Progress& progress) {
    LatencyRules rules = rulesOf(request);
    rules.text = ordinaryTokens(m_model->spec(), request.promptTokens, &tokenizer());
    if (mask.keepsAll())
        return generationLatency(*m_model, {densePlan()}, rules, progress);
    const auto plan = m_model->runner().plan(mask, densePlan().type());
    return generationLatency(*m_model, {*plan, &densePlan(), m_services.stayTogether(densePlan(), *plan)}, rules,
                             progress);
}

ExtraResult ExtraRunner::run(const ExtraItem& item, const PruningMask& mask, const ExtraResult* dense,
                             const Progress& progress) {
    const std::lock_guard onlyUser(m_mutex);
    const auto begin = std::chrono::steady_clock::now();
    ExtraResult result;
    const auto plan = [&] { return m_model->runner().plan(mask, densePlan().type()); };
    if (const auto* request = std::get_if<TaskRequest>(&item)) {
        const AskedTask& asked = read(*request, {}, progress.part(0, 0)).asked;
        result.task = taskEvaluation(asked, askTask(*m_model, *plan(), tokenizer(), asked, progress));
        if (dense && dense->task.value().digest == asked.digest)
            compareWith(*result.task, {}, dense->task->run);
    } else if (const auto* prompt = std::get_if<PromptRequest>(&item)) {
        result.written = continuePrompt(*m_model, *plan(), tokenizer(), *prompt, progress);
    } else if (const auto* pooled = std::get_if<PooledRequest>(&item)) {
        result.pooled = distance(*pooled, mask, progress);
    } else {
        result.latency = time(std::get<SpeedRequest>(item), mask, progress);
    }
    result.dtype = name(densePlan().type());
    result.device = m_model->kernels().device();
    result.warnings = m_services.overwrittenFiles(*m_model);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
}

} // namespace secateur
