#pragma once

#include "analysis/metrics/measure.h"
#include "analysis/metrics/metric.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/jobs/mailbox.h"

#include <QObject>
#include <QString>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace secateur {

class Document;
struct NamedMask;
struct Session;

enum class MetricState {
    notComputed,
    computing,
    done,
    stale, ///< measured under a mask other than the current one
};

/// Measurements of an open model: those that its session holds, and those that are being computed. Views ask for them
/// by key, as parseResultKey() reads it. GUI thread.
class Measurements : public QObject {
    Q_OBJECT

public:
    /// @param session the document's, which takes up what is measured
    Measurements(Document* document, Session& session, JobRunner* jobs);

    /// Measures on a background job; layers appear as they are estimated and again as they are done. Leaves out what is
    /// being computed already.
    void measure(const std::vector<MetricRequest>& requests);
    /// The calibration text of metrics that run the model. Its mask is not set: it is the current one or none.
    const MeasureChoice& measureChoice() const { return m_choice; }
    /// Whether they are measured under the mask that is current when the job starts.
    bool measuresMasked() const { return m_measuresMasked; }
    void chooseMeasuring(MeasureChoice choice, bool masked);
    /// Deletes a measurement of the session. @param key not of the reference
    void forget(const std::string& key);

    MetricState state(const std::string& key) const;
    /// The measurement that a key means, partial while it is being computed, with standard errors for as long as some
    /// of its layers are estimates; null when there is none. Valid until the next signal of this object.
    const MetricResult* result(const std::string& key) const;
    /// What distinguishes a measurement from others of its metric; empty = there are none.
    std::string label(const std::string& key) const;
    /// A copy of the measurement with its label. @param key of a measurement that exists
    MetricResult labelled(const std::string& key) const;
    /// Whether it was measured under a mask other than the current one. Weight metrics are never stale.
    bool isStale(const MetricResult& result) const;
    /// The keys of all measurements of a result but the latest, in the order they were made, the reference's last.
    std::vector<std::string> otherKeys(const std::string& resultId) const;
    /// Measured or being measured, in the order of the metric table, then of their options.
    std::vector<std::string> resultIds() const;

    // For the document.
    /// Cancels all measuring, before another model is open.
    void abandon();
    /// Takes the choice that the open session keeps.
    void restoreChoice();
    /// Every metric may have other measurements now.
    void tellAllChanged();

signals:
    void resultChanged(const QString& resultId);
    void stateChanged(const QString& resultId);
    /// The set of stale results has changed.
    void staleChanged();
    void measuringChosen();
    /// Measuring of these has started.
    void measuringBegun(const std::vector<MetricRequest>& requests);

private:
    /// Values of one layer, from the worker.
    struct LayerValues {
        std::vector<double> values;
        std::vector<double> errors; ///< standard errors where they are estimates; else empty
    };
    using Arrived = std::map<std::pair<std::size_t, int>, LayerValues>; ///< by request and layer
    struct Running {
        std::vector<MetricRequest> requests;
        std::shared_ptr<Mailbox<Arrived>> arrived;
    };
    /// A result from its first layer to its last.
    struct Partial {
        MetricResult result;
        std::set<int> estimates; ///< layers
    };

    JobRunner::Id start(const Running& running);
    void takeLayers(const Running& running);
    void takeLayer(const MetricRequest& request, int layer, const LayerValues& found);
    void takeResults(JobRunner::Id job, std::vector<MetricResult> results, const std::string& fingerprint,
                     const std::optional<NamedMask>& mask);
    /// Forgets a job that has ended.
    void end(JobRunner::Id job);
    const std::string& currentDigest() const;
    void lookForStale();
    void tellChanged(const std::string& resultId);

    Document* m_document;
    Session& m_session;
    std::map<JobRunner::Id, Running> m_running;
    std::map<std::string, Partial> m_partial; ///< by result id
    MeasureChoice m_choice;
    bool m_measuresMasked = false;
    std::set<std::string> m_stale;                                            ///< result ids
    mutable std::optional<std::string> m_digest;                              ///< of the current mask, once asked for
    mutable std::map<std::string, std::optional<MetricResult>> m_differences; ///< by key
    JobRunner* m_jobs;
};

} // namespace secateur
