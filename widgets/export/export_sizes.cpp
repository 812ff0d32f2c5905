#include "widgets/export/export_sizes.h"

#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

constexpr int pauseBeforeSizesMs = 200; ///< so that dragging over heads starts no jobs

} // namespace

ExportSizes::ExportSizes(Document* document, JobRunner* jobs, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_jobs(jobs) {
    m_pause.setSingleShot(true);
    m_pause.setInterval(pauseBeforeSizesMs);
    connect(&m_pause, &QTimer::timeout, this, &ExportSizes::computeNext);
    connect(document, &Document::opened, this, [this] {
        m_sourceBytes.reset();
        restart();
    });
    connect(document, &Document::modelLocated, this, &ExportSizes::restart);
    connect(document->masks(), &MaskEditor::maskChanged, this, &ExportSizes::restart);
    connect(jobs, &JobRunner::finished, this, &ExportSizes::end);
    connect(jobs, &JobRunner::cancelled, this, [this](quint64 job) {
        if (job == m_job)
            m_job = 0;
    });
    connect(jobs, &JobRunner::failed, this, [this](quint64 job, const QString& message) {
        if (job != m_job)
            return;
        for (Row& row : m_rows)
            if (row.target == m_running)
                row.problem = message;
        end(job);
    });
    restart();
}

void ExportSizes::setWatched(bool watched) {
    m_watched = watched;
    if (!watched)
        cancel();
    else if (m_isStale)
        restart();
    else
        m_pause.start();
}

void ExportSizes::recompute(const ExportTarget* target) {
    const auto row = std::ranges::find(m_rows, target, &Row::target);
    if (row == m_rows.end())
        return;
    row->size.reset();
    row->problem.clear();
    if (m_running == target)
        cancel();
    emit changed();
    computeNext();
}

void ExportSizes::restart() {
    cancel();
    m_isStale = !m_watched;
    m_rows.clear();
    if (m_watched && m_document->isOpen())
        for (const ExportTarget& target : m_document->services().exportTargets)
            m_rows.push_back({&target, target.reasons(m_document->masks()->mask(), m_document->spec(),
                                                      m_document->session().model.format)});
    if (m_watched)
        m_pause.start();
    emit changed();
}

void ExportSizes::computeNext() {
    if (!m_watched || m_job != 0 || !m_document->model() || !m_document->services().exportSize)
        return;
    const auto needed = [](const Row& row) { return row.canHold() && !row.size && row.problem.isEmpty(); };
    const ExportTarget* const first = m_document->maskJobs()->exportTarget();
    auto next = std::ranges::find_if(m_rows, [&](const Row& row) { return row.target == first && needed(row); });
    if (next == m_rows.end())
        next = std::ranges::find_if(m_rows, needed);
    if (next != m_rows.end())
        start(next->target);
}

void ExportSizes::start(const ExportTarget* target) {
    ExportRequest request{*m_document->masks()->state().edited().record, {}};
    request.type = m_document->maskJobs()->exportType(target);
    const auto work = [this, target, request = std::move(request), measure = m_document->services().exportSize,
                       model = m_document->model()](const Progress& progress) {
        progress.check();
        ExportSize size = measure(*model, *target, request);
        return [this, target, size = std::move(size)] {
            m_sourceBytes = size.sourceBytes;
            if (const auto row = std::ranges::find(m_rows, target, &Row::target); row != m_rows.end())
                row->size = size;
        };
    };
    m_running = target;
    m_job = m_jobs->start(tr("Size of the export as %1")
                              .arg(QString::fromUtf8(target->name.data(), static_cast<qsizetype>(target->name.size()))),
                          JobRunner::Priority::immediate, work);
}

void ExportSizes::cancel() {
    m_pause.stop();
    m_running = nullptr;
    if (const JobRunner::Id job = std::exchange(m_job, 0))
        m_jobs->cancel(job);
}

void ExportSizes::end(quint64 job) {
    if (job != m_job || job == 0)
        return;
    m_job = 0;
    m_running = nullptr;
    emit changed();
    computeNext();
}

} // namespace secateur
