#pragma once

#include "analysis/engine.h"
#include "analysis/metric.h"
#include "analysis/session.h"
#include "widgets/job_runner.h"

#include <QObject>
#include <QString>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace secateur {

class MaskEditor;

enum class MetricState { notComputed, computing, done };

/// What is open: a session and, where the checkpoint could be found, its model. Changes on the GUI thread alone; jobs
/// get snapshots and bring values back.
class Document : public QObject {
    Q_OBJECT

public:
    Document(Engine engine, JobRunner* jobs, QObject* parent = nullptr);
    ~Document() override;

    const Engine& engine() const { return m_engine; }
    /// Whether a path ends as files do that may hold a model.
    bool isModelFile(const QString& path) const;
    bool isOpen() const { return m_open; }
    const Session& session() const { return m_session; }
    const ModelSpec& spec() const { return m_session.model.spec; }
    /// Null when the session stands without its checkpoint.
    const std::shared_ptr<const Model>& model() const { return m_model; }
    /// The masks of what is open, and their undo; begun anew with each opening.
    MaskEditor* masks() const { return m_masks; }
    /// Where the session was read from or saved to; empty = never.
    const QString& sessionPath() const { return m_sessionPath; }
    /// Whether a session that has a file differs from it. What a freshly opened model shows is cheap to make again.
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
    void setView(const std::string& name, const std::string& value) { m_session.view[name] = value; }

    MetricState state(const std::string& resultId) const;
    /// The latest measurement, partial while it is being computed, with standard errors for as long as some of its
    /// layers are estimates; null when there is none.
    const MetricResult* result(const std::string& resultId) const;
    /// All that are there or on their way: the metric table's order, then their options.
    std::vector<std::string> resultIds() const;

signals:
    /// Another model or session is open now.
    void opened();
    /// The open session has its checkpoint now.
    void modelLocated();
    void resultChanged(const QString& resultId);
    void stateChanged(const QString& resultId);
    void sessionPathChanged();
    void saved(const QString& path);
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

    static Opened readSession(const Engine& engine, const std::string& path, const Progress& progress);
    void adopt(Opened opened);
    void takeLayers(const Measuring& measuring);
    void takeResults(JobRunner::Id job, std::vector<MetricResult> results, const std::string& fingerprint);
    /// Forgets a job that brought nothing, or nothing more.
    void end(JobRunner::Id job);
    void onProgressed(quint64 job);
    void onFinished(quint64 job);
    void onCancelled(quint64 job);
    void onFailed(quint64 job, const QString& message);
    void setSessionPath(const QString& path);
    void setModified(bool modified);

    Engine m_engine;
    JobRunner* m_jobs;
    MaskEditor* m_masks;
    Session m_session;
    std::shared_ptr<const Model> m_model;
    QString m_sessionPath;
    bool m_open = false;
    bool m_modified = false;
    quint64 m_revision = 0;   ///< counts changes worth saving
    quint64 m_generation = 0; ///< counts openings
    JobRunner::Id m_opening = 0;
    std::map<JobRunner::Id, Measuring> m_measuring;
    std::map<std::string, MetricResult> m_partial; ///< by result id, from its first layer to its last
    std::map<JobRunner::Id, QString> m_saving;     ///< to which file
    std::set<JobRunner::Id> m_locating;
};

} // namespace secateur
