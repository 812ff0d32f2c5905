#include "widgets/document/document.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/metrics/usual_request.h"
#include "widgets/document/calibration.h"
#include "widgets/document/comparison.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/document/mask_names.h"
#include "widgets/document/measurements.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace secateur {

namespace {

// Entries of the session's view.
constexpr const char* editedMasks = "masks";              ///< names of the masks in the editor's list, one per line
constexpr const char* currentMask = "masks.current";      ///< the line of the current mask
constexpr const char* protectedUnits = "masks.protected"; ///< Protection::text(); missing = none

/// In front of the name of a mask that keeps all: the session does not store it.
constexpr char wholeMark = '\t';

} // namespace

Document::Document(Services services, JobRunner* jobs, QObject* parent)
    : QObject(parent)
    , m_services(std::move(services))
    , m_jobs(jobs)
    , m_masks(new MaskEditor(this))
    , m_measurements(new Measurements(this, m_session, jobs))
    , m_files(new DocumentFiles(this, jobs))
    , m_maskJobs(new MaskJobs(this, jobs))
    , m_calibration(new Calibration(this, jobs))
    , m_comparison(new Comparison(this, jobs)) {
    for (auto change : {&MaskEditor::maskChanged, &MaskEditor::listChanged, &MaskEditor::protectionChanged})
        connect(m_masks, change, this, &Document::noteChange);
    // Connected after the parts, so that a part has handled the end of its job before failed() is emitted.
    connect(jobs, &JobRunner::finished, this, [this](quint64 job) { m_ownJobs.erase(job); });
    connect(jobs, &JobRunner::cancelled, this, [this](quint64 job) { m_ownJobs.erase(job); });
    connect(jobs, &JobRunner::failed, this, [this](quint64 job, const QString& message) {
        if (m_ownJobs.erase(job) > 0)
            emit failed(message);
    });
}

Document::~Document() {
    m_jobs->cancelAll();
}

JobRunner::Id Document::start(const QString& title, JobRunner::Priority priority, JobRunner::Work work) {
    const JobRunner::Id job = m_jobs->start(title, priority, std::move(work));
    m_ownJobs.insert(job);
    return job;
}

void Document::adopt(Opened opened) {
    emit aboutToReplace();
    ++m_generation;
    m_jobs->cancelBelow(JobRunner::Priority::opening);
    m_measurements->abandon();
    m_session = std::move(opened.session);
    m_model = std::move(opened.model);
    m_prices.emplace(m_session.model);
    if (m_recallView && opened.sessionPath.isEmpty() && m_session.view.empty())
        m_session.view = m_recallView(m_session.model);
    adoptMasks();
    m_measurements->restoreChoice();
    setSessionPath(opened.sessionPath);
    setModified(false);
    emit this->opened();
    if (!opened.notice.isEmpty())
        emit noticed(opened.notice);
    if (m_sessionPath.isEmpty())
        m_measurements->measure(openingRequests(spec()));
}

/// A session holds every mask that was measured; the list of the editor is stored apart.
void Document::adoptMasks() {
    MaskState state;
    const auto add = [&state](const std::string& name, MaskRecord record) {
        state.masks.push_back({name, std::make_shared<const MaskRecord>(std::move(record))});
        state.current = state.masks.size() - 1;
    };
    const std::string listed = storedView(editedMasks);
    const std::set<std::string> ofSweeps = masksOfCurves(m_session.curves); // the tab Curves leads to these
    for (const SessionMask& mask : m_session.masks)
        if (listed.empty() && !ofSweeps.contains(mask.digest))
            add(mask.name, mask.record);
    std::optional<std::size_t> current;
    for (const std::string& line : split(listed, '\n')) {
        const auto stored = std::ranges::find(m_session.masks, line, &SessionMask::name);
        if (line.starts_with(wholeMark))
            add(line.substr(1), {PruningMask(spec()), {}, {}, {}, {}});
        else if (stored != m_session.masks.end())
            add(line, stored->record);
        if (!state.masks.empty() && line == storedView(currentMask))
            current = state.current;
    }
    state.current = current.value_or(state.current);
    state.isProtected = std::make_shared<const Protection>(storedProtection());
    m_masks->reset(spec(), std::move(state));
}

