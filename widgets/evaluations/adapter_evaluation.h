#pragma once

#include "analysis/session/services.h"
#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace secateur {

class Document;
class LiveEvaluation;

/// Evaluates the open model with an adapter in the background, on the text and by the rules of LiveEvaluation; an
/// encoder on the tasks of ExtraEvaluation. The result becomes an evaluation of the session, compared with the dense
/// model without the adapter. Lives on the GUI thread.
class AdapterEvaluation : public QObject {
    Q_OBJECT

public:
    AdapterEvaluation(Document* document, JobRunner* jobs, LiveEvaluation* live, QObject* parent = nullptr);

    /// Whether a decoder is open, or an encoder with a chosen task.
    bool isPossible() const;
    bool isBusy() const { return m_job != 0; }
    /// The name of what is evaluated, or was last: "two heads + adapter".
    const QString& name() const { return m_name; }

    /// Evaluates the adapter of a folder, under the mask beside it; without one, under the current mask.
    void evaluateFolder(const QString& folder);
    /// Evaluates the best adapter of a training run, under its mask. @param key TrainingRun::key
    void evaluateRun(const RecoveryRequest& request, const std::string& key, const QString& maskName);
    /// Ends the evaluation that runs. Nothing of it is kept.
    void cancel();

signals:
    void changed();

private:
    using Open = std::function<OpenedAdapter(const std::shared_ptr<const Model>&)>;

    /// @param mask for an adapter without one
    void start(const QString& name, const Open& open, const MaskRecord& mask);
    void keep(const std::optional<Evaluation>& dense, Evaluation run, MaskRecord mask,
              const std::vector<std::string>& warnings);
    void end(quint64 job);

    Document* m_document;
    JobRunner* m_jobs;
    LiveEvaluation* m_live;
    JobRunner::Id m_job = 0; ///< 0 = none
    QString m_name;
};

} // namespace secateur
