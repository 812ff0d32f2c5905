#include "widgets/gallery/gallery_contents.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/gallery/figure_table.h"
#include "analysis/running/run_speed.h"
#include "widgets/document/calibration.h"
#include "widgets/document/commands.h"
#include "widgets/document/document.h"
#include "widgets/document/measurements.h"
#include "widgets/gallery/gallery_runs.h"
#include "widgets/gallery/gallery_steps.h"

#include <QFileInfo>
#include <QPointer>
#include <QTimer>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

namespace {

constexpr int settleMs = 250;

/// The sentence of a failure. A library's message is followed by lines that are not for users.
QString firstLineOf(const std::exception& error) {
    return QString::fromUtf8(error.what()).section('\n', 0, 0);
}

/// What a session lacks, as a sentence about the session.
DrawnItem missingFrom(const Session& session, const Error& error) {
    const QString message = QString::fromStdString(error.message());
    const bool isOfSession = error.subject() == session.model.name || error.subject() == session.model.path;
    const QString reason = isOfSession ? GalleryContents::tr("The session %1.").arg(message)
                                       : QString::fromUtf8(Error(error.message(), error.subject()).what());
    return {nullptr, reason, QString::fromStdString(error.hint())};
}

FigureRequest galleryRequest(const FigureInfo& item, const std::string& text) {
    return parseFigureRequest(text, std::span(&item, 1));
}

DrawnItem drawnFrom(const Session& session, const FigureInfo& item, const std::string& text,
                    const std::string& source) {
    try {
        Figure figure = drawFigure(galleryRequest(item, text), session);
        figure.command = source.empty() ? std::string() : shellText(plotCommand(source, text));
        return {std::make_shared<const Figure>(std::move(figure))};
    } catch (const Error& error) {
        return missingFrom(session, error);
    } catch (const std::exception& error) {
        return {nullptr, firstLineOf(error)};
    }
}

} // namespace

