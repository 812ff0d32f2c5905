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

constexpr std::size_t priorities = 3;

double secondsLeft(double fraction, double seconds) {
    return fraction < leastFraction || seconds < leastSeconds ? -1 : seconds * (1 - fraction) / fraction;
}

} // namespace

struct JobRunner::Job {
    Id id = 0;
    Priority priority = Priority::background;
    Work work;
    std::stop_source stop;

    // Protected by State::mutex:
    double fraction = 0;
    std::string text;
    bool hasNews = false;
    SteadyClock::time_point began;
    Seconds waited{0}; ///< time spent waiting for jobs of a higher priority
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
    std::array<std::deque<std::shared_ptr<Job>>, priorities> queues; ///< queued jobs by priority
    std::array<int, priorities> pending{};                           ///< number of queued or running jobs by priority
    std::vector<Outcome> outcomes;

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
};

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
    std::vector<Id> ids;
    for (const auto& [id, job] : m_state->jobs)
        ids.push_back(id);
    for (Id id : ids)
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
            job->began = SteadyClock::now();
        }
        Outcome outcome = run(*job);
        job->work = nullptr; // destroys the captured values here, not on the GUI thread
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
    } catch (const std::bad_alloc&) {
        outcome.end = Outcome::End::failed;
        outcome.message = "Not enough memory";
    } catch (const std::exception& error) {
        outcome.end = Outcome::End::failed;
        outcome.message = error.what();
    } catch (...) {
        outcome.end = Outcome::End::failed;
        outcome.message = "Failed with an unknown error";
    }
    return outcome;
}

void JobRunner::waitForOthers(Job& job) {
    std::unique_lock lock(m_state->mutex);
    const auto from = SteadyClock::now();
    const bool free = m_state->changed.wait(lock, job.stop.get_token(), [&] { return m_state->mayRun(job.priority); });
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
    std::vector<Outcome> outcomes;
    {
        const std::lock_guard lock(m_state->mutex);
        outcomes.swap(m_state->outcomes);
    }
    for (Outcome& outcome : outcomes) {
        const bool dropped = m_state->jobs.at(outcome.id)->stop.stop_requested();
        m_state->jobs.erase(outcome.id);
        if (dropped || outcome.end == Outcome::End::cancelled) {
            emit cancelled(outcome.id);
        } else if (outcome.end == Outcome::End::failed) {
            emit failed(outcome.id, QString::fromStdString(outcome.message));
        } else {
            if (outcome.deliver)
                outcome.deliver();
            emit finished(outcome.id);
        }
    }
    if (m_state->jobs.empty() && m_state->timer != 0)
        killTimer(std::exchange(m_state->timer, 0));
}

void JobRunner::timerEvent(QTimerEvent* event) {
    if (event->timerId() == m_state->timer)
        reportProgress();
    else
        QObject::timerEvent(event);
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

} // namespace secateur
