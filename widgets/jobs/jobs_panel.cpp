#include "widgets/jobs/jobs_panel.h"

#include "widgets/jobs/elided_label.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/jobs/job_status.h"

#include <QElapsedTimer>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

namespace {

constexpr int mostEnded = 20;
constexpr int barSteps = 1000;

} // namespace

class JobsPanel::Row : public QWidget {
public:
    explicit Row(const QString& title)
        : m_title(new ElidedLabel(title))
        , m_text(new ElidedLabel)
        , m_bar(new QProgressBar)
        , m_cancel(new QToolButton) {
        m_text->setForegroundRole(QPalette::PlaceholderText);
        m_bar->setRange(0, 0);
        m_bar->setTextVisible(false);
        m_bar->setFixedWidth(fontMetrics().averageCharWidth() * 24);
        m_bar->setFixedHeight(fontMetrics().height() * 2 / 3);
        m_bar->setAccessibleName(JobsPanel::tr("Progress of %1").arg(title));
        m_cancel->setText(JobsPanel::tr("Cancel"));
        m_cancel->setAccessibleName(JobsPanel::tr("Cancel %1").arg(title));
        m_cancel->setToolTip(m_cancel->accessibleName());
        auto* row = new QHBoxLayout(this);
        row->setContentsMargins(0, 0, 0, 0);
        row->addWidget(m_title);
        row->addWidget(m_text, 1);
        row->addWidget(m_bar);
        row->addWidget(m_cancel);
        m_clock.start();
    }

    QToolButton* cancelButton() const { return m_cancel; }

    void update(double fraction, const QString& text, double secondsLeft) {
        m_bar->setRange(0, barSteps);
        m_bar->setValue(static_cast<int>(std::lround(fraction * barSteps)));
        m_text->setText(secondsLeft < 0 ? text : text + QStringLiteral(" · ") + timeLeftText(secondsLeft));
    }

    /// @param title of the job that this one waits for; empty = it goes on
    void wait(const QString& title) {
        m_text->setText(title.isEmpty() ? QString() : JobsPanel::tr("waits for %1").arg(title));
    }

    void end(const QString& how, const QString& tip) {
        m_bar->hide();
        m_cancel->hide();
        m_title->setForegroundRole(QPalette::PlaceholderText);
        const double seconds = static_cast<double>(m_clock.elapsed()) / 1000;
        m_text->setText(JobsPanel::tr("%1 after %2 s").arg(how, QString::number(seconds, 'f', seconds < 10 ? 2 : 0)));
        m_text->setToolTip(tip);
    }

private:
    ElidedLabel* m_title;
    ElidedLabel* m_text;
    QProgressBar* m_bar;
    QToolButton* m_cancel;
    QElapsedTimer m_clock;
};

JobsPanel::JobsPanel(JobRunner* jobs, QWidget* parent)
    : QScrollArea(parent)
    , m_jobs(jobs)
    , m_column(new QVBoxLayout)
    , m_empty(new QLabel(tr("No jobs are running. Measurements, evaluations, sweeps and exports appear here."))) {
    auto* content = new QWidget;
    content->setLayout(m_column);
    m_column->setContentsMargins(8, 4, 8, 4);
    m_column->setSpacing(2);
    m_empty->setForegroundRole(QPalette::PlaceholderText);
    m_column->addWidget(m_empty);
    m_column->addStretch();
    setWidget(content);
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff); // long titles are elided, so that the buttons stay in sight
    setFrameShape(QFrame::NoFrame);
    setAccessibleName(tr("Jobs"));
    setWhatsThis(tr("The work in progress, the latest first. Work that has ended stays for a while."));
    connect(jobs, &JobRunner::started, this, &JobsPanel::add);
    connect(jobs, &JobRunner::progressed, this, &JobsPanel::update);
    connect(jobs, &JobRunner::waiting, this, [this](quint64 id, const QString& title) { m_rows.at(id)->wait(title); });
    connect(jobs, &JobRunner::finished, this, [this](quint64 id) { end(id, tr("done")); });
    connect(jobs, &JobRunner::cancelled, this, [this](quint64 id) { end(id, tr("cancelled")); });
    connect(jobs, &JobRunner::failed, this,
            [this](quint64 id, const QString& message) { end(id, tr("failed"), message); });
}

void JobsPanel::add(quint64 id, const QString& title) {
    auto* row = new Row(title);
    m_column->insertWidget(0, row);
    m_rows[id] = row;
    connect(row->cancelButton(), &QToolButton::clicked, m_jobs, [jobs = m_jobs, id] { jobs->cancel(id); });
    m_empty->hide();
    removeOldRows();
}

/// Removes the oldest rows of jobs that have ended. Rows of jobs that run stay.
void JobsPanel::removeOldRows() {
    // The last two items are the stretch and the hidden text for an empty list.
    int tooMany = m_column->count() - 2 - static_cast<int>(m_rows.size()) - mostEnded;
    for (int place = m_column->count() - 3; place >= 0 && tooMany > 0; --place) {
        QWidget* row = m_column->itemAt(place)->widget();
        if (std::ranges::any_of(m_rows, [row](const auto& running) { return running.second == row; }))
            continue;
        m_column->removeWidget(row);
        row->deleteLater();
        --tooMany;
    }
}

void JobsPanel::update(quint64 id, double fraction, const QString& text, double secondsLeft) {
    m_rows.at(id)->update(fraction, text, secondsLeft);
}

void JobsPanel::end(quint64 id, const QString& how, const QString& tip) {
    m_rows.at(id)->end(how, tip);
    m_rows.erase(id);
}

} // namespace secateur