std::string Document::storedView(const std::string& name) const {
    const auto stored = m_session.view.find(name);
    return stored == m_session.view.end() ? std::string() : stored->second;
}

Protection Document::storedProtection() {
    const std::string stored = storedView(protectedUnits);
    if (stored.empty())
        return {};
    try {
        return Protection::parse(stored, spec());
    } catch (const Error& error) {
        emit noticed(tr("The session's protected units cannot be read: %1").arg(error.what()));
        return {};
    }
}

void Document::setModel(std::shared_ptr<const Model> model, const std::string& path) {
    m_model = std::move(model);
    m_session.model.path = path;
    noteChange();
    emit modelLocated();
}

void Document::setSaved(const QString& path, const std::string& fingerprint, quint64 revision) {
    m_session.model.fingerprint = fingerprint;
    setSessionPath(path);
    setModified(revision != m_revision);
}

Session Document::snapshot() const {
    Session session = m_session;
    const MaskState& state = m_masks->state();
    adoptNames(session, state.masks, m_services.maskDigest);
    std::vector<std::string> lines;
    for (const NamedMask& mask : state.masks) {
        if (mask.record->mask.keepsAll() && mask.record->note.empty()) {
            lines.push_back(wholeMark + mask.name);
            continue;
        }
        MaskRecord record = *mask.record;
        record.modelName = session.model.name;
        record.fingerprint = session.model.fingerprint;
        std::string digest = m_services.maskDigest(record.mask);
        lines.push_back(add(session, SessionMask{mask.name, std::move(digest), std::move(record)}));
    }
    session.view[editedMasks] = join(lines, "\n");
    session.view[currentMask] = lines.at(state.current);
    session.view.erase(protectedUnits);
    if (!state.isProtected->empty())
        session.view[protectedUnits] = state.isProtected->text(spec());
    return session;
}

Session Document::unsaved() const {
    Session session = snapshot();
    session.results.clear();
    return session;
}

void Document::addEvaluation(Evaluation evaluation, const MaskRecord& record) {
    evaluation.mask.digest = m_services.maskDigest(record.mask);
    if (evaluation.created.empty())
        evaluation.created = utcNow();
    evaluation.adapter = named(m_session, evaluation.adapter);
    const bool isDense = evaluation.mask.digest == "dense" && !evaluation.adapter.isPresent();
    if (const SessionMask* known = m_session.mask(evaluation.mask.digest))
        evaluation.mask.name = known->name;
    else if (evaluation.mask.digest != "dense")
        evaluation.mask.name = add(m_session, SessionMask{evaluation.mask.name, evaluation.mask.digest, record});
    add(m_session, std::move(evaluation));
    emit evaluationsChanged();
    if (!isDense || !m_sessionPath.isEmpty())
        noteChange();
}

void Document::addSweepNews(const SweepNews& news) {
    for (const ChosenMask& mask : news.masks)
        add(m_session, SessionMask{mask.name, mask.digest, mask.record});
    for (const MetricResult& result : news.results)
        add(m_session, result);
    for (const Evaluation& evaluation : news.evaluations)
        add(m_session, evaluation);
    if (news.curves)
        add(m_session.curves, *news.curves);
    if (!news.results.empty())
        m_measurements->tellAllChanged();
    if (!news.evaluations.empty())
        emit evaluationsChanged();
    emit curvesChanged();
    noteChange();
}

void Document::joinSession(const Session& other) {
    if (m_session.model.fingerprint.empty()) // it is known once something was measured
        m_session.model.fingerprint = other.model.fingerprint;
    join(m_session, other);
    m_measurements->tellAllChanged();
    emit evaluationsChanged();
    emit curvesChanged();
    noteChange();
}

