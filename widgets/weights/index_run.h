#pragma once

#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

namespace secateur {

/// Works through a list of items in many short jobs, each of a few items, so that no other job waits long. Lives on the
/// GUI thread.
class IndexRun : public QObject {
    Q_OBJECT

public:
    /// Does the work of one item on a worker thread. Returns the function that delivers its result on the GUI thread.
    /// Throws only Cancelled: failures are results.
    using Work = std::function<std::function<void()>(std::size_t index, const Progress&)>;

    /// @param title of the jobs
    IndexRun(JobRunner* jobs, const QString& title, QObject* parent = nullptr);

    /// Begins with a list, and drops the one before.
    void start(std::deque<std::size_t> items, Work work, JobRunner::Priority priority);
    /// Does an item next, whether or not it is in the list.
    void putFirst(std::size_t index);
    /// Interrupts the work, which goes on after resume(): something else is more urgent.
    void pause();
    void resume();
    void stop();
    bool isDone() const { return m_items.empty() && m_job == 0; }

signals:
    /// Results of some items were delivered.
    void advanced();
    /// The user cancelled the work.
    void cancelled();

private:
    void next();
    void onEnded(quint64 job);

    JobRunner* m_jobs;
    QString m_title;
    std::deque<std::size_t> m_items;
    std::deque<std::size_t> m_running; ///< items of the job, which go back to the list when it is interrupted
    std::shared_ptr<const Work> m_work;
    JobRunner::Priority m_priority = JobRunner::Priority::background;
    JobRunner::Id m_job = 0;
    bool m_isPaused = false;
};

} // namespace secateur
