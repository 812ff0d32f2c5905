#include "widgets/training/recovery_forecast.h"

#include "analysis/base/error.h"
#include "analysis/running/runner.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"

#include <QTimer>

#include <utility>

namespace secateur {

namespace {

constexpr int forecastPauseMs = 400;

} // namespace

RecoveryForecast::RecoveryForecast(Document* document, JobRunner* jobs, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_jobs(jobs)
    , m_pause(new QTimer(this)) {
    m_pause->setSingleShot(true);
    m_pause->setInterval(forecastPauseMs);
    connect(m_pause, &QTimer::timeout, this, &RecoveryForecast::measure);
    connect(document, &Document::opened, this, &RecoveryForecast::forget);
    for (const auto end : {&JobRunner::finished, &JobRunner::cancelled})
        connect(jobs, end, this, [this](quint64 job) {
            if (job == m_job)
                m_job = 0;
        });
    connect(jobs, &JobRunner::failed, this, [this](quint64 job) {
        if (job == m_job)
            m_job = 0;
    });
}

void RecoveryForecast::ask(const TrainingSettings& settings, const std::string& data) {
    const Data wanted{data, settings.length};
    if (!m_document->model() || !m_document->services().trainingSize)
        return;
    if (wanted == m_asked && (m_job != 0 || m_pause->isActive() || wanted == m_known))
        return;
    m_asked = wanted;
    m_jobs->cancel(std::exchange(m_job, 0));
    if (wanted != m_known)
        m_pause->start();
}

std::optional<TrainingForecast> RecoveryForecast::of(const TrainingSettings& settings, const std::string& data) const {
    if (!m_size || !m_speed || m_known != Data{data, settings.length})
        return std::nullopt;
    return trainingForecast(settings, *m_size, *m_speed, m_document->spec(), m_document->masks()->mask());
}

void RecoveryForecast::measure() {
    if (!m_document->model())
        return;
    const auto work = [this, services = m_document->services(), model = m_document->model(), data = m_asked,
                       speed = m_speed](const Progress& progress) {
        Found found{{}, speed, {}};
        try {
            if (!speed) {
                const auto dense = model->runner().plan(PruningMask(model->spec()), ComputeType::automatic);
                found.speed = runSpeed(*model, *dense, progress.part(0, 0));
            }
            found.size = services.trainingSize(*model, data.path, data.length, progress);
        } catch (const Error& error) {
            found.failure = QString::fromStdString(error.what());
        }
        return [this, data, found] { take(data, found); };
    };
    m_job = m_document->start(tr("Forecast of the training"), JobRunner::Priority::background, work);
}

void RecoveryForecast::take(const Data& data, const Found& found) {
    m_known = data;
    m_size = found.size;
    m_speed = found.speed;
    m_failure = found.failure;
    emit changed();
}

void RecoveryForecast::forget() {
    m_pause->stop();
    m_job = 0;
    m_asked = m_known = {};
    m_size.reset();
    m_speed.reset();
    m_failure.clear();
}

} // namespace secateur
