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

/// Compares two measurements of each metric, A and B, in all views. The two may differ in the text or in the mask, or B
/// may belong to a reference, which is a session or another model. Lives on the GUI thread.
class Comparison : public QObject {
    Q_OBJECT

public:
    enum class Shown { a, b, both, difference };

    Comparison(Document* document, JobRunner* jobs);

    /// Whether two measurements are compared, that is, B is chosen.
    bool isOn() const { return !m_other.empty(); }
    /// The key of B's measurements (result_key.h); empty = none.
    const std::string& other() const { return m_other; }
    Shown shown() const { return m_shown; }
    /// Chooses B. @param other key of a measurement in the session, or referenceKey; empty = no comparison
    void compareWith(const std::string& other);
    void show(Shown shown);

    /// Opens a session or a model as the reference and compares with it. A reference model is measured with the same
    /// metrics as the open one.
    void openReference(const QString& path);
    void closeReference();
    /// The opened reference; null if there is none.
    const Session* reference() const;

    /// The key for views that show one result: that of A, of B or of their difference. A key that already names a
    /// measurement is returned unchanged.
    std::string keyOf(const std::string& resultId) const;
    /// The keys for views that show several results.
    std::vector<std::string> keysOf(const std::string& resultId) const;
    /// All keys that compareWith() accepts now, each with a description, in the order of the session.
    std::vector<std::pair<std::string, QString>> choices() const;
    /// The result that the view in front shows: A and B are described for it. @param resultId empty = none
    void setSubject(const std::string& resultId);
    /// Descriptions of A and B: of the subject's measurements, or if it was not measured twice, of the first result
    /// that was. Different results may have different measurements as A.
    QString nameOfA() const;
    QString nameOfB() const;

signals:
    /// Emitted when the results of keyOf() and keysOf() changed.
    void changed();
    /// nameOfA() and nameOfB() may have changed.
    void subjectChanged();
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
    /// The id of the result that nameOfA() and nameOfB() describe; empty if no result has both.
    std::string described() const;
    QString describe(const std::string& key) const;
    void onFailed(quint64 job, const QString& message);

    Document* m_document;
    JobRunner* m_jobs;
    std::string m_other;
    std::string m_subject;
    Shown m_shown = Shown::difference;
    std::shared_ptr<const Model> m_model;    ///< model of the reference
    std::map<JobRunner::Id, bool> m_running; ///< running jobs of this object; true = the job opens the reference
};

} // namespace secateur
