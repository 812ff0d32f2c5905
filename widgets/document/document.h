#pragma once

#include "analysis/masks/protection.h"
#include "analysis/masks/price.h"
#include "analysis/session/services.h"
#include "analysis/session/session.h"
#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <memory>
#include <optional>
#include <set>
#include <string>

namespace secateur {

class Comparison;
class DocumentFiles;
class MaskEditor;
class MaskJobs;
class Measurements;

/// What is open: a session and, where the checkpoint could be found, its model. Holds the values; its parts do the work
/// on them. Changes on the GUI thread alone; jobs get snapshots and bring values back.
class Document : public QObject {
    Q_OBJECT

public:
    /// What an opening brings back from the worker.
    struct Opened {
        Session session;
        std::shared_ptr<const Model> model; ///< null when the checkpoint was not found
        QString sessionPath;                ///< empty = not from a file
        QString notice;                     ///< for the person; empty = nothing to say
    };

    Document(Services services, JobRunner* jobs, QObject* parent = nullptr);
    ~Document() override;

    const Services& services() const { return m_services; }
    bool isOpen() const { return m_prices.has_value(); }
    const Session& session() const { return m_session; }
    const ModelSpec& spec() const { return m_session.model.spec; }
    /// Null when the session stands without its checkpoint.
    const std::shared_ptr<const Model>& model() const { return m_model; }
    /// Parameters and operations of everything in the open model; null while nothing is open.
    const PriceList* prices() const { return m_prices ? &*m_prices : nullptr; }
    /// Where the session was read from or saved to; empty = never.
    const QString& sessionPath() const { return m_sessionPath; }
    /// Whether closing would lose something: the session differs from its file, or there are masks without one. The
    /// first measurements of a model do not count.
    bool isModified() const { return m_modified; }

    // The parts.
    DocumentFiles* files() const { return m_files; }
    Measurements* measurements() const { return m_measurements; }
    /// The masks of what is open, and their undo; begun anew with each opening.
    MaskEditor* masks() const { return m_masks; }
    MaskJobs* maskJobs() const { return m_maskJobs; }
    /// Which measurements all views compare.
    Comparison* comparison() const { return m_comparison; }

    /// Keeps what was measured of a mask, and the mask itself.
    void addEvaluation(Evaluation evaluation, const MaskRecord& record);
    /// Keeps the values from which the loss of masks is predicted.
    void setPrediction(std::shared_ptr<const PredictionBasis> basis);
    /// The session that results are compared with; null = none.
    void setReference(std::shared_ptr<const Session> reference);
    void setView(const std::string& name, const std::string& value) { m_session.view[name] = value; }
    /// Makes the mask of an evaluation the current one. A mask of the list that is equal is chosen; otherwise it is
    /// added.
    void restoreMask(const EvaluatedMask& mask);
    /// The session with the masks as they are now.
    Session snapshot() const;
    /// The same without results, which measuring gives again.
    Session unsaved() const;

    // For the parts.
    /// Makes this what is open. A model that is not from a session is measured at once.
    void adopt(Opened opened);
    /// The open session's checkpoint was found. @param path where
    void setModel(std::shared_ptr<const Model> model, const std::string& path);
    /// The session lies in a file now. @param revision of what was written
    void setSaved(const QString& path, const std::string& fingerprint, quint64 revision);
    /// Something is different that is worth saving.
    void noteChange();
    /// Counts changes worth saving.
    quint64 revision() const { return m_revision; }
    /// Counts openings: what a job brings for another one is dropped.
    quint64 generation() const { return m_generation; }
    /// Starts a job whose failure is said in failed().
    JobRunner::Id start(const QString& title, JobRunner::Priority priority, JobRunner::Work work);

signals:
    /// Another model or session is open now.
    void opened();
    /// The open session has its checkpoint now.
    void modelLocated();
    void evaluationsChanged();
    void sessionPathChanged();
    void modifiedChanged();
    /// A request of the user failed; what is open is unchanged.
    void failed(const QString& message);
    /// A notice for the user; not a failure.
    void noticed(const QString& message);

private:
    void adoptMasks();
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
    MaskEditor* m_masks;
    Measurements* m_measurements;
    DocumentFiles* m_files;
    MaskJobs* m_maskJobs;
    Comparison* m_comparison;
};

} // namespace secateur
