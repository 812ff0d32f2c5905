#pragma once

#include "analysis/session/services.h"
#include "analysis/masks/mask_state.h"
#include "analysis/metrics/metric.h"
#include "analysis/masks/price.h"
#include "analysis/strategies/prune.h"
#include "analysis/session/session.h"
#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace secateur {

class Comparison;
class MaskEditor;

enum class MetricState {
    notComputed,
    computing,
    done,
    stale, ///< there, but of another mask than the current one
};

/// What is open: a session and, where the checkpoint could be found, its model. Changes on the GUI thread alone; jobs
/// get snapshots and bring values back.
class Document : public QObject {
    Q_OBJECT

public:
    Document(Services services, JobRunner* jobs, QObject* parent = nullptr);
    ~Document() override;

    const Services& services() const { return m_services; }
    /// Whether a path ends as files do that may hold a model.
    bool isModelFile(const QString& path) const;
    bool isOpen() const { return m_open; }
    const Session& session() const { return m_session; }
    const ModelSpec& spec() const { return m_session.model.spec; }
    /// Null when the session stands without its checkpoint.
    const std::shared_ptr<const Model>& model() const { return m_model; }
    /// The masks of what is open, and their undo; begun anew with each opening.
    MaskEditor* masks() const { return m_masks; }
    /// Which measurement stands beside which in every view.
    Comparison* comparison() const { return m_comparison; }
    /// What everything in the open model costs; null while nothing is open.
    const PriceList* prices() const { return m_prices ? &*m_prices : nullptr; }
    /// Where the session was read from or saved to; empty = never.
    const QString& sessionPath() const { return m_sessionPath; }
    /// Whether there is something to lose: a session that differs from its file, or masks that have none. What a
    /// freshly opened model shows is cheap to make again.
    bool isModified() const { return m_modified; }
    bool isOpening() const { return m_opening != 0; }
    bool isSaving() const { return !m_saving.empty(); }

    /// A model or a session; what is open stays until the new one is read. Then a model's weight metrics start by
    /// themselves. A second call abandons the first.
    void open(const QString& path);
    /// Looks for an open session's checkpoint at another place; it must have the session's fingerprint.
    void locateModel(const QString& path);
    void saveSession(const QString& path);
    /// Measures on a background job; layers appear as they are estimated and again as they are done. Leaves out what is
    /// being computed already.
    void measure(const std::vector<MetricRequest>& requests);
    /// What metrics that run the model are measured on: its mask is absent, for that is the current one or none.
    const MeasureChoice& measureChoice() const { return m_choice; }
    /// Whether they are measured under the mask that is current when they begin.
    bool measuresMasked() const { return m_measuresMasked; }
    void chooseMeasuring(MeasureChoice choice, bool masked);
    /// Takes a measurement away. @param key of one that the session holds, not the reference
    void forget(const std::string& key);
    /// What the results are compared with; null = nothing.
    void setReference(std::shared_ptr<const Session> reference);
    /// Keeps what was measured of a mask, and the mask itself.
    void addEvaluation(Evaluation evaluation, const MaskRecord& record);
    /// Keeps what masks are predicted from.
    void setPrediction(std::shared_ptr<const PredictionBasis> basis);
    /// Adds a mask file to the masks, and edits it. A file that is none, or for another model, is said in failed().
    void openMask(const QString& path);
    /// The current mask, as a file for scripts and other people.
    void saveMask(const QString& path);
    /// Runs a strategy that measures again after each step, on what is chosen to measure on, in the background. Its
    /// mask becomes the current one, or one of its own where the current one is another by then.
    /// @param request whose base is the current mask @param action for the person
    void pruneGreedily(const PruneRequest& request, const QString& action);
    /// Writes a checkpoint of what the current mask leaves.
    void exportMasked(const QString& path);
    /// Makes the mask that a row of evaluations ran under the current one: where the masks have it under a name, that.
    void restoreMask(const EvaluatedMask& mask);
    /// Opens what was autosaved of an earlier run, with its session behind it, as changes that are not saved.
    /// @param session the file that was open; empty = none
    void recover(const QString& autosaved, const QString& session);
    /// Masks and evaluations as they are now, without what measuring gives again.
    Session unsaved() const;
    void setView(const std::string& name, const std::string& value) { m_session.view[name] = value; }

