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

/// Measurements of the open model: those in its session, and those that are being computed. Views request them by key,
/// in the form that parseResultKey() reads. Lives on the GUI thread.
class Measurements : public QObject {
    Q_OBJECT

public:
    /// @param session of the document, to which new measurements are added
    Measurements(Document* document, Session& session, JobRunner* jobs);

    /// Whether this version can measure a request. A session of another version may hold metrics and options that are
    /// unknown here; they can be looked at only.
    static bool canMeasure(const MetricRequest& request);
    /// Measures metrics in a background job. Values of a layer appear when it is estimated, and again when it is done.
    /// Leaves out metrics that are being computed already.
    void measure(const std::vector<MetricRequest>& requests);
    /// The calibration text of metrics that run the model. MeasureChoice::mask is not set; see measuresMasked().
    const MeasureChoice& measureChoice() const { return m_choice; }
    /// Whether metrics that run the model are measured under the mask that is current when the job starts.
    bool measuresMasked() const { return m_measuresMasked; }
    void chooseMeasuring(MeasureChoice choice, bool masked);
    /// Removes a measurement from the session. @param key not one of the reference
    void forget(const std::string& key);

    MetricState state(const std::string& key) const;
    /// The measurement that a key names; null if there is none. While it is being computed, it is partial, and has
    /// standard errors as long as some layers are estimates. Valid until the next signal of this object.
    const MetricResult* result(const std::string& key) const;
    /// The conditions that distinguish a measurement from others of its metric; empty if there are no others.
    std::string label(const std::string& key) const;
    /// A copy of a measurement with its label. @param key of an existing measurement
    MetricResult labelled(const std::string& key) const;
    /// Whether a result was measured under another mask than the current one. Weight metrics are never stale.
    bool isStale(const MetricResult& result) const;
    /// The keys of all measurements of a result but the latest: in the order they were made, then those of the
    /// reference.
    std::vector<std::string> otherKeys(const std::string& resultId) const;
    /// Requests of all results that are measured or being measured, in the order of the metric table, then by options;
    /// unknown metrics last.
    std::vector<MetricRequest> requests() const;
    /// The ids of requests().
    std::vector<std::string> resultIds() const;

    // For the document.
    /// Cancels all measuring, before another model is opened.
    void abandon();
    /// Restores measureChoice() from the open session.
    void restoreChoice();
    /// Emits signals for all metrics, whose measurements may all have changed.
    void tellAllChanged();

signals:
    void resultChanged(const QString& resultId);
    void stateChanged(const QString& resultId);
    /// The set of stale results has changed.
    void staleChanged();
    void measuringChosen();
    /// Measuring of these metrics started.
    void measuringBegun(const std::vector<MetricRequest>& requests);

private:
    /// Values of one layer, from the worker.
    struct LayerValues {
        std::vector<double> values;
        std::vector<double> errors; ///< standard errors if the values are estimates; else empty
    };
    using Arrived = std::map<std::pair<std::size_t, int>, LayerValues>; ///< by request and layer
    struct Running {
        std::vector<MetricRequest> requests;
        std::shared_ptr<Mailbox<Arrived>> arrived;
    };
    /// A result that is not complete.
    struct Partial {
        MetricResult result;
        std::set<int> estimates; ///< layers whose values are estimates
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
    std::set<std::string> m_stale;                                            ///< ids of stale results
    mutable std::optional<std::string> m_digest;                              ///< of the current mask, if computed
    mutable std::map<std::string, std::optional<MetricResult>> m_differences; ///< by key
    JobRunner* m_jobs;
};

} // namespace secateur