GalleryContents::GalleryContents(Document* document, JobRunner* jobs, GallerySteps* steps,
                                 std::vector<GalleryPaper> papers, PromptSource prompt, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_jobs(jobs)
    , m_steps(steps)
    , m_papers(std::move(papers))
    , m_prompt(std::move(prompt))
    , m_refresh(new QTimer(this)) {
    m_refresh->setSingleShot(true);
    m_refresh->setInterval(settleMs);
    connect(m_refresh, &QTimer::timeout, this, &GalleryContents::begin);
    connect(document, &Document::opened, this, &GalleryContents::forget);
    for (const auto change : {&Document::modelLocated, &Document::evaluationsChanged, &Document::curvesChanged,
                              &Document::sessionPathChanged})
        connect(document, change, this, &GalleryContents::refresh);
    connect(document->measurements(), &Measurements::stateChanged, this, &GalleryContents::refresh);
    connect(document->calibration(), &Calibration::changed, this, &GalleryContents::stepsChanged);
    connect(jobs, &JobRunner::progressed, this, [this](quint64 job, double fraction) {
        if (const auto run = m_runs.find(job); run != m_runs.end())
            emit itemChanged(run->second, fraction);
    });
    connect(jobs, &JobRunner::finished, this, [this](quint64 job) { endRun(job, {}); });
    connect(jobs, &JobRunner::failed, this, &GalleryContents::endRun);
    connect(jobs, &JobRunner::cancelled, this, [this](quint64 job) { endRun(job, tr("Cancelled.")); });
    const auto next = [this](quint64 job) {
        if (job != m_job)
            return;
        m_job = 0;
        drawNext();
    };
    connect(&m_own, &JobRunner::finished, this, next);
    connect(&m_own, &JobRunner::failed, this, next);
    connect(&m_own, &JobRunner::cancelled, this, next);
}

void GalleryContents::setActive(bool active) {
    m_isActive = active;
    if (!active)
        return;
    m_document->calibration()->prepare(); // for the expected times
    if (m_isOld)
        m_refresh->start(0);
    else
        drawNext();
}

void GalleryContents::setChoice(SweepSize size, const QString& folder) {
    m_size = size;
    m_folder = folder;
    refresh();
}

const DrawnItem* GalleryContents::item(const FigureInfo& item) const {
    const auto found = m_items.find(&item);
    return found == m_items.end() ? nullptr : &found->second;
}

const std::vector<RecipeStep>& GalleryContents::steps(const GalleryPaper& paper) const {
    static const std::vector<RecipeStep> none;
    const auto found = m_found.find(paper.id);
    return found == m_found.end() ? none : found->second;
}

double GalleryContents::tokens(const std::vector<const RecipeStep*>& steps) {
    double sum = 0;
    for (const RecipeStep* step : steps)
        sum += step->tokens;
    return sum;
}

std::optional<double> GalleryContents::seconds(const std::vector<const RecipeStep*>& steps) const {
    const Calibration::Known* known = m_document->calibration()->known();
    if (!known)
        return std::nullopt;
    constexpr int usualLength = 512;
    const ModelSpec& spec = m_document->spec();
    const int length = spec.context > 0 ? std::min<int>(usualLength, static_cast<int>(spec.context)) : usualLength;
    const auto count = static_cast<std::int64_t>(tokens(steps));
    const double loading = known->loadingSeconds * static_cast<double>(steps.size());
    return loading + runSeconds(known->speed, spec, PruningMask(spec), {count, length, count});
}

std::optional<double> GalleryContents::seconds(const FigureInfo& item) const {
    const Calibration::Known* known = m_document->calibration()->known();
    const double passes = passesOf(item);
    return known && passes > 0 ? std::optional(m_document->calibration()->seconds(passes)) : std::nullopt;
}

/// Draws again when the session has settled. A change during the pause does not lengthen it.
void GalleryContents::refresh() {
    m_isOld = true;
    if (m_isActive && !m_refresh->isActive())
        m_refresh->start(settleMs);
}

/// Another model or session is open.
void GalleryContents::forget() {
    for (const auto& [job, item] : std::exchange(m_runs, {}))
        m_jobs->cancel(job);
    m_items.clear();
    m_found.clear();
    m_stale.clear();
    m_session.reset();
    emit sessionChanged();
    if (m_isActive)
        m_document->calibration()->prepare();
    refresh();
}

void GalleryContents::begin() {
    m_isOld = false;
    m_session = m_document->isOpen() ? std::make_shared<const Session>(m_document->session()) : nullptr;
    m_source = m_document->sessionPath().isEmpty()
                   ? std::string()
                   : QFileInfo(m_document->sessionPath()).absoluteFilePath().toStdString();
    m_hasSteps = false;
    m_stale.clear();
    for (const GalleryPaper& paper : m_papers)
        for (const FigureInfo* item : paper.items)
            if (m_session && isFromSession(*item))
                m_stale.insert(item);
    emit sessionChanged();
    if (m_job == 0)
        drawNext();
}

/// Finds the steps first, as the items show what is missing and what it costs.
void GalleryContents::findSteps() {
    m_hasSteps = true;
    RecipeChoice choice = m_steps->choice();
    choice.size = m_size;
    const auto work = [this, session = m_session, choice, papers = m_papers, folder = m_folder.toStdString(),
                       find = m_document->services().findFiles](const Progress&) mutable {
        Found found;
        try {
            if (find && !folder.empty())
                found.files = find(folder, recipeFiles());
        } catch (const Error&) {
            found.files = {}; // the folder was removed
        }
        choice.files = found.files.paths;
        choice.bytes = found.files.bytes;
        for (const GalleryPaper& paper : papers) {
            try {
                found.steps[paper.id] = session ? paper.steps(choice, *session) : std::vector<RecipeStep>();
            } catch (const Error&) {
                found.steps[paper.id].clear(); // the model suits no step
            }
        }
        return [this, found = std::move(found)]() mutable {
            m_files = std::move(found.files);
            m_found = std::move(found.steps);
            m_steps->setChoice(m_size, m_files);
            emit stepsChanged();
        };
    };
    m_job = m_own.start({}, JobRunner::Priority::background, work);
}

void GalleryContents::drawNext() {
    if (m_job != 0 || !m_isActive)
        return;
    if (!m_hasSteps)
        return findSteps();
    if (m_stale.empty())
        return;
    const auto isStale = [this](const FigureInfo* item) { return m_stale.contains(item); };
    const auto wanted = std::ranges::find_if(m_wanted, isStale);
    startDrawing(wanted == m_wanted.end() ? **m_stale.begin() : **wanted);
}

void GalleryContents::startDrawing(const FigureInfo& item) {
    m_stale.erase(&item);
    const auto work = [this, &item, session = m_session, source = m_source](const Progress&) {
        DrawnItem drawn = drawnFrom(*session, item, std::string(item.id), source);
        return [this, &item, session, drawn = std::move(drawn)] {
            if (session == m_session) // otherwise it will be drawn again
                take(item, drawn);
        };
    };
    m_job = m_own.start({}, JobRunner::Priority::background, work);
}

void GalleryContents::take(const FigureInfo& item, DrawnItem drawn) {
    m_items[&item] = std::move(drawn);
    emit itemChanged(&item, -1);
}

void GalleryContents::draw(const FigureInfo& item, const std::string& request, QObject* receiver, Receiver receive) {
    if (!m_session)
        return;
    const auto work = [&item, request, session = m_session, source = m_source, to = QPointer<QObject>(receiver),
                       receive = std::move(receive)](const Progress&) {
        const DrawnItem drawn = drawnFrom(*session, item, request, source);
        return [to, receive, drawn] {
            if (to)
                receive(drawn);
        };
    };
    m_own.start({}, JobRunner::Priority::interactive, work);
}

QString GalleryContents::whyNotRun(const FigureInfo& item) const {
    if (!m_document->model())
        return tr("It runs the model, whose checkpoint was not found: File > Locate model…");
    return canRun(item, m_document->services()) ? QString() : tr("This program cannot run the model on a text.");
}

void GalleryContents::run(const FigureInfo& item, const std::string& request) {
    if (isFromSession(item) || isRunning(item) || !whyNotRun(item).isEmpty())
        return;
    ItemRun run{.model = m_document->model(), .path = modelPath(*m_document), .request = galleryRequest(item, request)};
    run.prompt = m_prompt ? m_prompt().toStdString() : std::string();
    run.text = m_document->measurements()->measureChoice();
    if (const Calibration::Known* known = m_document->calibration()->known())
        run.text = known->choice;
    const auto work = [this, &item, run, services = m_document->services(),
                       generation = m_document->generation()](const Progress& progress) {
        auto figure = std::make_shared<const Figure>(runItem(run, services, progress));
        return [this, &item, figure, generation] {
            if (generation == m_document->generation())
                m_items[&item] = {figure};
        };
    };
    const QString title = tr("%1 of the gallery").arg(itemTitle(item));
    m_runs[m_jobs->start(title, JobRunner::Priority::background, work)] = &item;
    emit itemChanged(&item, 0);
}

bool GalleryContents::isRunning(const FigureInfo& item) const {
    return std::ranges::any_of(m_runs, [&](const auto& run) { return run.second == &item; });
}

void GalleryContents::stop(const FigureInfo& item) {
    for (const auto& [job, running] : std::map(m_runs)) // a copy: cancel() may end the job at once
        if (running == &item)
            m_jobs->cancel(job);
}

void GalleryContents::endRun(quint64 job, const QString& failure) {
    const auto run = m_runs.extract(job);
    if (run.empty())
        return;
    const FigureInfo* item = run.mapped();
    if (!failure.isEmpty())
        m_items[item] = {nullptr, failure};
    emit itemChanged(item, -1);
}

QString aboutTime(double seconds) {
    constexpr double minute = 60;
    constexpr double hour = 60 * minute;
    if (seconds < 1.5 * minute)
        return GalleryContents::tr("about %1 s").arg(std::max(1.0, std::ceil(seconds)));
    if (seconds < 1.5 * hour)
        return GalleryContents::tr("about %1 min").arg(std::ceil(seconds / minute));
    return GalleryContents::tr("about %1 h").arg(std::ceil(seconds / hour));
}

QString costText(const std::optional<double>& seconds, double tokens) {
    if (seconds)
        return aboutTime(*seconds);
    return tokens > 0 ? GalleryContents::tr("about %1 tokens").arg(QString::fromStdString(shortCount(tokens)))
                      : QString();
}

} // namespace secateur
