#include "widgets/evaluations/extra_evaluation.h"

#include "analysis/masks/mask_record.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/evaluations/extra_items.h"
#include "widgets/evaluations/extra_runner.h"
#include "widgets/evaluations/stored_evaluation.h"

#include <QFileInfo>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace secateur {

namespace {

/// The value that `values` holds for an item; null if there is none.
template <typename Values>
auto* find(const Values& values, const ExtraItem& item) {
    const auto found = std::ranges::find_if(values, [&](const auto& one) { return one.item == item; });
    return found == values.end() ? nullptr : &found->value;
}

/// Whether the dense model runs together with the mask, so that it needs no run of its own.
bool runsWithDense(const ExtraItem& item) {
    return std::holds_alternative<SpeedRequest>(item) || std::holds_alternative<PooledRequest>(item);
}

/// Whether the dense model has no result of its own, because it is what the mask is compared with.
bool isDistance(const ExtraItem& item) {
    return std::holds_alternative<PooledRequest>(item);
}

} // namespace

QString shownTask(std::string_view formatId, const QString& fileName) {
    constexpr std::array<std::string_view, 4> general{"", "generic", "generate", "classification"};
    const bool isGeneral = std::ranges::find(general, formatId) != general.end();
    return isGeneral ? fileName : QString::fromUtf8(formatId.data(), static_cast<qsizetype>(formatId.size()));
}

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
    m_warnings.clear();
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
    takeStored();
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

void ExtraEvaluation::takeStored() {
    if (!m_document->isOpen() || m_document->session().evaluations.empty() || m_choice.items().empty())
        return;
    takeStored(PruningMask(m_document->spec()), "dense");
    takeStored(m_document->masks()->mask(), m_document->listedDigests().at(m_document->masks()->state().current));
}

void ExtraEvaluation::takeStored(const PruningMask& mask, const std::string& digest) {
    for (const ExtraItem& item : m_choice.items()) {
        if (known(item, mask))
            continue;
        if (auto stored = storedResult(m_document->session(), item, digest))
            m_known.push_back({item, mask, std::move(*stored)});
    }
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

QString ExtraEvaluation::taskTitle(const ExtraItem& item) const {
    const auto& request = std::get<TaskRequest>(item);
    const ExtraResult* measured = result(item);
    const ExtraForecast* expected = forecast(item);
    const std::string_view format = measured && measured->task ? measured->task->formatId
                                    : expected                 ? std::string_view(expected->formatId)
                                                               : std::string_view(request.format);
    return shownTask(format, QFileInfo(QString::fromStdString(request.path)).completeBaseName());
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
        if (!problem(item).isEmpty() || result(item) || (isDense && isDistance(item)))
            continue;
        if (!forecast(item))
            steps.push_back({item, Kind::prepare});
        if (!isDense && !runsWithDense(item) && !denseResult(item))
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
        const bool hasTurns =
            std::holds_alternative<SpeedRequest>(step.item) && !m_document->masks()->mask().keepsAll();
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
        return step.kind == Kind::prepare
                   ? tr("Reading %1").arg(QFileInfo(QString::fromStdString(task->path)).completeBaseName())
                   : tr("Running %1 on %2").arg(taskTitle(step.item), model);
    }
    if (step.kind == Kind::prepare)
        return tr("Timing a layer");
    if (isDistance(step.item))
        return tr("Pooled outputs of %1").arg(model);
    return runsWithDense(step.item) ? tr("Timing %1").arg(model) : tr("Continuing the prompt with %1").arg(model);
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
    m_warnings = result.warnings;
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
    evaluation.pooled = result.pooled;
    evaluation.warnings = result.warnings;
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
