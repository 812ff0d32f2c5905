#include "widgets/document/measurements.h"

#include "analysis/base/text.h"
#include "analysis/metrics/measure.h"
#include "analysis/metrics/request_title.h"
#include "analysis/session/result_key.h"
#include "analysis/session/session.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/language/shown_texts.h"

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

double exactError(double value) {
    return std::isnan(value) ? value : 0;
}

/// Standard errors of exact values: 0 for each value, NaN for a missing value.
Matrix withoutErrors(const Matrix& values) {
    Matrix errors = values;
    std::ranges::transform(errors.values(), errors.values().begin(), exactError);
    return errors;
}

Matrix emptyValues(const MetricRequest& request, const ModelSpec& spec) {
    return Matrix(spec.layers.size(), columnsFor(request.info->scope, spec));
}

/// Names few metrics by their titles, and counts many: their names would leave no room for the progress.
QString jobTitle(const std::vector<MetricRequest>& requests) {
    constexpr std::size_t mostNamed = 2;
    if (requests.size() > mostNamed)
        return Measurements::tr("Measuring %1").arg(countText(requests.size(), "metric"));
    QStringList titles;
    for (const MetricRequest& request : requests)
        titles << QString::fromStdString(titleOf(request));
    return Measurements::tr("Measuring %1").arg(titles.join(QStringLiteral(", ")));
}

} // namespace

Measurements::Measurements(Document* document, Session& session, JobRunner* jobs)
    : QObject(document)
    , m_document(document)
    , m_session(session)
    , m_jobs(jobs) {
    connect(document->masks(), &MaskEditor::maskChanged, this, &Measurements::lookForStale);
    connect(jobs, &JobRunner::progressed, this, [this](quint64 job) {
        if (const auto found = m_running.find(job); found != m_running.end())
            takeLayers(found->second);
    });
    for (auto ended : {&JobRunner::finished, &JobRunner::cancelled})
        connect(jobs, ended, this, &Measurements::end);
    connect(jobs, &JobRunner::failed, this, &Measurements::end);
}

bool Measurements::canMeasure(const MetricRequest& request) {
    const MetricInfo* known = findMetric(request.info->id);
    return known && std::ranges::all_of(request.options, [&](const auto& option) {
               return std::ranges::find(known->options, option.first, &OptionInfo::name) != known->options.end();
           });
}

void Measurements::measure(const std::vector<MetricRequest>& requests) {
    if (!m_document->model()) {
        emit m_document->failed(
            tr("Measuring needs the checkpoint, which was not found. Use File > Locate model… first."));
        return;
    }
    Running running;
    for (const MetricRequest& request : requests)
        if (!canMeasure(request))
            emit m_document->failed(tr("This version of Secateur does not know %1, so it cannot measure it.")
                                        .arg(QString::fromStdString(request.resultId())));
        else if (state(request.resultId()) != MetricState::computing)
            running.requests.push_back(request);
    if (running.requests.empty())
        return;
    running.arrived = std::make_shared<Mailbox<Arrived>>();
    m_running.emplace(start(running), running);
    for (const MetricRequest& request : running.requests)
        emit stateChanged(QString::fromStdString(request.resultId()));
    emit measuringBegun(running.requests);
}

JobRunner::Id Measurements::start(const Running& running) {
    std::optional<NamedMask> mask;
    MeasureChoice choice = m_choice;
    if (m_measuresMasked && !m_document->masks()->mask().keepsAll()) {
        mask = m_document->masks()->state().edited();
        choice.mask = mask->record->mask;
    }
    const auto id = std::make_shared<JobRunner::Id>(0); // shared with the delivery, which needs the job's id
    const auto work = [this, id, model = m_document->model(), running, measure = m_document->services().measure, choice,
                       mask](const Progress& progress) {
        const LayerSink sink = [&running](const LayerCells& cells) {
            running.arrived->put([&cells](Arrived& arrived) {
                arrived[{cells.request, cells.layer}] = {{cells.values.begin(), cells.values.end()},
                                                         {cells.standardErrors.begin(), cells.standardErrors.end()}};
            });
        };
        std::vector<MetricResult> results = measure(*model, running.requests, choice, progress, sink);
        progress.check();
        const std::string fingerprint = model->fingerprint();
        return [this, id, results = std::move(results), fingerprint, mask]() mutable {
            takeResults(*id, std::move(results), fingerprint, mask);
        };
    };
    const QString title = jobTitle(running.requests);
    return *id = m_document->start(title, JobRunner::Priority::background, work);
}

