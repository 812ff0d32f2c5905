#include "analysis/metrics/measure.h"
#include "analysis/session/result_key.h"
#include "analysis/base/text.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>
#include <utility>

namespace secateur {

namespace {

double exactError(double value) {
    return std::isnan(value) ? value : 0;
}

/// Standard errors of values that are all exact.
Matrix withoutErrors(const Matrix& values) {
    Matrix errors = values;
    std::ranges::transform(errors.values(), errors.values().begin(), exactError);
    return errors;
}

Matrix emptyValues(const MetricRequest& request, const ModelSpec& spec) {
    return Matrix(spec.layers.size(), columnsFor(request.info->scope, spec));
}

std::string jobTitle(const std::vector<MetricRequest>& requests) {
    std::vector<std::string> ids;
    for (const MetricRequest& request : requests)
        ids.push_back(request.resultId());
    return "Measuring " + join(ids, ", ");
}

} // namespace

/// Layers on their way from the worker to the window.
struct Document::Incoming {
    struct Cells {
        Matrix values;
        Matrix errors;           ///< standard errors; empty until there is an estimate
        std::set<int> estimates; ///< layers
    };
    std::mutex mutex;
    std::vector<Cells> requests;
    std::set<std::size_t> changed;

    void take(const LayerCells& cells);
};

void Document::Incoming::take(const LayerCells& cells) {
    const std::lock_guard lock(mutex);
    Cells& kept = requests[cells.request];
    const auto layer = static_cast<std::size_t>(cells.layer);
    std::ranges::copy(cells.values, kept.values.row(layer).begin());
    if (cells.standardErrors.empty())
        kept.estimates.erase(cells.layer);
    else
        kept.estimates.insert(cells.layer);
    if (!cells.standardErrors.empty() && kept.errors.empty())
        kept.errors = withoutErrors(kept.values);
    if (!kept.errors.empty()) {
        const std::span<double> row = kept.errors.row(layer);
        std::ranges::transform(kept.values.row(layer), row.begin(), exactError);
        std::ranges::copy(cells.standardErrors, row.begin());
    }
    changed.insert(cells.request);
}

void Document::measure(const std::vector<MetricRequest>& requests) {
    if (!m_model) {
        emit failed(tr("Measuring needs the checkpoint, which was not found. Use File > Locate model… first."));
        return;
    }
    Measuring measuring;
    for (const MetricRequest& request : requests)
        if (state(request.resultId()) != MetricState::computing)
            measuring.requests.push_back(request);
    if (measuring.requests.empty())
        return;
    measuring.incoming = std::make_shared<Incoming>();
    for (const MetricRequest& request : measuring.requests)
        measuring.incoming->requests.push_back({emptyValues(request, spec()), {}, {}});

    std::optional<NamedMask> mask;
    MeasureChoice choice = m_choice;
    if (m_measuresMasked && !m_masks->mask().keepsAll()) {
        mask = m_masks->state().edited();
        choice.mask = mask->record->mask;
    }
    const auto id = std::make_shared<JobRunner::Id>(0); // known to the delivery, which runs after start() returned
    const auto work = [this, id, model = m_model, wanted = measuring.requests, measure = m_services.measure, choice, mask,
                       incoming = measuring.incoming](const Progress& progress) {
        const LayerSink sink = [&incoming](const LayerCells& cells) { incoming->take(cells); };
        std::vector<MetricResult> results = measure(*model, wanted, choice, progress, sink);
        progress.check();
        const std::string fingerprint = model->fingerprint();
        return [this, id, results = std::move(results), fingerprint, mask]() mutable {
            takeResults(*id, std::move(results), fingerprint, mask);
        };
    };
    *id = m_jobs->start(QString::fromStdString(jobTitle(measuring.requests)), JobRunner::Priority::background, work);
    m_measuring.emplace(*id, measuring);
    for (const MetricRequest& request : measuring.requests)
        emit stateChanged(QString::fromStdString(request.resultId()));
    emit measuringBegun(measuring.requests);
}

void Document::onProgressed(quint64 job) {
    const auto found = m_measuring.find(job);
    if (found != m_measuring.end())
        takeLayers(found->second);
}

void Document::takeLayers(const Measuring& measuring) {
    std::vector<QString> changed;
    {
        const std::lock_guard lock(measuring.incoming->mutex);
        for (std::size_t index : std::exchange(measuring.incoming->changed, {})) {
            const MetricRequest& request = measuring.requests[index];
            MetricResult& partial = m_partial[request.resultId()];
            partial.request = request;
            const Incoming::Cells& cells = measuring.incoming->requests[index];
            partial.values = cells.values;
            partial.standardError = cells.estimates.empty() ? std::nullopt : std::optional(cells.errors);
            changed.push_back(QString::fromStdString(request.resultId()));
        }
    }
    for (const QString& id : changed)
        tellResultChanged(id.toStdString());
}

void Document::takeResults(JobRunner::Id job, std::vector<MetricResult> results, const std::string& fingerprint,
                           const std::optional<NamedMask>& mask) {
    m_session.model.fingerprint = fingerprint;
    std::set<std::string> warnings; // of several metrics, mostly the same
    for (MetricResult& result : results) {
        warnings.insert(result.warnings.begin(), result.warnings.end());
        const std::string& digest = result.measurement.maskDigest;
        if (mask && digest != Measurement().maskDigest && !m_session.mask(digest))
            add(m_session, SessionMask{mask->name, digest, *mask->record});
        result.measurement.fingerprint = fingerprint;
        add(m_session, std::move(result));
    }
    for (const std::string& warning : warnings)
        emit noticed(QString::fromStdString(warning));
    if (!m_sessionPath.isEmpty())
        noteChange();
    end(job);
    lookForStale();
}

MetricState Document::state(const std::string& key) const {
    for (const auto& [job, measuring] : m_measuring)
        for (const MetricRequest& request : measuring.requests)
            if (request.resultId() == key)
                return MetricState::computing;
    const MetricResult* found = result(key);
    return !found ? MetricState::notComputed : isStale(*found) ? MetricState::stale : MetricState::done;
}

const MetricResult* Document::result(const std::string& key) const {
    if (const auto partial = m_partial.find(key); partial != m_partial.end())
        return &partial->second;
    const ResultKey parsed = parseResultKey(key);
    if (!parsed.subtracted)
        return findResult(m_session, parsed);
    auto known = m_differences.find(key);
    if (known == m_differences.end())
        known = m_differences.emplace(key, resolveResult(m_session, parsed)).first;
    return known->second ? &*known->second : nullptr;
}

MetricResult Document::labelled(const std::string& key) const {
    if (const auto partial = m_partial.find(key); partial != m_partial.end())
        return partial->second;
    return resolveResult(m_session, parseResultKey(key)).value();
}

std::string Document::label(const std::string& key) const {
    return m_partial.contains(key) ? std::string() : labelOf(m_session, parseResultKey(key));
}

bool Document::isStale(const MetricResult& result) const {
    return result.data && result.measurement.maskDigest != currentDigest();
}

const std::string& Document::currentDigest() const {
    if (!m_digest)
        m_digest = m_masks->mask().keepsAll() ? Measurement().maskDigest : m_services.maskDigest(m_masks->mask());
    return *m_digest;
}

void Document::lookForStale() {
    m_digest.reset();
    std::set<std::string> stale;
    for (const MetricResult& result : m_session.results)
        if (isStale(result))
            stale.insert(ResultKey{result.request.resultId(), measurementKey(result.measurement), {}}.text());
    if (std::exchange(m_stale, stale) != stale)
        emit staleChanged();
}

std::vector<std::string> Document::otherKeys(const std::string& resultId) const {
    std::vector<std::string> keys;
    const MetricResult* latest = m_session.latest(resultId);
    for (const MetricResult& result : m_session.results)
        if (&result != latest && result.request.resultId() == resultId)
            keys.push_back(ResultKey{resultId, measurementKey(result.measurement), {}}.text());
    const ResultKey ofReference{resultId, std::string(referenceKey), {}};
    if (findResult(m_session, ofReference))
        keys.push_back(ofReference.text());
    return keys;
}

void Document::forget(const std::string& key) {
    const ResultKey parsed = parseResultKey(key);
    const MetricResult* found = findResult(m_session, parsed);
    std::erase_if(m_session.results, [&](const MetricResult& result) { return &result == found; });
    noteChange();
    emit stateChanged(QString::fromStdString(parsed.resultId));
    tellResultChanged(parsed.resultId);
}

void Document::setReference(std::shared_ptr<const Session> reference) {
    m_session.reference = std::move(reference);
    for (const std::string& id : resultIds()) {
        emit stateChanged(QString::fromStdString(id)); // other measurements of it are there now, or gone
        tellResultChanged(id);
    }
}

void Document::chooseMeasuring(MeasureChoice choice, bool masked) {
    m_choice = std::move(choice);
    m_measuresMasked = masked;
    setView("measure.text", m_choice.text);
    setView("measure.tokens", std::to_string(m_choice.tokens));
    setView("measure.masked", masked ? "true" : "false");
    emit measuringChosen();
}

void Document::restoreMeasuring() {
    const auto kept = [&](const char* name) {
        const auto found = m_session.view.find(name);
        return found == m_session.view.end() ? std::string() : found->second;
    };
    m_choice = {kept("measure.text"), QString::fromStdString(kept("measure.tokens")).toLongLong(), {}};
    m_measuresMasked = kept("measure.masked") == "true";
    lookForStale();
    emit measuringChosen();
}

void Document::tellResultChanged(const std::string& resultId) {
    std::erase_if(m_differences, [&](const auto& entry) { return parseResultKey(entry.first).resultId == resultId; });
    emit resultChanged(QString::fromStdString(resultId));
}

std::vector<std::string> Document::resultIds() const {
    std::set<std::pair<std::size_t, std::string>> ids;
    const auto insert = [&ids](const MetricRequest& request) {
        const auto table = allMetrics();
        const auto row = std::ranges::find(table, request.info);
        ids.emplace(static_cast<std::size_t>(row - table.begin()), request.resultId());
    };
    for (const MetricResult& result : m_session.results)
        insert(result.request);
    for (const auto& [job, measuring] : m_measuring)
        std::ranges::for_each(measuring.requests, insert);
    std::vector<std::string> ordered;
    for (const auto& [row, id] : ids)
        ordered.push_back(id);
    return ordered;
}

} // namespace secateur
