#pragma once

#include "analysis/strategies/prune.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/jobs/mailbox.h"

#include <QObject>
#include <QString>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace secateur {

class Document;

/// Runs a strategy that reports its steps in the background, and shows its growing mask as the preview. The result
/// replaces the current mask (MaskJobs::prune()). Lives on the GUI thread.
class MaskSearch : public QObject {
    Q_OBJECT

public:
    enum class Outcome { none, running, stopping, done, cancelled, failed };

    MaskSearch(Document* document, JobRunner* jobs, QObject* parent = nullptr);

    /// Does nothing while a search runs. @param action name of the undo step
    /// @param tokens maximum number of tokens of the calibration text
    void start(const PruneRequest& request, const QString& action, std::int64_t tokens);
    /// Ends the search after the step that it is making. The mask so far is the result.
    void stopAndKeep();
    /// Ends the search without a result.
    void cancel();

    /// How the latest search ended, or that it runs.
    Outcome outcome() const { return m_outcome; }
    bool isRunning() const { return m_job != 0; }
    /// The latest step of the running or of the last search; empty before its first.
    const std::optional<PruneStep>& step() const { return m_step; }
    double fraction() const { return m_fraction; }
    double secondsLeft() const { return m_secondsLeft; } ///< negative while unknown

signals:
    void changed();

private:
    PruneWatch watch() const;
    void takeStep();
    void showPreview();
    void end(quint64 job, Outcome outcome);
    bool ownsPreview() const;

    Document* m_document;
    JobRunner* m_jobs;
    JobRunner::Id m_job = 0; ///< 0 = none
    Outcome m_outcome = Outcome::none;
    std::optional<PruneStep> m_step;
    double m_fraction = 0;
    double m_secondsLeft = -1;
    std::optional<PruningMask> m_preview; ///< the preview that this object set last
    std::shared_ptr<Mailbox<std::optional<PruneStep>>> m_steps;
    std::shared_ptr<std::atomic<bool>> m_isEnough; ///< read by the job
};

} // namespace secateur
