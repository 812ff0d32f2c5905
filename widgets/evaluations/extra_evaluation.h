#pragma once

#include "analysis/masks/pruning_mask.h"
#include "widgets/evaluations/extra_items.h"
#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <memory>
#include <optional>
#include <vector>

namespace secateur {

class Document;
class ExtraRunner;

/// Measures tasks, speed and a continued prompt under the current mask, once its loss is known: the dense model first
/// and once, then the mask, one short job after the other. What is done stays when the mask changes or work is stopped.
/// LiveEvaluation says when; lives on the GUI thread.
class ExtraEvaluation : public QObject {
    Q_OBJECT

public:
    enum class State {
        off,     ///< nothing is chosen, or there is no model to run
        waiting, ///< for the loss, or for being asked
        running,
        stopped, ///< by the person
        complete,
    };

    ExtraEvaluation(Document* document, JobRunner* jobs, ComputeType type, QObject* parent = nullptr);
    ~ExtraEvaluation() override;

    const ExtraChoice& choice() const { return m_choice; }
    State state() const { return m_state; }

    /// Of the current mask; null while it is not known.
    const ExtraResult* figure(const ExtraItem& item) const;
    const ExtraResult* denseFigure(const ExtraItem& item) const;
    /// Null until the model was timed and the item read.
    const ExtraForecast* forecast(const ExtraItem& item) const;
    /// The sentence for the person, where an item cannot be measured; else empty.
    QString problem(const ExtraItem& item) const;
    bool isRunning(const ExtraItem& item) const { return m_state == State::running && m_step.item == item; }
    /// For what is not known of the current mask yet; nothing while forecasts are not there.
    std::optional<double> secondsLeft() const;
    /// Of the item that runs, from 0 to 1.
    double fraction() const { return m_fraction; }

    // What LiveEvaluation calls.
    void choose(const ExtraChoice& choice);
    /// Another model is open, or none.
    void reset();
    /// Leaves off, as the mask changes or the text has to be scored first.
    void abandon();
    /// Goes on with the current mask.
    void begin();
    /// Keeps what is known, and runs no more.
    void stopHere();

public slots:
    /// Finds out what items would take, chosen or not, without running them.
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
        ExtraResult figure;
    };

    const ExtraResult* known(const ExtraItem& item, const PruningMask& mask) const;
    std::vector<Step> missing() const;
    bool isMeasured() const;
    void next();
    void start(const Step& step);
    void startPreparation(const Step& step);
    QString title(const Step& step) const;
    void take(const Step& step, const PruningMask& mask, ExtraResult figure);
    void keep(const ExtraResult& figure, const PruningMask& mask);
    void setState(State state);
    void onFailed(quint64 job, const QString& message);

    Document* m_document;
    JobRunner* m_jobs;
    ComputeType m_type;
    ExtraChoice m_choice;
    std::vector<ExtraItem> m_announced; ///< to be forecast though nobody chose them
    State m_state = State::off;
    bool m_isWanted = false; ///< whether what is chosen runs now
    std::shared_ptr<ExtraRunner> m_bench;
    JobRunner::Id m_job = 0;
    Step m_step;
    double m_fraction = 0;
    std::vector<Known> m_known;
    std::vector<Of<ExtraForecast>> m_forecasts;
    std::vector<Of<QString>> m_problems;
};

} // namespace secateur
