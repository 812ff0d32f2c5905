#pragma once

#include "analysis/masks/price.h"
#include "analysis/masks/protection.h"
#include "analysis/session/services.h"
#include "analysis/session/session.h"
#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace secateur {

class Calibration;
class Comparison;
class DocumentFiles;
class MaskEditor;
class MaskJobs;
class Measurements;

/// The open session and, if the checkpoint was found, its model. The document holds the values. Its parts (files(),
/// measurements(), masks() and so on) change them. Changes happen only on the GUI thread; jobs get copies of values and
/// return results.
class Document : public QObject {
    Q_OBJECT

public:
    /// The result of a job that opens a model or a session.
    struct Opened {
        Session session;
        std::shared_ptr<const Model> model; ///< null if the checkpoint was not found
        QString sessionPath;                ///< path of the session file; empty = not from a file
        QString notice;                     ///< message to the user; empty = none
    };

    Document(Services services, JobRunner* jobs, QObject* parent = nullptr);
    ~Document() override;

    const Services& services() const { return m_services; }
    bool isOpen() const { return m_prices.has_value(); }
    const Session& session() const { return m_session; }
    const ModelSpec& spec() const { return m_session.model.spec; }
    /// The model; null if the session's checkpoint was not found.
    const std::shared_ptr<const Model>& model() const { return m_model; }
    /// Computes what masks of the open model save (parameters, FLOPs, memory); null while nothing is open.
    const PriceList* prices() const { return m_prices ? &*m_prices : nullptr; }
    /// The file from which the session was read, or to which it was saved last; empty = none.
    const QString& sessionPath() const { return m_sessionPath; }
    /// Whether closing would lose changes since the session was opened or saved, as reported by noteChange(). The
    /// weight metrics that are measured when a model is opened do not count as changes.
    bool isModified() const { return m_modified; }

    // The parts.
    DocumentFiles* files() const { return m_files; }
    Measurements* measurements() const { return m_measurements; }
    /// The masks and their undo steps. Opening a model or session replaces both.
    MaskEditor* masks() const { return m_masks; }
    MaskJobs* maskJobs() const { return m_maskJobs; }
    /// The calibration text of Measurements, for forecasts of the cost of work on it.
    Calibration* calibration() const { return m_calibration; }
    /// The choice of measurements that all views compare.
    Comparison* comparison() const { return m_comparison; }

    /// Adds an evaluation to the session, and the evaluated mask if the session does not have it.
    void addEvaluation(Evaluation evaluation, const MaskRecord& record);
    /// Adds what a sweep found: masks, measurements, evaluations of the dense model, and points of curves.
    void addSweepNews(const SweepNews& news);
    /// Adds all data of another session of the open model, except its view. @throws Error if it is of another model
    void joinSession(const Session& other);
    /// Adds the gradients from which the loss under a mask is predicted to the session.
    void setPrediction(std::shared_ptr<const PredictionBasis> basis);
    /// Sets the session with which results are compared; null = none.
    void setReference(std::shared_ptr<const Session> reference);
    /// Sets what supplies the view of a model that is opened without a session.
    using ViewRecall = std::function<std::map<std::string, std::string>(const ModelCard& model)>;
    void recallViewBy(ViewRecall recall) { m_recallView = std::move(recall); }
    void setView(const std::string& name, const std::string& value) { m_session.view[name] = value; }
    /// An entry of the session's view; empty = there is none.
    std::string storedView(const std::string& name) const;
    /// Makes the mask of an evaluation the current one: an equal mask of the list, or else a new one in the list.
    void restoreMask(const EvaluatedMask& mask);
    /// Compares the current mask with that of an evaluation, which is added to the list if the list lacks it.
    void compareWithMask(const EvaluatedMask& mask);
    /// Renames the mask of an evaluation, in the list too. The dense model has no name.
    void renameMask(const EvaluatedMask& mask, const QString& name);
    /// Removes evaluations from the session. @param places indices in Session::evaluations @returns the removed ones
    std::vector<Evaluation> removeEvaluations(std::vector<std::size_t> places);
    /// Adds removed evaluations again.
    void returnEvaluations(std::vector<Evaluation> evaluations);
    /// The digest of each mask in the list.
    std::vector<std::string> listedDigests() const;
    /// A copy of the session with the current masks.
    Session snapshot() const;
    /// Like snapshot(), but without metric results, which can be measured again.
    Session unsaved() const;

    // For the parts.
    /// Replaces the open session and model, and cancels the jobs of the old ones. A model without a session is measured
    /// at once.
    void adopt(Opened opened);
    /// Sets the model of the open session when its checkpoint was found. @param path of the checkpoint
    void setModel(std::shared_ptr<const Model> model, const std::string& path);
    /// Notes that the session was written to a file. @param revision revision() of the written session
    void setSaved(const QString& path, const std::string& fingerprint, quint64 revision);
    /// Notes a change that should be saved.
    void noteChange();
    /// A number that increases with each call of noteChange().
    quint64 revision() const { return m_revision; }
    /// Number of models and sessions opened so far. Results of jobs that were started for an earlier one are dropped.
    quint64 generation() const { return m_generation; }
    /// Starts a job; if it fails, failed() is emitted.
    JobRunner::Id start(const QString& title, JobRunner::Priority priority, JobRunner::Work work);

signals:
    /// Emitted while the model or session that will be replaced is still open.
    void aboutToReplace();
    /// Emitted when another model or session was opened.
    void opened();
    /// Emitted when the open session's checkpoint was found.
    void modelLocated();
    void evaluationsChanged();
    /// Points were added to the session's curves.
    void curvesChanged();
    void sessionPathChanged();
    void modifiedChanged();
    /// noteChange() was called.
    void changed();
    /// A request of the user failed; the open session is unchanged.
    void failed(const QString& message);
    /// Emitted with a notice for the user that is not a failure.
    void noticed(const QString& message);

private:
    void adoptMasks();
    /// Index in the list of the mask of an evaluation; nothing if the list lacks it.
    std::optional<std::size_t> listed(const EvaluatedMask& mask) const;
    Protection storedProtection();
    void setSessionPath(const QString& path);
    void setModified(bool modified);

    Services m_services;
    JobRunner* m_jobs;
    Session m_session;
    std::shared_ptr<const Model> m_model;
    std::optional<PriceList> m_prices;
    QString m_sessionPath;
    bool m_modified = false;
    quint64 m_revision = 0;
    quint64 m_generation = 0;
    std::set<JobRunner::Id> m_ownJobs;
    ViewRecall m_recallView;
    MaskEditor* m_masks;
    Measurements* m_measurements;
    DocumentFiles* m_files;
    MaskJobs* m_maskJobs;
    Calibration* m_calibration;
    Comparison* m_comparison;
    mutable std::map<std::shared_ptr<const MaskRecord>, std::string> m_digests; ///< of masks that are or were listed
};

} // namespace secateur
