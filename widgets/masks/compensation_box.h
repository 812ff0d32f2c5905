#pragma once

#include "analysis/compensation/compensation_mode.h"
#include "analysis/masks/pruning_mask.h"
#include "widgets/jobs/job_runner.h"

#include <QWidget>

#include <cstddef>
#include <optional>

class QComboBox;
class QProgressBar;
class QPushButton;

namespace secateur {

class Document;
class LiveEvaluation;
class StillLabel;
struct FittedMask;

/// The compensation of the current mask: which it has, a choice of another, what fitting it costs, and what it gained.
/// The fit runs in the background on the calibration text.
class CompensationBox : public QWidget {
    Q_OBJECT

public:
    CompensationBox(Document* document, JobRunner* jobs, LiveEvaluation* live, QWidget* parent = nullptr);

protected:
    void showEvent(QShowEvent* event) override;

private:
    /// The last fit, shown while its mask is the current one.
    struct Gain {
        PruningMask mask;
        std::size_t parts = 0;  ///< number of fitted projections
        double errorBefore = 0; ///< mean over the projections
        double errorAfter = 0;
    };

    void build();
    void listModes();
    void connectJobs(JobRunner* jobs);
    CompensationMode mode() const;
    bool isRunning() const { return m_job != 0; }
    void changed();
    void refresh();
    bool canStart() const;
    void startOrCancel();
    void keepLossBefore();
    void take(quint64 job, const FittedMask& fit);
    void end(quint64 job);
    QString costText() const;
    bool scoresFittedText() const;
    QString gainText() const;

    Document* m_document;
    JobRunner* m_jobs;
    LiveEvaluation* m_live;
    QComboBox* m_mode;
    StillLabel* m_present;
    StillLabel* m_effect; ///< the cost; while it runs the progress; then the gain
    QProgressBar* m_progress;
    QPushButton* m_start;
    bool m_isWanted = false; ///< whether the user edited a mask or used this box since a model or session was opened
    JobRunner::Id m_job = 0; ///< that fits; 0 = none
    PruningMask m_before;    ///< the mask that is fitted, or was fitted last
    std::optional<double> m_lossBefore;
    std::optional<Gain> m_gain;
};

} // namespace secateur
