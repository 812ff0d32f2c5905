#include "widgets/jobs/job_runner.h"

#include "analysis/base/error.h"

#include <QCoreApplication>
#include <QEvent>
#include <QTimerEvent>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace secateur {

namespace {

using SteadyClock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr int progressIntervalMs = 33;
/// Below leastFraction of the work or leastSeconds, the estimate of the remaining time is too unstable to show.
constexpr double leastFraction = 0.02;
constexpr double leastSeconds = 0.3;

constexpr std::size_t priorities = 5;

double secondsLeft(double fraction, double seconds) {
    return fraction < leastFraction || seconds < leastSeconds ? -1 : seconds * (1 - fraction) / fraction;
}

/// The sentence of the exception that is being handled. The namespace is for lupdate, which loses it here.
std::string sentenceOfException() {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return secateur::JobRunner::tr("Not enough memory").toStdString();
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return secateur::JobRunner::tr("Failed with an unknown error").toStdString();
    }
}

} // namespace

struct JobRunner::Job {
    Id id = 0;
    QString title;
    Priority priority = Priority::background;
    Work work;
    std::stop_source stop;

    // Protected by State::mutex:
    double fraction = 0;
    std::string text;
    bool hasNews = false;
    SteadyClock::time_point began;
    Seconds waited{0}; ///< behind jobs of a higher priority
    bool isQueued = true;
    bool isPaused = false; ///< waits for jobs of a higher priority

    // The runner's thread only:
    QString waitsFor; ///< as waiting() said last
};

struct JobRunner::Outcome {
    enum class End { finished, cancelled, failed };
    Id id = 0;
    Priority priority = Priority::background;
    End end = End::finished;
    std::function<void()> deliver;
    std::string message;
};

/// State that the threads share, protected by `mutex`. The event posted to the GUI thread only says that there is news.
struct JobRunner::State {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::array<std::deque<std::shared_ptr<Job>>, priorities> queues; ///< by priority
    std::array<int, priorities> pending{};                           ///< queued or running, by priority
    std::array<std::shared_ptr<Job>, priorities> running;            ///< by priority; null = none
    std::deque<Outcome> outcomes;

    // Used only by the runner's own thread:
    std::map<Id, std::shared_ptr<Job>> jobs; ///< jobs whose last signal has not been emitted
    Id lastId = 0;
    int timer = 0;

    std::array<std::jthread, priorities> threads; ///< last member, so that it is joined before the others are destroyed

    std::deque<std::shared_ptr<Job>>& queue(Priority priority) { return queues[static_cast<std::size_t>(priority)]; }
    int& pendingOf(Priority priority) { return pending[static_cast<std::size_t>(priority)]; }
    bool mayRun(Priority priority) const {
        return std::all_of(pending.begin() + static_cast<std::ptrdiff_t>(priority) + 1, pending.end(),
                           [](int count) { return count == 0; });
    }
    const Job* blockerOf(const Job& job) const;
};

/// The job for which a job waits; null if it does not wait.
const JobRunner::Job* JobRunner::State::blockerOf(const Job& job) const {
    if (!job.isQueued && !job.isPaused)
        return nullptr;
    const auto own = static_cast<std::size_t>(job.priority);
    for (std::size_t lane = priorities; lane-- > own;) {
        const std::shared_ptr<Job> next = queues[lane].empty() ? nullptr : queues[lane].front();
        const Job* first = running[lane] ? running[lane].get() : next.get();
        if (first && first != &job)
            return first;
    }
    return nullptr;
}

JobRunner::JobRunner(QObject* parent)
    : QObject(parent)
    , m_state(std::make_unique<State>()) {
    for (std::size_t lane = 0; lane < priorities; ++lane)
        m_state->threads[lane] = std::jthread([this, lane](const std::stop_token& stop) { work(lane, stop); });
}

JobRunner::~JobRunner() {
    cancelAll();
    for (std::jthread& thread : m_state->threads)
        thread.request_stop();
    for (std::jthread& thread : m_state->threads)
        thread.join();
}

JobRunner::Id JobRunner::start(const QString& title, Priority priority, Work work) {
    auto job = std::make_shared<Job>();
    job->id = ++m_state->lastId;
    job->title = title;
    job->priority = priority;
    job->work = std::move(work);
    m_state->jobs.emplace(job->id, job);
    if (m_state->timer == 0)
        m_state->timer = startTimer(progressIntervalMs);
    const Id id = job->id;
    emit started(id, title);
    {
        const std::lock_guard lock(m_state->mutex);
        m_state->queue(priority).push_back(std::move(job));
        ++m_state->pendingOf(priority);
    }
    m_state->changed.notify_all();
    return id;
}

void JobRunner::cancel(Id id) {
    const auto found = m_state->jobs.find(id);
    if (found == m_state->jobs.end())
        return;
    const std::shared_ptr<Job> job = found->second;
    job->stop.request_stop();
    bool waiting = false; // a job that is still in the queue ends now
    {
        const std::lock_guard lock(m_state->mutex);
        waiting = std::erase(m_state->queue(job->priority), job) > 0;
    }
    if (waiting)
        hand({id, job->priority, Outcome::End::cancelled, {}, {}});
}

void JobRunner::cancelAll() {
    for (const auto& [id, job] : std::map(m_state->jobs))
        cancel(id);
}