    /// @param key as parseResultKey() reads it
    MetricState state(const std::string& key) const;
    /// The measurement that a key means, partial while it is being computed, with standard errors for as long as some
    /// of its layers are estimates; null when there is none. Valid until the next signal of this object.
    const MetricResult* result(const std::string& key) const;
    /// What tells a measurement from others of its metric; empty = there are none.
    std::string label(const std::string& key) const;
    /// The measurement with a label that tells it from others of its metric. @param key of one that is there
    MetricResult labelled(const std::string& key) const;
    /// Whether it was measured under another mask than the current one. Metrics of weights never were.
    bool isStale(const MetricResult& result) const;
    /// The keys of all measurements of a result but the latest, in the order they were made, the reference's last.
    std::vector<std::string> otherKeys(const std::string& resultId) const;
    /// All that are there or on their way: the metric table's order, then their options.
    std::vector<std::string> resultIds() const;

signals:
    /// Another model or session is open now.
    void opened();
    /// The open session has its checkpoint now.
    void modelLocated();
    void resultChanged(const QString& resultId);
    void stateChanged(const QString& resultId);
    /// Other results than before are stale now.
    void staleChanged();
    void measuringChosen();
    /// Something is being measured that was not before.
    void measuringBegun(const std::vector<MetricRequest>& requests);
    void evaluationsChanged();
    void sessionPathChanged();
    void saved(const QString& path);
    void maskSaved(const QString& path);
    void maskOpened(const QString& path);
    /// What recover() was asked for is open now.
    void recovered(const QString& autosaved);
    /// @param sentence what was written, and how well it agrees
    void exported(const QString& sentence);
    void modifiedChanged();
    /// Something the person asked for did not work; what was open is unharmed.
    void failed(const QString& message);
    /// Worth knowing, not a failure.
    void noticed(const QString& message);

private:
    struct Opened;
    struct Incoming;
    struct Measuring {
        std::vector<MetricRequest> requests;
        std::shared_ptr<Incoming> incoming;
    };

    static Opened readSession(const Services& services, const std::string& path, const Progress& progress);
    void adopt(Opened opened);
    void takeLayers(const Measuring& measuring);
    void takeResults(JobRunner::Id job, std::vector<MetricResult> results, const std::string& fingerprint,
                     const std::optional<NamedMask>& mask);
    const std::string& currentDigest() const;
    void lookForStale();
    void restoreMeasuring();
    void tellResultChanged(const std::string& resultId);
    /// Forgets a job that brought nothing, or nothing more.
    void end(JobRunner::Id job);
    void onProgressed(quint64 job);
    void onFinished(quint64 job);
    void onCancelled(quint64 job);
    void onFailed(quint64 job, const QString& message);
    void adoptMasks();
    void takePruned(const PruneRequest& request, const std::string& base, const QString& action,
                    const PruneResult& result);
    /// The session with the masks as they are now.
    Session snapshot() const;
    void setSessionPath(const QString& path);
    /// Something is different that is worth saving.
    void noteChange();
    void setModified(bool modified);

    Services m_services;
    JobRunner* m_jobs;
    MaskEditor* m_masks;
    Comparison* m_comparison;
    Session m_session;
    std::shared_ptr<const Model> m_model;
    std::optional<PriceList> m_prices;
    QString m_sessionPath;
    bool m_open = false;
    bool m_modified = false;
    quint64 m_revision = 0;   ///< counts changes worth saving
    quint64 m_generation = 0; ///< counts openings
    JobRunner::Id m_opening = 0;
    std::map<JobRunner::Id, Measuring> m_measuring;
    std::map<std::string, MetricResult> m_partial; ///< by result id, from its first layer to its last
    std::map<JobRunner::Id, QString> m_saving;     ///< to which file
    MeasureChoice m_choice;
    bool m_measuresMasked = false;
    std::set<std::string> m_stale;                                            ///< result ids
    mutable std::optional<std::string> m_digest;                              ///< of the current mask, once asked for
    mutable std::map<std::string, std::optional<MetricResult>> m_differences; ///< by key
    std::set<JobRunner::Id> m_smallJobs;                                      ///< whose failures are said, and no more
};

} // namespace secateur
