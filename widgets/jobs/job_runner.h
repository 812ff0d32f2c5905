#pragma once

#include "analysis/base/progress.h"

#include <QObject>
#include <QString>

#include <functional>
#include <memory>

namespace secateur {

/// Runs work on a thread for each priority. Jobs of one priority follow each other; a job waits in its next
/// Progress::report until no job of a higher priority is left. Every signal arrives on the runner's own thread, one
/// after another.
class JobRunner : public QObject {
    Q_OBJECT

public:
    using Id = quint64;
    enum class Priority {
        background,
        interactive, ///< the user waits for it
        immediate,   ///< the user is looking at where it will appear; usually well under a second
    };
    /// Runs on a worker; returns what to do with the result on the runner's thread (may be empty).
    using Work = std::function<std::function<void()>(const Progress&)>;

    explicit JobRunner(QObject* parent = nullptr);
    /// Asks all work to stop and waits until each has looked at its Progress.
    ~JobRunner() override;

    /// @param title shown to the user
    Id start(const QString& title, Priority priority, Work work);
    /// Asks a job to stop. Its delivery does not run, even if the work is already done; cancelled() still comes.
    void cancel(Id id);
    void cancelAll();
    /// Whether every job's last signal was sent.
    bool isIdle() const;

signals:
    void started(quint64 id, const QString& title);
    /// At most about 30 times a second for each job. @param secondsLeft negative while unknown
    void progressed(quint64 id, double fraction, const QString& text, double secondsLeft);
    void finished(quint64 id);
    void cancelled(quint64 id);
    /// @param message the sentence for the user
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
