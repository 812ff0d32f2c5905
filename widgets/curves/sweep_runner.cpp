#include "widgets/curves/sweep_runner.h"

#include "analysis/base/error.h"
#include "analysis/campaigns/text_parts.h"
#include "analysis/session/sweep_known.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"

#include <utility>

namespace secateur {

SweepRunner::SweepRunner(Document* document, JobRunner* jobs, const QString& folder, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_jobs(jobs)
    , m_folder(folder.toStdString()) {
    connect(jobs, &JobRunner::progressed, this,
            [this](quint64 id, double fraction, const QString& text, double secondsLeft) {
                if (id != m_running)
                    return;
                takeNews();
                emit progressed(fraction, text, secondsLeft);
            });
    for (const auto ended : {&JobRunner::finished, &JobRunner::cancelled})
        connect(jobs, ended, this, &SweepRunner::end);
    connect(jobs, &JobRunner::failed, this, &SweepRunner::end);
}

/// Reads texts, tasks and training data on the thread of a job.
SweepRunner::Reading SweepRunner::readingOf(const SweepSetup& setup) const {
    const Services& services = m_document->services();
    const std::string session = m_document->sessionPath().toStdString();
    const std::string folder = session.empty() ? m_folder : services.adaptersFolder(session);
    return [setup, folder, model = m_document->model(), read = services.readSweep,
            recovery = services.sweepRecovery](const Progress& progress) {
        SweepInputs inputs = read(*model, setup, progress.part(0, 0.7));
        if (setup.recovery.isWanted())
            inputs.recovery = recovery(model, setup.recovery, folder, progress.part(0.7, 1));
        return inputs;
    };
}

JobRunner::Work SweepRunner::forecastWork(const SweepSetup& setup, const SweepRequest& request) {
    const auto before = std::make_shared<const Session>(m_document->snapshot());
    return
        [this, setup, request, before, model = m_document->model(), read = readingOf(setup)](const Progress& progress) {
            const SweepInputs inputs = read(progress.part(0, 0.5));
            const SweepPlan plan = planSweep(*model, request, inputs, knownOf(*before));
            SweepForecast found{plan.points, plan.left.size(), plan.failed, 0};
            if (!plan.isDone())
                found.seconds = costOf(*model, request, inputs, plan, progress.part(0.5, 0.8)).seconds();
            if (setup.stabilityParts > 1)
                found.seconds +=
                    costOnParts(*model, request, inputs, knownOf(*before), setup.stabilityParts, progress.part(0.8, 1))
                        .seconds();
            return [this, found] { emit forecastReady(found); };
        };
}

JobRunner::Work SweepRunner::runWork(const SweepSetup& setup, const SweepRequest& request,
                                     const std::shared_ptr<Mailbox<News>>& news) {
    const auto before = std::make_shared<const Session>(m_document->snapshot());
    return
        [setup, request, news, before, model = m_document->model(), read = readingOf(setup)](const Progress& progress) {
            const SweepInputs inputs = read(progress.part(0, 0.01));
            const SweepKnown known = knownOf(*before);
            const SweepPlan plan = planSweep(*model, request, inputs, known);
            const SweepCost cost = costOf(*model, request, inputs, plan, progress.part(0.01, 0.02));
            const auto keep = [&news](const SweepNews& found) { news->put([&](News& all) { all.push_back(found); }); };
            const int parts = setup.stabilityParts;
            const double onParts =
                parts > 1 ? costOnParts(*model, request, inputs, known, parts, progress.part(0.02, 0.02)).seconds() : 0;
            const Progress rest = progress.part(0.02, 1);
            const double share = onParts > 0 ? onParts / (onParts + cost.seconds()) : 0;
            if (parts > 1)
                chooseOnParts(*model, request, inputs, known, parts, keep, rest.part(0, share));
            runSweep(*model, request, inputs, known, plan, cost, keep, rest.part(share, 1));
            return std::function<void()>();
        };
}

void SweepRunner::forecast(const SweepSetup& setup) {
    if (m_forecasting != 0)
        m_jobs->cancel(std::exchange(m_forecasting, 0));
    if (!m_document->model() || isRunning())
        return;
    try {
        const std::string protect = m_document->masks()->isProtected().text(m_document->spec());
        m_forecasting = m_jobs->start(tr("Forecast of a sweep"), JobRunner::Priority::interactive,
                                      forecastWork(setup, requestOf(setup, protect)));
    } catch (const Error& error) {
        emit refused(QString::fromStdString(error.what()));
    }
}

void SweepRunner::run(const SweepSetup& setup) {
    if (!m_document->model() || isRunning())
        return;
    try {
        const std::string protect = m_document->masks()->isProtected().text(m_document->spec());
        const SweepRequest request = requestOf(setup, protect);
        m_news = std::make_shared<Mailbox<News>>();
        m_running = m_document->start(tr("Sweep"), JobRunner::Priority::background, runWork(setup, request, m_news));
        for (const auto& [name, value] : viewOf(setup))
            m_document->setView(name, value);
        emit runningChanged();
    } catch (const Error& error) {
        emit refused(QString::fromStdString(error.what()));
    }
}

void SweepRunner::stop() {
    if (isRunning())
        m_jobs->cancel(m_running);
}

void SweepRunner::takeNews() {
    for (const SweepNews& news : m_news->take())
        m_document->addSweepNews(news);
}

void SweepRunner::end(quint64 job) {
    if (job == m_forecasting)
        m_forecasting = 0;
    if (job == 0 || job != m_running)
        return;
    takeNews();
    m_running = 0;
    emit runningChanged();
}

} // namespace secateur
