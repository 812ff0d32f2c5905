#include "widgets/evaluations/extra_evaluation.h"

#include "analysis/evaluation/prefill.h"
#include "analysis/masks/mask_record.h"
#include "analysis/model/kernels.h"
#include "analysis/running/run_speed.h"
#include "analysis/running/runner.h"
#include "analysis/session/services.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/evaluations/extra_items.h"

#include <QFileInfo>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace secateur {

/// Runs extra measurements of one model. Thread-safe: only one call runs at a time. All functions throw Error and
/// Cancelled.
class ExtraRunner {
public:
    ExtraRunner(std::shared_ptr<const Model> model, Services services, ComputeType type);

    /// Reads the item's files and measures the model's speed. @param chosen all chosen tasks; each gets a name of its
    /// own
    ExtraForecast prepare(const ExtraItem& item, const std::vector<TaskRequest>& chosen, const Progress& progress);

    /// Runs an item under a mask. @param dense result of the dense model for the same item; null = no comparison
    ExtraResult run(const ExtraItem& item, const PruningMask& mask, const ExtraResult* dense, const Progress& progress);

private:
    struct ReadTask {
        TaskRequest request;
        AskedTask asked;
        TaskWork work;
    };

    const Plan& densePlan();
    const Tokenizer& tokenizer();
    const ReadTask& read(const TaskRequest& request, const std::vector<TaskRequest>& chosen, const Progress& progress);
    void findSpeed(const Progress& progress);

    ExtraForecast forecast(const PromptRequest& prompt);
    ExtraForecast forecast(const ReadTask& task);
    ExtraForecast forecast(const SpeedRequest& speed);
    Latency time(const SpeedRequest& request, const PruningMask& mask, const Progress& progress);

    std::mutex m_mutex;
    std::shared_ptr<const Model> m_model;
    Services m_services;
    ComputeType m_type;
    std::shared_ptr<const Plan> m_dense;
    std::shared_ptr<const Tokenizer> m_tokenizer;
    std::optional<RunSpeed> m_speed;
    double m_stepSeconds = 0;
    std::vector<ReadTask> m_tasks;
};

namespace {

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
    const auto* prompt = std::get_if<PromptRequest>(&item);
    return prompt ? forecast(*prompt) : forecast(std::get<SpeedRequest>(item));
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
        if (dense)
            compareWith(*result.task, {}, dense->task.value().run);
    } else if (const auto* prompt = std::get_if<PromptRequest>(&item)) {
        result.written = continuePrompt(*m_model, *plan(), tokenizer(), *prompt, progress);
    } else {
        result.latency = time(std::get<SpeedRequest>(item), mask, progress);
    }
    result.dtype = name(densePlan().type());
    result.device = m_model->kernels().device();
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
}

namespace {

/// The value that `values` holds for an item; null if there is none.
template <typename Values>
auto* find(const Values& values, const ExtraItem& item) {
    const auto found = std::ranges::find_if(values, [&](const auto& one) { return one.item == item; });
    return found == values.end() ? nullptr : &found->value;
}

bool isTimed(const ExtraItem& item) {
    return std::holds_alternative<SpeedRequest>(item);
}

} // namespace

QString durationText(double seconds) {
    if (seconds < 1)
        return ExtraEvaluation::tr("less than 1 s");
    if (seconds < 120)
        return ExtraEvaluation::tr("about %1 s").arg(std::ceil(seconds));
    return ExtraEvaluation::tr("about %1 min").arg(std::ceil(seconds / 60));
}