void JobRunner::cancelBelow(Priority priority) {
    for (const auto& [id, job] : std::map(m_state->jobs))
        if (job->priority < priority)
            cancel(id);
}

bool JobRunner::isIdle() const {
    return m_state->jobs.empty();
}

void JobRunner::work(std::size_t lane, const std::stop_token& stop) {
    auto& queue = m_state->queues[lane];
    while (true) {
        std::shared_ptr<Job> job;
        {
            std::unique_lock lock(m_state->mutex);
            if (!m_state->changed.wait(lock, stop, [&] { return !queue.empty(); }))
                return;
            job = queue.front();
            queue.pop_front();
            job->isQueued = false;
            job->began = SteadyClock::now();
            m_state->running[lane] = job;
        }
        Outcome outcome = run(*job);
        job->work = nullptr; // releases what the work held here, not on the GUI thread
        {
            const std::lock_guard lock(m_state->mutex);
            m_state->running[lane] = nullptr;
        }
        hand(std::move(outcome));
    }
}

JobRunner::Outcome JobRunner::run(Job& job) {
    const auto report = [this, &job](double fraction, std::string_view text) {
        {
            const std::lock_guard lock(m_state->mutex);
            job.fraction = std::clamp(fraction, 0.0, 1.0);
            job.text = text;
            job.hasNews = true;
        }
        waitForOthers(job);
    };
    Outcome outcome;
    outcome.id = job.id;
    outcome.priority = job.priority;
    try {
        waitForOthers(job);
        outcome.deliver = job.work(Progress(report, job.stop.get_token()));
    } catch (const Cancelled&) {
        outcome.end = Outcome::End::cancelled;
    } catch (...) {
        outcome.end = Outcome::End::failed;
        outcome.message = sentenceOfException();
    }
    return outcome;
}

void JobRunner::waitForOthers(Job& job) {
    std::unique_lock lock(m_state->mutex);
    const auto from = SteadyClock::now();
    job.isPaused = true;
    const bool free = m_state->changed.wait(lock, job.stop.get_token(), [&] { return m_state->mayRun(job.priority); });
    job.isPaused = false;
    job.waited += SteadyClock::now() - from;
    if (!free)
        throw Cancelled();
}

void JobRunner::hand(Outcome outcome) {
    {
        const std::lock_guard lock(m_state->mutex);
        --m_state->pendingOf(outcome.priority);
        m_state->outcomes.push_back(std::move(outcome));
    }
    m_state->changed.notify_all();
    QCoreApplication::postEvent(this, new QEvent(QEvent::User));
}

bool JobRunner::event(QEvent* event) {
    if (event->type() != QEvent::User)
        return QObject::event(event);
    deliver();
    return true;
}

void JobRunner::deliver() {
    while (true) {
        Outcome outcome;
        {
            const std::lock_guard lock(m_state->mutex);
            if (m_state->outcomes.empty())
                break;
            outcome = std::move(m_state->outcomes.front());
            m_state->outcomes.pop_front();
        }
        try {
            end(std::move(outcome));
        } catch (...) { // a slot threw: the other jobs end with the next event
            QCoreApplication::postEvent(this, new QEvent(QEvent::User));
            throw;
        }
    }
    if (m_state->jobs.empty() && m_state->timer != 0)
        killTimer(std::exchange(m_state->timer, 0));
}

void JobRunner::end(Outcome outcome) {
    if (m_state->jobs.at(outcome.id)->stop.stop_requested())
        outcome.end = Outcome::End::cancelled;
    m_state->jobs.erase(outcome.id);
    if (outcome.end == Outcome::End::finished && outcome.deliver) {
        try {
            outcome.deliver();
        } catch (...) {
            outcome.end = Outcome::End::failed;
            outcome.message = sentenceOfException();
        }
    }
    if (outcome.end == Outcome::End::cancelled)
        emit cancelled(outcome.id);
    else if (outcome.end == Outcome::End::failed)
        emit failed(outcome.id, QString::fromStdString(outcome.message));
    else
        emit finished(outcome.id);
}

void JobRunner::timerEvent(QTimerEvent* event) {
    if (event->timerId() != m_state->timer)
        return QObject::timerEvent(event);
    reportProgress();
    reportWaiting();
}

void JobRunner::reportProgress() {
    struct News {
        Id id;
        double fraction;
        std::string text;
        double seconds;
    };
    std::vector<News> news;
    {
        const std::lock_guard lock(m_state->mutex);
        for (const auto& [id, job] : m_state->jobs) {
            if (!std::exchange(job->hasNews, false))
                continue;
            news.push_back(
                {id, job->fraction, job->text, Seconds(SteadyClock::now() - job->began - job->waited).count()});
        }
    }
    for (const News& item : news)
        emit progressed(item.id, item.fraction, QString::fromStdString(item.text),
                        secondsLeft(item.fraction, item.seconds));
}

void JobRunner::reportWaiting() {
    std::vector<std::pair<Id, QString>> changes;
    {
        const std::lock_guard lock(m_state->mutex);
        for (const auto& [id, job] : m_state->jobs) {
            const Job* blocker = m_state->blockerOf(*job);
            const QString title = blocker ? blocker->title : QString();
            if (std::exchange(job->waitsFor, title) != title)
                changes.emplace_back(id, title);
        }
    }
    for (const auto& [id, title] : changes)
        emit waiting(id, title);
}

} // namespace secateur
