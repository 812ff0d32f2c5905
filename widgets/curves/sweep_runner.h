#pragma once

#include "analysis/campaigns/sweep_setup.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/jobs/mailbox.h"

#include <QObject>
#include <QString>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

class Document;

/// What a sweep would still do.
struct SweepForecast {
    std::size_t points = 0; ///< number of all points
    std::size_t left = 0;   ///< number of points that are not complete
    std::size_t failed = 0; ///< points that failed in an earlier run
    double seconds = 0;     ///< expected time of the rest, at most
};

/// Runs a sweep in the background. The document's session gets each point as soon as it is found, so a sweep that was
/// stopped goes on from there, also after a restart.
class SweepRunner : public QObject {
    Q_OBJECT

public:
    /// @param folder for the trainings of sweeps of a document without a session file
    SweepRunner(Document* document, JobRunner* jobs, const QString& folder, QObject* parent = nullptr);

    /// Computes the forecast of a setup in the background; forecastReady() delivers it.
    void forecast(const SweepSetup& setup);
    /// Runs the points of a setup that are left. Does nothing while a sweep runs.
    void run(const SweepSetup& setup);
    /// Stops the sweep. The points so far stay.
    void stop();

    bool isRunning() const { return m_running != 0; }

signals:
    void forecastReady(const secateur::SweepForecast& forecast);
    /// A setup cannot be run. @param reason a sentence
    void refused(const QString& reason);
    /// A sweep began or ended.
    void runningChanged();
    void progressed(double fraction, const QString& text, double secondsLeft);

private:
    using News = std::vector<SweepNews>;
    using Reading = std::function<SweepInputs(const Progress& progress)>;

    Reading readingOf(const SweepSetup& setup) const;

    JobRunner::Work forecastWork(const SweepSetup& setup, const SweepRequest& request);
    JobRunner::Work runWork(const SweepSetup& setup, const SweepRequest& request,
                            const std::shared_ptr<Mailbox<News>>& news);
    void takeNews();
    void end(quint64 job);

    Document* m_document;
    JobRunner* m_jobs;
    std::string m_folder;
    JobRunner::Id m_running = 0;     ///< 0 = none
    JobRunner::Id m_forecasting = 0; ///< 0 = none
    std::shared_ptr<Mailbox<News>> m_news;
};

} // namespace secateur
