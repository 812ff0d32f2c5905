#include "widgets/document/comparison.h"

#include "analysis/base/text.h"
#include "analysis/session/result_key.h"
#include "widgets/document/document.h"
#include "widgets/document/measurements.h"

#include <QFileInfo>

#include <algorithm>
#include <utility>

namespace secateur {

Comparison::Comparison(Document* document, JobRunner* jobs)
    : QObject(document)
    , m_document(document)
    , m_jobs(jobs) {
    connect(document, &Document::opened, this, &Comparison::clear);
    connect(document->measurements(), &Measurements::measuringBegun, this, &Comparison::measure);
    connect(jobs, &JobRunner::finished, this, [this](quint64 job) { m_running.erase(job); });
    connect(jobs, &JobRunner::cancelled, this, [this](quint64 job) { m_running.erase(job); });
    connect(jobs, &JobRunner::failed, this, &Comparison::onFailed);
}

void Comparison::clear() {
    for (const auto& [job, isOpening] : std::exchange(m_running, {}))
        m_jobs->cancel(job);
    m_model.reset();
    m_other.clear();
    emit changed();
}

void Comparison::compareWith(const std::string& other) {
    m_other = other;
    emit changed();
}

void Comparison::show(Shown shown) {
    m_shown = shown;
    emit changed();
}

const Session* Comparison::reference() const {
    return m_document->session().reference.get();
}

void Comparison::openReference(const QString& path) {
    const auto work = [this, file = path.toStdString(), &services = m_document->services()](const Progress& progress) {
        Opened opened;
        Session session;
        if (services.isSession(file)) {
            session = services.readSession(file);
        } else {
            opened.model = services.openModel(file, progress);
            session.model = opened.model->card();
        }
        opened.session = std::make_shared<const Session>(std::move(session));
        return [this, opened = std::move(opened)]() mutable { adopt(std::move(opened)); };
    };
    m_running[m_jobs->start(tr("Opening %1").arg(QFileInfo(path).fileName()), JobRunner::Priority::opening, work)] =
        true;
}

void Comparison::closeReference() {
    m_model.reset();
    if (m_other == referenceKey)
        compareWith({});
    m_document->setReference(nullptr);
}

void Comparison::adopt(Opened opened) {
    m_model = std::move(opened.model);
    m_document->setReference(std::move(opened.session));
    compareWith(std::string(referenceKey));
    if (!m_model)
        return;
    std::vector<MetricRequest> wanted; // the others only on request
    for (MetricRequest& request : m_document->measurements()->requests())
        if (request.info->needs == Needs::weights && Measurements::canMeasure(request))
            wanted.push_back(std::move(request));
    measure(wanted);
}

void Comparison::measure(const std::vector<MetricRequest>& requests) {
    if (!m_model || requests.empty())
        return;
    const auto work = [this, model = m_model, requests, choice = m_document->measurements()->measureChoice(),
                       measuring = m_document->services().measure](const Progress& progress) {
        std::vector<MetricResult> results = measuring(*model, requests, choice, progress, {});
        progress.check();
        return [this, model, results = std::move(results)]() mutable {
            if (model == m_model)
                takeResults(std::move(results));
        };
    };
    m_running[m_jobs->start(tr("Measuring the reference"), JobRunner::Priority::background, work)] = false;
}

void Comparison::takeResults(std::vector<MetricResult> results) {
    auto session = std::make_shared<Session>(*reference());
    for (MetricResult& result : results)
        add(*session, std::move(result));
    m_document->setReference(std::move(session));
    emit changed();
}

void Comparison::onFailed(quint64 job, const QString& message) {
    if (m_running.erase(job) > 0)
        emit failed(message);
}

std::string Comparison::keyOfA(const std::string& resultId) const {
    const auto& results = m_document->session().results;
    const auto found = std::find_if(results.rbegin(), results.rend(), [&](const MetricResult& result) {
        return result.request.resultId() == resultId && measurementKey(result.measurement) != m_other;
    });
    return found == results.rend() ? std::string() : measurementKey(found->measurement);
}

std::vector<std::string> Comparison::keysOf(const std::string& resultId) const {
    const ResultKey asked = parseResultKey(resultId);
    const ResultKey b{resultId, m_other, {}};
    if (!isOn() || !asked.key.empty() || asked.subtracted || !findResult(m_document->session(), b))
        return {resultId};
    const ResultKey a{resultId, m_other == referenceKey ? std::string() : keyOfA(resultId), {}};
    switch (m_shown) {
    case Shown::a:
        return {a.text()};
    case Shown::b:
        return {b.text()};
    case Shown::both:
        return {a.text(), b.text()};
    case Shown::difference:
        return {ResultKey{resultId, a.key, b.key}.text()};
    }
    return {};
}

std::string Comparison::keyOf(const std::string& resultId) const {
    return keysOf(resultId).front();
}

std::vector<std::pair<std::string, QString>> Comparison::choices() const {
    std::vector<std::pair<std::string, QString>> found;
    std::map<std::string, int> measured; // number of measurements by result id; a comparison needs at least two
    for (const MetricResult& result : m_document->session().results)
        ++measured[result.request.resultId()];
    const auto isKnown = [&](const std::string& key) {
        return std::ranges::find(found, key, &std::pair<std::string, QString>::first) != found.end();
    };
    for (const MetricResult& result : m_document->session().results) {
        const std::string key = measurementKey(result.measurement);
        if (measured[result.request.resultId()] > 1 && !isKnown(key))
            found.emplace_back(key, QString::fromStdString(measuredOn(m_document->session(), result)));
    }
    if (reference())
        found.emplace_back(referenceKey, referenceName());
    return found;
}

QString Comparison::referenceName() const {
    return tr("%1 (reference)").arg(QString::fromStdString(reference()->model.name));
}

void Comparison::setSubject(const std::string& resultId) {
    const std::string subject = parseResultKey(resultId).resultId;
    if (subject == std::exchange(m_subject, subject) || !isOn())
        return;
    emit subjectChanged();
}

std::string Comparison::described() const {
    const auto hasBoth = [this](const std::string& resultId) {
        return findResult(m_document->session(), {resultId, m_other, {}}) && !keyOfA(resultId).empty();
    };
    if (!m_subject.empty() && hasBoth(m_subject))
        return m_subject;
    for (const MetricResult& result : m_document->session().results)
        if (hasBoth(result.request.resultId()))
            return result.request.resultId();
    return {};
}

QString Comparison::describe(const std::string& key) const {
    const std::string resultId = described();
    const MetricResult* result = resultId.empty() ? nullptr : findResult(m_document->session(), {resultId, key, {}});
    return result ? QString::fromStdString(measuredOn(m_document->session(), *result)) : QString();
}

QString Comparison::nameOfA() const {
    if (m_other == referenceKey)
        return QString::fromStdString(m_document->session().model.name);
    return describe(keyOfA(described()));
}

QString Comparison::nameOfB() const {
    return m_other == referenceKey ? referenceName() : describe(m_other);
}

} // namespace secateur