ExtraEvaluation::ExtraEvaluation(Document* document, JobRunner* jobs, ComputeType type, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_jobs(jobs)
    , m_type(type) {
    connect(jobs, &JobRunner::failed, this, &ExtraEvaluation::onFailed);
    connect(jobs, &JobRunner::cancelled, this, [this](quint64 job) {
        if (job == m_job && m_job != 0) // the user cancelled the job in the panel Jobs
            stopHere();
    });
    connect(jobs, &JobRunner::progressed, this, [this](quint64 job, double fraction) {
        if (job != m_job || m_job == 0)
            return;
        m_fraction = fraction;
        emit changed();
    });
}

ExtraEvaluation::~ExtraEvaluation() = default;

void ExtraEvaluation::reset() {
    abandon();
    m_known.clear();
    m_forecasts.clear();
    m_problems.clear();
    m_announced.clear();
    m_bench.reset();
    if (m_document->model() && m_document->services().readTask)
        m_bench = std::make_shared<ExtraRunner>(m_document->model(), m_document->services(), m_type);
    abandon();
}

void ExtraEvaluation::choose(const ExtraChoice& choice) {
    if (choice == m_choice)
        return;
    m_choice = choice;
    m_problems.clear(); // the user may have corrected the files since
    abandon();
}

void ExtraEvaluation::abandon() {
    m_jobs->cancel(std::exchange(m_job, 0));
    m_isWanted = false;
    const bool nothing = !m_bench || m_choice.items().empty();
    setState(nothing ? State::off : isMeasured() ? State::complete : State::waiting);
}

void ExtraEvaluation::begin() {
    if (!m_bench || m_state == State::complete || (m_isWanted && m_job != 0))
        return;
    m_jobs->cancel(std::exchange(m_job, 0));
    m_isWanted = true;
    next();
}

void ExtraEvaluation::stopHere() {
    if (m_state != State::running)
        return;
    m_jobs->cancel(std::exchange(m_job, 0));
    m_isWanted = false;
    setState(State::stopped);
}

void ExtraEvaluation::announce(const std::vector<ExtraItem>& items) {
    m_announced = items;
    if (m_bench && m_job == 0)
        next();
}

const ExtraResult* ExtraEvaluation::known(const ExtraItem& item, const PruningMask& mask) const {
    const auto found =
        std::ranges::find_if(m_known, [&](const Known& one) { return one.item == item && one.mask == mask; });
    return found == m_known.end() ? nullptr : &found->result;
}

const ExtraResult* ExtraEvaluation::result(const ExtraItem& item) const {
    return m_document->isOpen() ? known(item, m_document->masks()->mask()) : nullptr;
}

const ExtraResult* ExtraEvaluation::denseResult(const ExtraItem& item) const {
    return m_document->isOpen() ? known(item, PruningMask(m_document->spec())) : nullptr;
}

const ExtraForecast* ExtraEvaluation::forecast(const ExtraItem& item) const {
    return find(m_forecasts, item);
}

QString ExtraEvaluation::problem(const ExtraItem& item) const {
    const QString* sentence = find(m_problems, item);
    return sentence ? *sentence : QString();
}

std::vector<ExtraEvaluation::Step> ExtraEvaluation::missing() const {
    std::vector<Step> steps;
    const bool isDense = m_document->masks()->mask().keepsAll();
    std::vector<Step> runs;
    for (const ExtraItem& item : m_choice.items()) {
        if (!problem(item).isEmpty() || result(item))
            continue;
        if (!forecast(item))
            steps.push_back({item, Kind::prepare});
        if (!isDense && !isTimed(item) && !denseResult(item))
            runs.push_back({item, Kind::dense});
        runs.push_back({item, Kind::mask});
    }
    steps.insert(steps.end(), runs.begin(), runs.end());
    return steps;
}

bool ExtraEvaluation::isMeasured() const {
    return m_document->isOpen() && missing().empty();
}

std::optional<double> ExtraEvaluation::secondsLeft() const {
    double seconds = 0;
    for (const Step& step : missing()) {
        const ExtraForecast* expected = forecast(step.item);
        if (!expected)
            return std::nullopt;
        const bool hasTurns = isTimed(step.item) && !m_document->masks()->mask().keepsAll();
        const double left = isRunning(step.item) && step.kind == m_step.kind ? 1 - m_fraction : 1;
        seconds += expected->seconds * (hasTurns ? 2 : 1) * left;
    }
    return seconds;
}

void ExtraEvaluation::next() {
    std::vector<Step> steps;
    if (m_isWanted)
        steps = missing();
    for (const ExtraItem& item : m_announced)
        if (!forecast(item) && problem(item).isEmpty())
            steps.push_back({item, Kind::prepare});
    m_fraction = 0;
    if (!steps.empty())
        return start(steps.front());
    if (std::exchange(m_isWanted, false))
        setState(m_choice.items().empty() ? State::off : State::complete);
    else
        emit changed();
}

QString ExtraEvaluation::title(const Step& step) const {
    const QString model = step.kind == Kind::dense || m_document->masks()->mask().keepsAll()
                              ? tr("the dense model")
                              : QString::fromStdString(m_document->masks()->state().edited().name);
    if (const auto* task = std::get_if<TaskRequest>(&step.item)) {
        const QString file = QFileInfo(QString::fromStdString(task->path)).completeBaseName();
        return step.kind == Kind::prepare ? tr("Reading %1").arg(file) : tr("Running %1 on %2").arg(file, model);
    }
    if (step.kind == Kind::prepare)
        return tr("Timing a layer");
    return isTimed(step.item) ? tr("Timing %1").arg(model) : tr("Continuing the prompt with %1").arg(model);
}

void ExtraEvaluation::start(const Step& step) {
    m_step = step;
    if (step.kind == Kind::prepare) {
        startPreparation(step);
    } else {
        const PruningMask mask =
            step.kind == Kind::dense ? PruningMask(m_document->spec()) : m_document->masks()->mask();
        std::optional<ExtraResult> dense;
        if (const ExtraResult* result = denseResult(step.item); result && !mask.keepsAll())
            dense = *result;
        const auto work = [this, bench = m_bench, step, mask, dense](const Progress& progress) {
            ExtraResult result = bench->run(step.item, mask, dense ? &*dense : nullptr, progress);
            return [this, step, mask, result = std::move(result)] { take(step, mask, result); };
        };
        m_job = m_jobs->start(title(step), JobRunner::Priority::interactive, work);
    }
    if (m_isWanted)
        setState(State::running);
}

void ExtraEvaluation::startPreparation(const Step& step) {
    const auto work = [this, bench = m_bench, item = step.item, tasks = m_choice.tasks](const Progress& progress) {
        const ExtraForecast found = bench->prepare(item, tasks, progress);
        return [this, item, found] {
            m_job = 0;
            m_forecasts.push_back({item, found});
            emit changed();
            next();
        };
    };
    m_job = m_jobs->start(title(step), JobRunner::Priority::interactive, work);
}

void ExtraEvaluation::take(const Step& step, const PruningMask& mask, ExtraResult result) {
    m_job = 0;
    keep(result, mask);
    const PruningMask none(m_document->spec());
    const bool isTimedBoth = result.latency && result.latency->reference;
    if (isTimedBoth && !denseResult(step.item)) {
        ExtraResult dense = result;
        dense.latency = Latency{result.latency->rules, *result.latency->reference, {}, {}};
        dense.seconds = 0;
        keep(dense, none);
        m_known.push_back({step.item, none, std::move(dense)});
    }
    m_known.push_back({step.item, mask, std::move(result)});
    emit changed();
    next();
}

/// Adds a result to the session.
void ExtraEvaluation::keep(const ExtraResult& result, const PruningMask& mask) {
    Evaluation evaluation;
    evaluation.dtype = result.dtype;
    evaluation.device = result.device;
    evaluation.seconds = result.seconds;
    evaluation.latency = result.latency;
    if (result.task)
        evaluation.tasks.push_back(*result.task);
    if (result.written)
        evaluation.continuations.push_back(*result.written);
    MaskRecord record;
    record.mask = mask;
    if (!mask.keepsAll()) {
        evaluation.mask.name = m_document->masks()->state().edited().name;
        record = *m_document->masks()->state().edited().record;
    }
    m_document->addEvaluation(std::move(evaluation), record);
}

void ExtraEvaluation::setState(State state) {
    m_state = state;
    emit changed();
}

void ExtraEvaluation::onFailed(quint64 job, const QString& message) {
    if (job != m_job || m_job == 0)
        return;
    m_job = 0;
    m_problems.push_back({m_step.item, message});
    next();
}

} // namespace secateur
