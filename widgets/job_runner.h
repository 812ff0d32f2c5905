#pragma once

#include "analysis/progress.h"

#include <QObject>
#include <QString>

#include <functional>
#include <memory>

namespace secateur {

/// Runs work on two threads, one working at a time: a background job waits inside Progress::report while an
/// interactive one runs. Every signal arrives on the runner's own thread, none after a job was dropped.
class JobRunner : public QObject {
    Q_OBJECT

public:
    using Id = quint64;
    enum class Priority { background, interactive };
    /// Runs on a worker; returns what to do with the result on the runner's thread (may be empty).
    using Work = std::function<std::function<void()>(const Progress&)>;

    explicit JobRunner(QObject* parent = nullptr);
    /// Asks all work to stop and waits for it.
    ~JobRunner() override;

    /// @param title shown to the person
    Id start(const QString& title, Priority priority, Work work);
    /// Asks a job to stop. Its delivery does not run; finished() still comes, as cancelled.
    void cancel(Id id);
    void cancelAll();
    bool isIdle() const;

signals:
    void started(quint64 id, const QString& title);
    /// At most about 30 times a second for each job. @param secondsLeft negative while unknown
    void progressed(quint64 id, double fraction, const QString& text, double secondsLeft);
    void finished(quint64 id);
    void cancelled(quint64 id);
    /// @param message the sentence for the person
    void failed(quint64 id, const QString& message);

private:
    class Lane;
    struct State;
    std::shared_ptr<State> m_state;
};

} // namespace secateur