void Measurements::takeLayers(const Running& running) {
    std::set<std::size_t> changed; // indices in running.requests
    for (const auto& [place, found] : running.arrived->take()) {
        takeLayer(running.requests[place.first], place.second, found);
        changed.insert(place.first);
    }
    std::vector<std::string> ids; // copied first, because a receiver of the signal may end the job and remove `running`
    for (std::size_t request : changed)
        ids.push_back(running.requests[request].resultId());
    for (const std::string& id : ids)
        tellChanged(id);
}

void Measurements::takeLayer(const MetricRequest& request, int layer, const LayerValues& found) {
    Partial& partial = m_partial[request.resultId()];
    MetricResult& result = partial.result;
    if (!result.request.info) {
        result.request = request;
        result.values = emptyValues(request, m_document->spec());
    }
    const auto row = static_cast<std::size_t>(layer);
    std::ranges::copy(found.values, result.values.row(row).begin());
    if (found.errors.empty())
        partial.estimates.erase(layer);
    else
        partial.estimates.insert(layer);
    if (partial.estimates.empty()) {
        result.standardError.reset();
        return;
    }
    if (!result.standardError)
        result.standardError = withoutErrors(result.values);
    const std::span<double> errors = result.standardError->row(row);
    std::ranges::transform(result.values.row(row), errors.begin(), exactError);
    std::ranges::copy(found.errors, errors.begin());
}

void Measurements::takeResults(JobRunner::Id job, std::vector<MetricResult> results, const std::string& fingerprint,
                               const std::optional<NamedMask>& mask) {
    m_session.model.fingerprint = fingerprint;
    std::set<std::string> warnings; // a set, because metrics of one run mostly have the same warnings
    for (MetricResult& result : results) {
        warnings.insert(result.warnings.begin(), result.warnings.end());
        const std::string& digest = result.measurement.maskDigest;
        if (mask && digest != Measurement().maskDigest && !m_session.mask(digest))
            add(m_session, SessionMask{mask->name, digest, *mask->record});
        result.measurement.fingerprint = fingerprint;
        add(m_session, std::move(result));
    }
    for (const std::string& warning : warnings)
        emit m_document->noticed(QString::fromStdString(warning));
    if (!m_document->sessionPath().isEmpty())
        m_document->noteChange();
    end(job);
    lookForStale();
}

void Measurements::end(JobRunner::Id job) {
    const auto running = m_running.extract(job);
    if (running.empty())
        return;
    for (const MetricRequest& request : running.mapped().requests) {
        const std::string id = request.resultId();
        m_partial.erase(id);
        emit stateChanged(QString::fromStdString(id));
        tellChanged(id);
    }
}

void Measurements::abandon() {
    for (const auto& [job, running] : std::exchange(m_running, {}))
        m_jobs->cancel(job);
    m_partial.clear();
    m_differences.clear();
}

void Measurements::forget(const std::string& key) {
    const ResultKey parsed = parseResultKey(key);
    const MetricResult* found = findResult(m_session, parsed);
    std::erase_if(m_session.results, [&](const MetricResult& result) { return &result == found; });
    m_document->noteChange();
    emit stateChanged(QString::fromStdString(parsed.resultId));
    tellChanged(parsed.resultId);
}

void Measurements::chooseMeasuring(MeasureChoice choice, bool masked) {
    m_choice = std::move(choice);
    m_measuresMasked = masked;
    m_document->setView("measure.text", m_choice.text);
    m_document->setView("measure.tokens", std::to_string(m_choice.tokens));
    m_document->setView("measure.masked", masked ? "true" : "false");
    emit measuringChosen();
}

