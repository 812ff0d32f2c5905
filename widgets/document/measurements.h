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

/// Measurements of the open model: those in its session, and those that are being computed. Views request a measurement
/// by its key (see parseResultKey()). Lives on the GUI thread.
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
    /// The calibration text and its settings, for metrics that run the model. Its member `mask` is not set; see
    /// measuresMasked().
    const MeasureChoice& measureChoice() const { return m_choice; }
    /// Whether metrics that run the model run it under the mask that is current when the job starts.
    bool measuresMasked() const { return m_measuresMasked; }
    void chooseMeasuring(MeasureChoice choice, bool masked);
    /// Removes a measurement from the session. @param key must not be a key of the reference
    void forget(const std::string& key);

    MetricState state(const std::string& key) const;
    /// The measurement with this key; null if there is none. While it is being computed, it is incomplete, and it has
    /// standard errors while some layers are estimates. The pointer is valid until the next signal of this object.
    const MetricResult* result(const std::string& key) const;
    /// The conditions (text, mask and so on) that distinguish a measurement from others of its metric; empty if there
    /// are no others.
    std::string label(const std::string& key) const;
    /// A copy of a measurement with its label() set. @param key of an existing measurement
    MetricResult labelled(const std::string& key) const;
    /// Whether a result was measured under a mask other than the current one. Weight metrics are never stale.
    bool isStale(const MetricResult& result) const;
    /// The keys of all measurements of a result except the latest and those on parts of a text, in the order in which they
    /// were made. Keys of the reference come last.
    std::vector<std::string> otherKeys(const std::string& resultId) const;
    /// Requests of all results that are measured or being measured, in the order of the metric table, then by options;
    /// unknown metrics last.
    std::vector<MetricRequest> requests() const;
    /// The ids of requests().
    std::vector<std::string> resultIds() const;

    // For the document only.
    /// Cancels all running measurements, because another model is opened.
    void abandon();
    /// Restores measureChoice() from the open session.
    void restoreChoice();
    /// Emits the signals of a changed measurement for all metrics.
    void tellAllChanged();

signals:
    void resultChanged(const QString& resultId);
    void stateChanged(const QString& resultId);
    /// Emitted when the set of stale results changed.
    void staleChanged();
    void measuringChosen();
    /// Emitted when measuring of these metrics has started.
    void measuringBegun(const std::vector<MetricRequest>& requests);

private:
    /// Values of one layer, as the job delivers them.
    struct LayerValues {
        std::vector<double> values;
        std::vector<double> errors; ///< standard errors if the values are estimates; otherwise empty
    };
    using Arrived = std::map<std::pair<std::size_t, int>, LayerValues>; ///< key: index of the request, layer
    struct Running {
        std::vector<MetricRequest> requests;
        std::shared_ptr<Mailbox<Arrived>> arrived;
    };
    /// A result whose values are not complete yet.
    struct Partial {
        MetricResult result;
        std::set<int> estimates; ///< layers whose values are estimates
    };

    JobRunner::Id start(const Running& running);
    void takeLayers(const Running& running);
    void takeLayer(const MetricRequest& request, int layer, const LayerValues& found);
    void takeResults(JobRunner::Id job, std::vector<MetricResult> results, const std::string& fingerprint,
                     const std::optional<NamedMask>& mask);
    /// Removes a job that has ended from the running ones.
    void end(JobRunner::Id job);
    const std::string& currentDigest() const;
    void lookForStale();
    void tellChanged(const std::string& resultId);

    Document* m_document;
    Session& m_session;
    std::map<JobRunner::Id, Running> m_running;
    std::map<std::string, Partial> m_partial; ///< incomplete results by result id
    MeasureChoice m_choice;
    bool m_measuresMasked = false;
    std::set<std::string> m_stale;                                            ///< ids of stale results
    mutable std::optional<std::string> m_digest;                              ///< of the current mask; empty = unknown
    mutable std::map<std::string, std::optional<MetricResult>> m_differences; ///< differences by key
    JobRunner* m_jobs;
};

} // namespace secateur
