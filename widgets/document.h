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

namespace secateur {

enum class MetricState { notComputed, computing, done };

/// What is open: a session and, where the checkpoint could be found, its model. Changes on the GUI thread alone; jobs
/// get snapshots and bring values back.
class Document : public QObject {
    Q_OBJECT

public:
    Document(Engine engine, JobRunner* jobs, QObject* parent = nullptr);

    bool isOpen() const { return m_open; }
    const Session& session() const { return m_session; }
    const ModelSpec& spec() const { return m_session.model.spec; }
    /// Null when the session stands without its checkpoint.
    const std::shared_ptr<const Model>& model() const { return m_model; }
    /// Where the session was read from or saved to; empty = never.
    const QString& sessionPath() const { return m_sessionPath; }
    bool isModified() const { return m_modified; }

    /// A model or a session; what is open stays until the new one is read. Then the weight metrics start by themselves.
    void open(const QString& path);
    void saveSession(const QString& path);
    /// Measures on a background job; layers appear as they are done.
    void measure(const std::vector<MetricRequest>& requests);
    void setView(const std::string& name, const std::string& value);

    MetricState state(const std::string& resultId) const;
    /// The latest measurement, partial while it is being computed; null when there is none.
    const MetricResult* result(const std::string& resultId) const;

signals:
    /// Another model or session is open now (or none).
    void opened();
    void resultChanged(const QString& resultId);
    void stateChanged(const QString& resultId);
    void sessionPathChanged();
    void modifiedChanged();
    /// Something the person asked for did not work; what was open is unharmed.
    void failed(const QString& message);
    /// Worth knowing, not a failure.
    void noticed(const QString& message);

private:
    void adopt(Session session, std::shared_ptr<const Model> model, const QString& sessionPath);
    void setModified(bool modified);

    Engine m_engine;
    JobRunner* m_jobs;
    Session m_session;
    std::shared_ptr<const Model> m_model;
    std::map<std::string, MetricResult> m_partial; ///< by result id, while computing
    QString m_sessionPath;
    bool m_open = false;
    bool m_modified = false;
    quint64 m_generation = 0; ///< counts openings: results of an earlier one are dropped
};

} // namespace secateur
