#pragma once

#include "widgets/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

class Document;
class Model;
struct MetricRequest;
struct MetricResult;
struct Session;

/// Compares two measurements of every metric, A and B, in all views: on two texts, before and after a cut, or of the
/// open model and a reference, which is a session or another model. Lives on the GUI thread.
class Comparison : public QObject {
    Q_OBJECT

public:
    enum class Shown { a, b, both, difference };

    Comparison(Document* document, JobRunner* jobs);

    /// Whether there is a B.
    bool isOn() const { return !m_other.empty(); }
    /// The key of B's measurements (result_key.h); empty = none.
    const std::string& other() const { return m_other; }
    Shown shown() const { return m_shown; }
    /// @param other a key that some result of the session has, or the reference's; empty = no comparison
    void compareWith(const std::string& other);
    void show(Shown shown);

    /// Opens a session or a model and compares with it. A model's metrics are measured as the open one's are.
    void openReference(const QString& path);
    void closeReference();
    /// Null when there is none.
    const Session* reference() const;

    /// The key that views with one result show: A's, B's or their difference. The key of a single measurement is
    /// returned unchanged.
    std::string keyOf(const std::string& resultId) const;
    /// The same for views with several results.
    std::vector<std::string> keysOf(const std::string& resultId) const;
    /// Possible values of other(), with a description of each measurement, in the order of the session.
    std::vector<std::pair<std::string, QString>> choices() const;
    /// Descriptions of A and B.
    QString nameOfA() const;
    QString nameOfB() const;

signals:
    /// keyOf() and keysOf() return other keys now.
    void changed();
    /// A request failed; the comparison is unchanged.
    void failed(const QString& message);

private:
    struct Opened {
        std::shared_ptr<const Session> session;
        std::shared_ptr<const Model> model;
    };

    QString referenceName() const;
    /// The key of the result's latest measurement other than B; empty if there is no other.
    std::string keyOfA(const std::string& resultId) const;
    void adopt(Opened opened);
    void measure(const std::vector<MetricRequest>& requests);
    void takeResults(std::vector<MetricResult> results);
    void clear();
    void onFailed(quint64 job, const QString& message);

    Document* m_document;
    JobRunner* m_jobs;
    std::string m_other;
    Shown m_shown = Shown::difference;
    std::shared_ptr<const Model> m_model;    ///< the reference's
    std::map<JobRunner::Id, bool> m_running; ///< whether it opens the reference
};

} // namespace secateur
