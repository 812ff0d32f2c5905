#include "widgets/jobs/job_status.h"

#include "widgets/jobs/job_runner.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QToolButton>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

constexpr int statusSteps = 1000;
constexpr int titleCharacters = 44;
constexpr qint64 steadyMs = 2000; ///< a job without progress for longer gives way to one with progress

} // namespace

QString timeLeftText(double seconds) {
    if (seconds < 90)
        return JobStatus::tr("%1 s left").arg(std::max(1L, std::lround(seconds)));
    return JobStatus::tr("%1 min left").arg(std::lround(seconds / 60));
}

JobStatus::JobStatus(JobRunner* jobs, QWidget* parent)
    : QWidget(parent)
    , m_jobs(jobs)
    , m_title(new QToolButton)
    , m_bar(new QProgressBar)
    , m_left(new QLabel)
    , m_cancel(new QToolButton) {
    m_title->setAutoRaise(true);
    m_title->setAccessibleName(tr("Work in progress"));
    m_bar->setTextVisible(false);
    m_bar->setFixedWidth(fontMetrics().averageCharWidth() * 14);
    m_bar->setFixedHeight(fontMetrics().height() * 2 / 3);
    m_bar->setAccessibleName(tr("Progress of the work"));
    m_left->setMinimumWidth(fontMetrics().horizontalAdvance(timeLeftText(59 * 60)));
    m_left->setAccessibleName(tr("Time left"));
    m_cancel->setText(tr("Cancel"));
    m_cancel->setAutoRaise(true);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    for (QWidget* part : {static_cast<QWidget*>(m_title), static_cast<QWidget*>(m_bar), static_cast<QWidget*>(m_left),
                          static_cast<QWidget*>(m_cancel)})
        row->addWidget(part);
    hide();
    m_clock.start();
    connect(m_title, &QToolButton::clicked, this, &JobStatus::jobsWanted);
    connect(m_cancel, &QToolButton::clicked, this, [this] { m_jobs->cancel(m_shown); });
    connect(jobs, &JobRunner::started, this, [this](quint64 id, const QString& title) {
        m_running[id].title = title;
        choose();
    });
    connect(jobs, &JobRunner::progressed, this,
            [this](quint64 id, double fraction, const QString&, double left) { update(id, fraction, left); });
    connect(jobs, &JobRunner::finished, this, &JobStatus::end);
    connect(jobs, &JobRunner::cancelled, this, &JobStatus::end);
    connect(jobs, &JobRunner::failed, this, &JobStatus::end);
}

void JobStatus::update(quint64 id, double fraction, double secondsLeft) {
    Job& job = m_running[id];
    job.fraction = fraction;
    job.secondsLeft = secondsLeft;
    job.progressed = m_clock.elapsed();
    choose();
}

void JobStatus::end(quint64 id) {
    m_running.erase(id);
    choose();
}

void JobStatus::choose() {
    const auto current = m_running.find(m_shown);
    const bool isSteady = current != m_running.end() && current->second.progressed >= 0 &&
                          m_clock.elapsed() - current->second.progressed < steadyMs;
    if (!isSteady) {
        const auto latest =
            std::ranges::max_element(m_running, {}, [](const auto& entry) { return entry.second.progressed; });
        m_shown = latest == m_running.end() ? 0 : latest->first;
    }
    display();
}

void JobStatus::display() {
    setVisible(m_shown != 0);
    if (m_shown == 0)
        return;
    const Job& job = m_running.at(m_shown);
    const QString more = m_running.size() > 1 ? tr(" (and %1 more)").arg(m_running.size() - 1) : QString();
    const int room = fontMetrics().averageCharWidth() * titleCharacters - fontMetrics().horizontalAdvance(more);
    m_title->setText(fontMetrics().elidedText(job.title, Qt::ElideRight, room) + more);
    m_title->setToolTip(tr("%1\nClick to show the jobs").arg(job.title));
    m_bar->setRange(0, job.fraction < 0 ? 0 : statusSteps);
    m_bar->setValue(static_cast<int>(std::lround(std::max(job.fraction, 0.0) * statusSteps)));
    m_left->setText(job.secondsLeft < 0 ? QString() : timeLeftText(job.secondsLeft));
    m_cancel->setAccessibleName(tr("Cancel %1").arg(job.title));
    m_cancel->setToolTip(m_cancel->accessibleName());
}

} // namespace secateur