void Measurements::restoreChoice() {
    const auto kept = [&](const char* name) {
        const auto found = m_session.view.find(name);
        return found == m_session.view.end() ? std::string() : found->second;
    };
    m_choice = {kept("measure.text"), QString::fromStdString(kept("measure.tokens")).toLongLong(), {}};
    m_measuresMasked = kept("measure.masked") == "true";
    lookForStale();
    emit measuringChosen();
}

void Measurements::tellChanged(const std::string& resultId) {
    std::erase_if(m_differences, [&](const auto& entry) { return parseResultKey(entry.first).resultId == resultId; });
    emit resultChanged(QString::fromStdString(resultId));
}

void Measurements::tellAllChanged() {
    for (const std::string& id : resultIds()) {
        emit stateChanged(QString::fromStdString(id));
        tellChanged(id);
    }
}

MetricState Measurements::state(const std::string& key) const {
    for (const auto& [job, running] : m_running)
        for (const MetricRequest& request : running.requests)
            if (request.resultId() == key)
                return MetricState::computing;
    const MetricResult* found = result(key);
    return !found ? MetricState::notComputed : isStale(*found) ? MetricState::stale : MetricState::done;
}

const MetricResult* Measurements::result(const std::string& key) const {
    if (const auto partial = m_partial.find(key); partial != m_partial.end())
        return &partial->second.result;
    const ResultKey parsed = parseResultKey(key);
    if (!parsed.subtracted)
        return findResult(m_session, parsed);
    auto known = m_differences.find(key);
    if (known == m_differences.end())
        known = m_differences.emplace(key, resolveResult(m_session, parsed)).first;
    return known->second ? &*known->second : nullptr;
}

MetricResult Measurements::labelled(const std::string& key) const {
    if (const auto partial = m_partial.find(key); partial != m_partial.end())
        return partial->second.result;
    return resolveResult(m_session, parseResultKey(key)).value();
}

std::string Measurements::label(const std::string& key) const {
    return m_partial.contains(key) ? std::string() : labelOf(m_session, parseResultKey(key));
}

bool Measurements::isStale(const MetricResult& result) const {
    return result.data && result.measurement.maskDigest != currentDigest();
}

const std::string& Measurements::currentDigest() const {
    const PruningMask& mask = m_document->masks()->mask();
    if (!m_digest)
        m_digest = mask.keepsAll() ? Measurement().maskDigest : m_document->services().maskDigest(mask);
    return *m_digest;
}

void Measurements::lookForStale() {
    m_digest.reset();
    std::set<std::string> stale;
    for (const MetricResult& result : m_session.results)
        if (isStale(result))
            stale.insert(ResultKey{result.request.resultId(), measurementKey(result.measurement), {}}.text());
    if (std::exchange(m_stale, stale) != stale)
        emit staleChanged();
}

std::vector<std::string> Measurements::otherKeys(const std::string& resultId) const {
    std::vector<std::string> keys;
    const MetricResult* latest = m_session.latest(resultId);
    for (const MetricResult& result : m_session.results)
        if (&result != latest && result.request.resultId() == resultId && !(result.data && result.data->isPart()))
            keys.push_back(ResultKey{resultId, measurementKey(result.measurement), {}}.text());
    const ResultKey ofReference{resultId, std::string(referenceKey), {}};
    if (findResult(m_session, ofReference))
        keys.push_back(ofReference.text());
    return keys;
}

std::vector<MetricRequest> Measurements::requests() const {
    const auto table = allMetrics();
    std::map<std::pair<std::ptrdiff_t, std::string>, MetricRequest> found; // by row of the table and id
    const auto insert = [&](const MetricRequest& request) {
        const auto row = std::ranges::find(table, request.info->id, &MetricInfo::id) - table.begin();
        found.try_emplace({row, request.resultId()}, request);
    };
    for (const MetricResult& result : m_session.results)
        insert(result.request);
    for (const auto& [job, running] : m_running)
        std::ranges::for_each(running.requests, insert);
    std::vector<MetricRequest> ordered;
    for (auto& [place, request] : found)
        ordered.push_back(std::move(request));
    return ordered;
}

std::vector<std::string> Measurements::resultIds() const {
    std::vector<std::string> ids;
    for (const MetricRequest& request : requests())
        ids.push_back(request.resultId());
    return ids;
}

} // namespace secateur
