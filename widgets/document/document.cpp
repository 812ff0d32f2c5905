#include "widgets/document/document.h"

#include "analysis/base/text.h"
#include "widgets/document/comparison.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/document/measurements.h"

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

/// Key in Session::view under which the names of the masks in the editor's list are stored.
constexpr const char* editedMasks = "masks";

} // namespace

Document::Document(Services services, JobRunner* jobs, QObject* parent)
    : QObject(parent)
    , m_services(std::move(services))
    , m_jobs(jobs)
    , m_masks(new MaskEditor(this))
    , m_measurements(new Measurements(this, m_session, jobs))
    , m_files(new DocumentFiles(this, jobs))
    , m_maskJobs(new MaskJobs(this))
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
    ++m_generation;
    m_measurements->abandon();
    m_session = std::move(opened.session);
    m_model = std::move(opened.model);
    m_prices.emplace(m_session.model);
    adoptMasks();
    m_measurements->restoreChoice();
    setSessionPath(opened.sessionPath);
    setModified(false);
    emit this->opened();
    if (!opened.notice.isEmpty())
        emit noticed(opened.notice);
    if (m_sessionPath.isEmpty())
        m_measurements->measure(parseMetricRequests("weights"));
}

void Document::adoptMasks() {
    // The session holds every mask that was measured. Only those in the editor's list are offered for editing.
    const std::vector<std::string> listed = split(m_session.view[editedMasks], '\n');
    std::vector<NamedMask> masks;
    for (const SessionMask& mask : m_session.masks)
        if (m_session.view[editedMasks].empty() || std::ranges::find(listed, mask.name) != listed.end())
            masks.push_back({mask.name, std::make_shared<const MaskRecord>(mask.record)});
    m_masks->reset(spec(), std::move(masks));
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
    std::vector<std::string> names;
    for (const NamedMask& mask : m_masks->state().masks) {
        if (mask.record->mask.keepsAll() && mask.record->note.empty())
            continue;
        MaskRecord record = *mask.record;
        record.modelName = session.model.name;
        record.fingerprint = session.model.fingerprint;
        std::string digest = m_services.maskDigest(record.mask);
        names.push_back(add(session, SessionMask{mask.name, std::move(digest), std::move(record)}));
    }
    session.view[editedMasks] = join(names, "\n");
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
    const bool isDense = evaluation.mask.digest == "dense";
    if (const SessionMask* known = m_session.mask(evaluation.mask.digest))
        evaluation.mask.name = known->name;
    else if (!isDense)
        evaluation.mask.name = add(m_session, SessionMask{evaluation.mask.name, evaluation.mask.digest, record});
    add(m_session, std::move(evaluation));
    emit evaluationsChanged();
    if (!isDense || !m_sessionPath.isEmpty())
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

void Document::restoreMask(const EvaluatedMask& mask) {
    const MaskState& state = m_masks->state();
    const SessionMask* stored = m_session.mask(mask.digest);
    const PruningMask wanted = stored ? stored->record.mask : PruningMask(spec());
    const auto isWanted = [&](const NamedMask& named) { return named.record->mask == wanted; };
    const auto listed = std::ranges::find_if(state.masks, isWanted);
    if (listed != state.masks.end())
        m_masks->setCurrent(static_cast<std::size_t>(listed - state.masks.begin()));
    else if (stored)
        m_masks->addMask(QString::fromStdString(stored->name), stored->record);
    else
        m_masks->addMask(tr("mask"), MaskRecord{wanted, {}, {}, {}, {}});
}

void Document::setSessionPath(const QString& path) {
    m_sessionPath = path;
    emit sessionPathChanged();
}

void Document::noteChange() {
    ++m_revision;
    setModified(true);
}

void Document::setModified(bool modified) {
    if (modified == m_modified)
        return;
    m_modified = modified;
    emit modifiedChanged();
}

} // namespace secateur
