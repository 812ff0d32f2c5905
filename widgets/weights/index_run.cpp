#include "widgets/weights/index_run.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace secateur {

namespace {

constexpr std::chrono::milliseconds jobTime(120);
constexpr std::size_t mostItems = 64; ///< of a job

} // namespace

IndexRun::IndexRun(JobRunner* jobs, const QString& title, QObject* parent)
    : QObject(parent)
    , m_jobs(jobs)
    , m_title(title) {
    connect(jobs, &JobRunner::failed, this, &IndexRun::onEnded);
    connect(jobs, &JobRunner::cancelled, this, &IndexRun::onEnded);
}

void IndexRun::stop() {
    m_jobs->cancel(std::exchange(m_job, 0));
    m_items.clear();
    m_running.clear();
}

void IndexRun::start(std::deque<std::size_t> items, Work work, JobRunner::Priority priority) {
    stop();
    m_items = std::move(items);
    m_work = std::make_shared<const Work>(std::move(work));
    m_priority = priority;
    next();
}

void IndexRun::putFirst(std::size_t index) {
    if (std::ranges::find(m_running, index) != m_running.end())
        return;
    std::erase(m_items, index);
    m_items.push_front(index);
    next();
}

void IndexRun::pause() {
    m_isPaused = true;
    if (m_job == 0)
        return;
    m_jobs->cancel(std::exchange(m_job, 0));
    m_items.insert(m_items.begin(), m_running.begin(), m_running.end());
    m_running.clear();
}

void IndexRun::resume() {
    m_isPaused = false;
    next();
}

void IndexRun::next() {
    if (m_job != 0 || m_isPaused || m_items.empty() || !m_work)
        return;
    const auto count = static_cast<std::ptrdiff_t>(std::min(m_items.size(), mostItems));
    m_running.assign(m_items.begin(), m_items.begin() + count);
    m_items.erase(m_items.begin(), m_items.begin() + count);
    const auto work = [this, items = m_running, work = m_work](const Progress& progress) {
        const auto end = std::chrono::steady_clock::now() + jobTime;
        std::vector<std::function<void()>> deliveries;
        for (const std::size_t item : items) {
            progress.report(static_cast<double>(deliveries.size()) / static_cast<double>(items.size()), {});
            deliveries.push_back((*work)(item, progress));
            if (std::chrono::steady_clock::now() >= end)
                break;
        }
        return [this, deliveries = std::move(deliveries)] {
            m_job = 0;
            m_items.insert(m_items.begin(), m_running.begin() + static_cast<std::ptrdiff_t>(deliveries.size()),
                           m_running.end());
            m_running.clear();
            for (const auto& deliver : deliveries)
                if (deliver)
                    deliver();
            emit advanced();
            next();
        };
    };
    m_job = m_jobs->start(m_title, m_priority, work);
}

/// Called when the user cancels the job, for this object sets m_job to 0 before it cancels.
void IndexRun::onEnded(quint64 job) {
    if (job == 0 || job != m_job)
        return;
    m_job = 0;
    m_items.clear();
    m_running.clear();
    emit cancelled();
}

} // namespace secateur
