#pragma once

#include "analysis/base/progress.h"

#include <QObject>
#include <QString>

#include <functional>
#include <memory>

namespace secateur {

/// Runs jobs on one thread for each priority. Jobs of the same priority run one after another. While a job of a higher
/// priority is queued or running, a job of lower priority waits in its next Progress::report(). Signals are emitted on
/// the thread that the runner lives on.
class JobRunner : public QObject {
    Q_OBJECT

public:
    using Id = quint64;
    enum class Priority {
        background,
        interactive, ///< the user waits for the result
        immediate,   ///< the user looks at the place where the result appears; usually takes well under a second
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
    /// Whether no job is queued or running and all signals were emitted.
    bool isIdle() const;

signals:
    void started(quint64 id, const QString& title);
    /// Emitted at most about 30 times a second for each job. @param secondsLeft negative while unknown
    void progressed(quint64 id, double fraction, const QString& text, double secondsLeft);
    void finished(quint64 id);
    void cancelled(quint64 id);
    /// @param message sentence for the user
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
    void reportProgress();

    std::unique_ptr<State> m_state;
};

} // namespace secateur