void Document::setPrediction(std::shared_ptr<const PredictionBasis> basis) {
    m_session.prediction = std::move(basis);
    if (!m_sessionPath.isEmpty())
        noteChange();
}

void Document::setReference(std::shared_ptr<const Session> reference) {
    m_session.reference = std::move(reference);
    m_measurements->tellAllChanged();
}

std::vector<std::string> Document::listedDigests() const {
    std::vector<std::string> digests;
    std::map<std::shared_ptr<const MaskRecord>, std::string> known;
    for (const NamedMask& mask : m_masks->state().masks) {
        const auto found = m_digests.find(mask.record);
        digests.push_back(found == m_digests.end() ? m_services.maskDigest(mask.record->mask) : found->second);
        known.emplace(mask.record, digests.back());
    }
    m_digests = std::move(known);
    return digests;
}

std::optional<std::size_t> Document::listed(const EvaluatedMask& mask) const {
    const std::vector<std::string> digests = listedDigests();
    const auto found = std::ranges::find(digests, mask.digest);
    return found == digests.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - digests.begin()));
}

void Document::restoreMask(const EvaluatedMask& mask) {
    const SessionMask* stored = m_session.mask(mask.digest);
    if (const auto index = listed(mask))
        m_masks->setCurrent(*index);
    else if (stored)
        m_masks->addMask(QString::fromStdString(stored->name), stored->record);
    else
        m_masks->addMask(tr("mask"), MaskRecord{PruningMask(spec()), {}, {}, {}, {}});
}

void Document::compareWithMask(const EvaluatedMask& mask) {
    const SessionMask* stored = m_session.mask(mask.digest);
    if (const auto index = listed(mask))
        m_masks->compareWith(*index);
    else if (stored)
        m_masks->compareWithNew(QString::fromStdString(stored->name), stored->record);
}

void Document::renameMask(const EvaluatedMask& mask, const QString& name) {
    const std::string wanted = name.trimmed().toStdString();
    if (wanted.empty() || mask.digest == "dense")
        return;
    if (const auto index = listed(mask)) {
        m_masks->renameMask(*index, name); // the row shows the name in the list
        return;
    }
    const auto isTaken = [&](const SessionMask& other) { return other.name == wanted && other.digest != mask.digest; };
    std::string unique = wanted;
    if (std::ranges::any_of(m_session.masks, isTaken))
        unique += " (" + mask.digest.substr(mask.digest.find(':') + 1, 6) + ")";
    for (SessionMask& other : m_session.masks)
        if (other.digest == mask.digest)
            other.name = unique;
    for (Evaluation& evaluation : m_session.evaluations)
        if (evaluation.mask.digest == mask.digest)
            evaluation.mask.name = unique;
    emit evaluationsChanged();
    noteChange();
}

std::vector<Evaluation> Document::removeEvaluations(std::vector<std::size_t> places) {
    std::ranges::sort(places, std::greater<>());
    std::vector<Evaluation> removed;
    for (const std::size_t place : places) {
        if (place >= m_session.evaluations.size())
            continue;
        const auto at = m_session.evaluations.begin() + static_cast<std::ptrdiff_t>(place);
        removed.insert(removed.begin(), std::move(*at));
        m_session.evaluations.erase(at);
    }
    emit evaluationsChanged();
    noteChange();
    return removed;
}

void Document::returnEvaluations(std::vector<Evaluation> evaluations) {
    for (Evaluation& evaluation : evaluations)
        add(m_session, std::move(evaluation));
    emit evaluationsChanged();
    noteChange();
}

void Document::setSessionPath(const QString& path) {
    m_sessionPath = path;
    emit sessionPathChanged();
}

void Document::noteChange() {
    ++m_revision;
    setModified(true);
    emit changed();
}

void Document::setModified(bool modified) {
    if (modified == m_modified)
        return;
    m_modified = modified;
    emit modifiedChanged();
}

} // namespace secateur
