#pragma once

#include <QElapsedTimer>
#include <QString>
#include <QWidget>

#include <map>

class QLabel;
class QProgressBar;
class QToolButton;

namespace secateur {

class JobRunner;

/// The work in progress, for the status bar: the running job's title, progress, time left and a button to cancel it.
/// Of several jobs it shows one that runs rather than one that waits. Hidden while there is no job.
class JobStatus : public QWidget {
    Q_OBJECT

public:
    explicit JobStatus(JobRunner* jobs, QWidget* parent = nullptr);

    /// The job on display; 0 = none.
    quint64 shown() const { return m_shown; }

signals:
    /// The user clicked the title: wants to see all jobs.
    void jobsWanted();

private:
    struct Job {
        QString title;
        double fraction = -1; ///< negative before the first progress
        double secondsLeft = -1;
        qint64 progressed = -1; ///< time of the latest progress, by m_clock; negative = none yet
    };

    void update(quint64 id, double fraction, double secondsLeft);
    void end(quint64 id);
    /// Chooses the job to display.
    void choose();
    void display();

    JobRunner* m_jobs;
    QToolButton* m_title;
    QProgressBar* m_bar;
    QLabel* m_left;
    QToolButton* m_cancel;
    std::map<quint64, Job> m_running; ///< jobs that are not over, by id
    quint64 m_shown = 0;
    QElapsedTimer m_clock;
};

/// "12 s left"
QString timeLeftText(double seconds);

} // namespace secateur
