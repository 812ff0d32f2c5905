#pragma once

#include "analysis/metrics/measure.h"
#include "analysis/running/run_speed.h"
#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <memory>
#include <optional>

namespace secateur {

class Document;

/// The calibration text that Measurements chooses and the model's speed, from which the cost of work on this text is
/// forecast. Both are read once for each model and choice. Lives on the GUI thread.
class Calibration : public QObject {
    Q_OBJECT

public:
    struct Known {
        MeasureChoice choice; ///< the chosen text, with a maximum number of tokens
        std::shared_ptr<const SequenceText> text;
        RunSpeed speed;
        double loadingSeconds = 0; ///< to load the weights of the dense model
    };

    Calibration(Document* document, JobRunner* jobs);

    /// Reads the text and times the model in the background. Does nothing if that is done, or without a model.
    void prepare();
    /// The text and the speed; null until they are known.
    const Known* known() const { return m_known ? &*m_known : nullptr; }
    /// Why the text cannot be read; empty = it can, or it was not tried.
    const QString& problem() const { return m_problem; }
    /// Expected seconds of forward passes of the dense model over the text. Must be known().
    double seconds(double passes) const;
    /// The known text: "8,192 tokens of the built-in text".
    QString description() const;

signals:
    /// known() or problem() changed.
    void changed();

private:
    void forget();
    JobRunner::Work reading();

    Document* m_document;
    JobRunner* m_jobs;
    JobRunner::Id m_job = 0; ///< that reads; 0 = none
    std::optional<Known> m_known;
    QString m_problem;
};

/// A number of tokens of a text: "8,192 tokens of the built-in text". @param source as MeasuredData::source
QString tokensText(std::int64_t tokens, const std::string& source);

} // namespace secateur
