#include "widgets/masks/mask_search.h"

#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"

#include <utility>

namespace secateur {

MaskSearch::MaskSearch(Document* document, JobRunner* jobs, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_jobs(jobs) {
    connect(jobs, &JobRunner::progressed, this, [this](quint64 job, double fraction, const QString&, double left) {
        if (job != m_job)
            return;
        m_fraction = fraction;
        m_secondsLeft = left;
        takeStep();
        emit changed();
    });
    connect(jobs, &JobRunner::finished, this, [this](quint64 job) { end(job, Outcome::done); });
    connect(jobs, &JobRunner::cancelled, this, [this](quint64 job) { end(job, Outcome::cancelled); });
    connect(jobs, &JobRunner::failed, this, [this](quint64 job) { end(job, Outcome::failed); });
}

/// The functions run on the thread of the job, and share with this object only what the mailbox and the flag hold.
PruneWatch MaskSearch::watch() const {
    PruneWatch watch;
    watch.made = [steps = m_steps](const PruneStep& made) {
        steps->put([&](std::optional<PruneStep>& latest) { latest = made; });
    };
    watch.isEnough = [isEnough = m_isEnough] { return isEnough->load(); };
    return watch;
}

void MaskSearch::start(const PruneRequest& request, const QString& action, std::int64_t tokens) {
    if (isRunning())
        return;
    m_steps = std::make_shared<Mailbox<std::optional<PruneStep>>>();
    m_isEnough = std::make_shared<std::atomic<bool>>(false);
    m_step.reset();
    m_preview.reset();
    m_fraction = 0;
    m_secondsLeft = -1;
    m_outcome = Outcome::running;
    m_job = m_document->maskJobs()->prune(request, action, watch(), tokens);
    emit changed();
}

void MaskSearch::stopAndKeep() {
    if (!isRunning())
        return;
    *m_isEnough = true;
    m_outcome = Outcome::stopping;
    emit changed();
}

void MaskSearch::cancel() {
    if (isRunning())
        m_jobs->cancel(m_job);
}

void MaskSearch::takeStep() {
    if (std::optional<PruneStep> latest = m_steps->take()) {
        m_step = std::move(latest);
        showPreview();
    }
}

bool MaskSearch::ownsPreview() const {
    return m_preview && m_document->masks()->preview() == m_preview;
}

/// Shows the mask so far, unless the user looks at another preview.
void MaskSearch::showPreview() {
    MaskEditor* masks = m_document->masks();
    if (masks->preview() && !ownsPreview())
        return;
    m_preview = m_step->mask;
    masks->setPreview(m_preview);
}

void MaskSearch::end(quint64 job, Outcome outcome) {
    if (job == 0 || job != m_job)
        return;
    m_job = 0;
    m_outcome = outcome;
    if (std::optional<PruneStep> latest = m_steps->take())
        m_step = std::move(latest);
    if (ownsPreview())
        m_document->masks()->setPreview({});
    m_preview.reset();
    if (outcome != Outcome::done)
        m_step.reset();
    emit changed();
}

} // namespace secateur
