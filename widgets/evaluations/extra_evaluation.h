#pragma once

#include "analysis/masks/pruning_mask.h"
#include "widgets/evaluations/extra_items.h"
#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

class Document;
class ExtraRunner;

/// The name of a task on screen: its format ("piqa"), because files are often named after a split ("valid"); for
/// formats that any task can have ("generic") the name of the file.
QString shownTask(std::string_view formatId, const QString& fileName);

/// "less than 1 s", "about 12 s", "about 3 min"
QString durationText(double seconds);

/// Measures tasks, speed and a continued prompt under the current mask, after its loss. Each measurement first runs
/// with the dense model and then under the mask, in short jobs. Results are kept when the mask changes or the work is
/// stopped. LiveEvaluation starts the work. Lives on the GUI thread.
class ExtraEvaluation : public QObject {
    Q_OBJECT

public:
    enum class State {
        off,     ///< nothing is chosen, or there is no model to run
        waiting, ///< waits until the loss is measured, or begin() is called
        running,
        stopped, ///< stopped by the user
        complete,
    };

    ExtraEvaluation(Document* document, JobRunner* jobs, ComputeType type, QObject* parent = nullptr);
    ~ExtraEvaluation() override;

    const ExtraChoice& choice() const { return m_choice; }
    State state() const { return m_state; }

    /// The result of an item under the current mask; null if there is none.
    const ExtraResult* result(const ExtraItem& item) const;
    const ExtraResult* denseResult(const ExtraItem& item) const;
    /// The forecast of an item; null until the model's speed was measured and the item was read.
    const ExtraForecast* forecast(const ExtraItem& item) const;
    /// The name of a task on screen (shownTask()). @param item a TaskRequest
    QString taskTitle(const ExtraItem& item) const;
    /// The reason why an item cannot be measured; empty if it can.
    QString problem(const ExtraItem& item) const;
    /// Warnings about the model's files, as of the latest result.
    const std::vector<std::string>& warnings() const { return m_warnings; }
    bool isRunning(const ExtraItem& item) const { return m_state == State::running && m_step.item == item; }
    /// Expected duration in seconds of the missing results of the current mask; empty until all forecasts are known.
    std::optional<double> secondsLeft() const;
    /// Progress of the running item, from 0 to 1.
    double fraction() const { return m_fraction; }

    // These functions are called by LiveEvaluation.
    void choose(const ExtraChoice& choice);
    /// Removes all results and forecasts. Called after another model was opened.
    void reset();
    /// Cancels the running item. Called when the mask changed or the text has to be scored first.
    void abandon();
    /// Starts or continues the measurements of the current mask.
    void begin();
    /// Stops the measurements and keeps the results so far.
    void stopHere();

public slots:
    /// Computes the forecasts of items, chosen or not, without running them.
    void announce(const std::vector<secateur::ExtraItem>& items);

signals:
    void changed();

private:
    enum class Kind { prepare, dense, mask };
    struct Step {
        ExtraItem item;
        Kind kind = Kind::prepare;
    };
    template <typename Value>
    struct Of {
        ExtraItem item;
        Value value;
    };
    struct Known {
        ExtraItem item;
        PruningMask mask;
        ExtraResult result;
    };

    const ExtraResult* known(const ExtraItem& item, const PruningMask& mask) const;
    /// Takes results of the chosen items under the current mask, and of the dense model, from the session.
    void takeStored();
    void takeStored(const PruningMask& mask, const std::string& digest);
    std::vector<Step> missing() const;
    bool isMeasured() const;
    void next();
    void start(const Step& step);
    void startPreparation(const Step& step);
    QString title(const Step& step) const;
    void take(const Step& step, const PruningMask& mask, ExtraResult result);
    void keep(const ExtraResult& result, const PruningMask& mask);
    void setState(State state);
    void onFailed(quint64 job, const QString& message);

    Document* m_document;
    JobRunner* m_jobs;
    ComputeType m_type;
    ExtraChoice m_choice;
    std::vector<ExtraItem> m_announced; ///< items to forecast even if they are not chosen
    State m_state = State::off;
    bool m_isWanted = false; ///< whether the chosen items may run now
    std::shared_ptr<ExtraRunner> m_bench;
    JobRunner::Id m_job = 0;
    Step m_step;
    double m_fraction = 0;
    std::vector<Known> m_known;
    std::vector<Of<ExtraForecast>> m_forecasts;
    std::vector<Of<QString>> m_problems;
    std::vector<std::string> m_warnings;
};

} // namespace secateur
