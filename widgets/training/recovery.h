#pragma once

#include "analysis/figures/training_figure.h"
#include "analysis/training/recovery_request.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/jobs/mailbox.h"

#include <QObject>
#include <QString>

#include <cstddef>
#include <memory>
#include <string>

namespace secateur {

class Document;

/// Trains the open model under its current mask in the background. A run that is paused, or ended with the program,
/// continues from its checkpoint. A compensation that was trained becomes that of a new mask in the list. Lives on the
/// GUI thread.
class Recovery : public QObject {
    Q_OBJECT

public:
    enum class State {
        none,
        running,
        pausing,    ///< ends at the next chance; can be resumed then
        paused,     ///< stopped by the user; can be resumed
        cancelling, ///< ends at the next chance
        cancelled,  ///< ended by the user; the best adapter so far is kept
        done,
        failed,
    };

    /// @param folder for checkpoints; it is created before the first run
    Recovery(Document* document, JobRunner* jobs, const QString& folder, QObject* parent = nullptr);

    State state() const { return m_state; }
    bool isBusy() const { return m_job != 0; }
    /// Whether a run has stopped and can continue.
    bool canResume() const;
    /// Whether a run has stopped after at least one step, so that save() has something to write.
    bool hasResult() const;
    /// Whether the result has an adapter, and not only the compensation of a mask.
    bool hasAdapter() const;
    const TrainingCurve& curve() const { return m_curve; }
    const RecoveryRequest& request() const { return m_request; }
    const std::string& key() const { return m_key; } ///< TrainingRun::key; empty while it is not known
    /// The name of the mask under which the run trains.
    const QString& maskName() const { return m_maskName; }
    double fraction() const { return m_fraction; }
    double secondsLeft() const { return m_secondsLeft; } ///< negative while unknown
    double tokensPerSecond() const;                      ///< of all steps
    const QString& failure() const { return m_failure; } ///< the error message if the state is `failed`

    /// Trains under the current mask, unless a run is busy. If an equal run was stopped, also by an earlier window, it
    /// goes on.
    void start(const TrainingSettings& settings, const std::string& data);
    void pause();
    void resume();
    /// Ends the run. The best adapter so far is the result.
    void cancel();
    /// Writes the best adapter to a folder, or the mask with its compensation if only that is trained.
    void save(const QString& folder);

signals:
    void changed();
    /// A run ended by itself or was cancelled, and hasResult().
    void trained();

private:
    /// What the job has added to the curve.
    struct News {
        std::size_t from = 0; ///< number of records before those of the curve
        TrainingCurve curve;
        std::string key;
    };

    static void post(Mailbox<News>& news, const TrainingRun& run, std::size_t& sent);
    void launch();
    JobRunner::Work work() const;
    void takeNews();
    void end(quint64 job, State state);
    void finish(State state);
    void listMask();
    void setState(State state);
    void forget();

    Document* m_document;
    JobRunner* m_jobs;
    std::string m_folder;
    State m_state = State::none;
    JobRunner::Id m_job = 0; ///< that trains; 0 = none
    RecoveryRequest m_request;
    QString m_maskName;
    TrainingCurve m_curve;
    std::string m_key; ///< TrainingRun::key; empty while it is not known
    double m_fraction = 0;
    double m_secondsLeft = -1;
    QString m_failure;
    std::shared_ptr<Mailbox<News>> m_news;
};

} // namespace secateur
