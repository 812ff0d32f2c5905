#pragma once

#include "analysis/running/run_speed.h"
#include "analysis/training/training_forecast.h"
#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <optional>
#include <string>

class QTimer;

namespace secateur {

class Document;

/// The expected duration of a training run before it starts. Reads the data and times a layer of the model in the
/// background, once for each choice of data and for each model. Lives on the GUI thread.
class RecoveryForecast : public QObject {
    Q_OBJECT

public:
    RecoveryForecast(Document* document, JobRunner* jobs, QObject* parent = nullptr);

    /// Measures what the forecast for these settings and this data needs, unless it is known.
    void ask(const TrainingSettings& settings, const std::string& data);
    /// The forecast for settings under the current mask; empty while the data was not read or the model not timed.
    std::optional<TrainingForecast> of(const TrainingSettings& settings, const std::string& data) const;
    /// Why the data that was asked for last cannot be trained on; empty if it can, or is not known.
    const QString& failure() const { return m_failure; }

signals:
    void changed();

private:
    /// The choice on which the size of the data depends.
    struct Data {
        std::string path;
        int length = 0;
        bool operator==(const Data&) const = default;
    };
    struct Found {
        std::optional<TrainingSize> size;
        std::optional<RunSpeed> speed;
        QString failure;
    };

    void measure();
    void take(const Data& data, const Found& found);
    void forget();

    Document* m_document;
    JobRunner* m_jobs;
    JobRunner::Id m_job = 0; ///< 0 = none
    QTimer* m_pause;         ///< before the data is read, because another change may follow
    Data m_asked;
    Data m_known; ///< the data of m_size, or of m_failure
    std::optional<TrainingSize> m_size;
    std::optional<RunSpeed> m_speed;
    QString m_failure;
};

} // namespace secateur
