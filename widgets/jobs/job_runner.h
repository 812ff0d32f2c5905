#pragma once

#include "analysis/base/progress.h"

#include <QObject>
#include <QString>

#include <functional>
#include <memory>

namespace secateur {

/// Runs jobs in lanes, one thread for each priority. Jobs of one lane run one after another. While there is a job of a
/// higher priority, a job waits in its next Progress::report(). Signals are emitted on the runner's own thread.
class JobRunner : public QObject {
    Q_OBJECT

public:
    using Id = quint64;
    enum class Priority {
        background,
        interactive, ///< answers the user's last action: the loss of an edit
        immediate,   ///< the user looks at the place of the result; usually takes well under a second
        opening,     ///< reads the model or session that replaces the open one
        files,       ///< reads or writes another file; runs at once
    };
    /// Runs on a worker thread. Returns a function that delivers the result on the runner's thread. The function may be
    /// empty.
    using Work = std::function<std::function<void()>(const Progress&)>;

    explicit JobRunner(QObject* parent = nullptr);
    /// Requests all jobs to stop and waits until they have stopped. A job stops when it next uses its Progress.
    ~JobRunner() override;

    /// @param title shown to the user
    Id start(const QString& title, Priority priority, Work work);
    /// Requests a job to stop and emits cancelled(). The delivery function is not called, even if the work is done
    /// already.
    void cancel(Id id);
    void cancelAll();
    /// Cancels all jobs of lower priorities.
    void cancelBelow(Priority priority);
    /// Whether all jobs are over and their last signals were emitted.
    bool isIdle() const;

signals:
    void started(quint64 id, const QString& title);
    /// Emitted at most about 30 times a second for each job. @param secondsLeft negative while unknown
    void progressed(quint64 id, double fraction, const QString& text, double secondsLeft);
    /// A job waits for another job, or goes on. Emitted once for each change.
    /// @param title of the job that it waits for; empty = it goes on
    void waiting(quint64 id, const QString& title);
    void finished(quint64 id);
    void cancelled(quint64 id);
    /// The work or the delivery of its result failed. @param message the sentence for the user
    void failed(quint64 id, const QString& message);

protected:
    bool event(QEvent* event) override;
    void timerEvent(QTimerEvent* event) override;

private:
    struct Job;
    struct Outcome;
    struct State;

    void work(std::size_t lane, const std::stop_token& stop);
    Outcome run(Job& job);
    void waitForOthers(Job& job);
    void hand(Outcome outcome);
    void deliver();
    void end(Outcome outcome);
    void reportProgress();
    void reportWaiting();

    std::unique_ptr<State> m_state;
};

} // namespace secateur
