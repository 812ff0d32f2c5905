#include "widgets/document.h"

#include "analysis/error.h"
#include "analysis/measure.h"
#include "analysis/text.h"
#include "widgets/mask_editor.h"

#include <QFileInfo>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

namespace secateur {

/// What an opening brings back from the worker.
struct Document::Opened {
    Session session;
    std::shared_ptr<const Model> model;
    QString sessionPath;
    QString notice;
};

namespace {

double exactError(double value) {
    return std::isnan(value) ? value : 0;
}

/// Standard errors of values that are all exact.
Matrix withoutErrors(const Matrix& values) {
    Matrix errors = values;
    std::ranges::transform(errors.values(), errors.values().begin(), exactError);
    return errors;
}

} // namespace

/// Layers on their way from the worker to the window.
struct Document::Incoming {
    struct Cells {
        Matrix values;
        Matrix errors;           ///< standard errors; empty until there is an estimate
        std::set<int> estimates; ///< layers
    };
    std::mutex mutex;
    std::vector<Cells> requests;
    std::set<std::size_t> changed;

    void take(const LayerCells& cells);
};

void Document::Incoming::take(const LayerCells& cells) {
    const std::lock_guard lock(mutex);
    Cells& kept = requests[cells.request];
    const auto layer = static_cast<std::size_t>(cells.layer);
    std::ranges::copy(cells.values, kept.values.row(layer).begin());
    if (cells.standardErrors.empty())
        kept.estimates.erase(cells.layer);
    else
        kept.estimates.insert(cells.layer);
    if (!cells.standardErrors.empty() && kept.errors.empty())
        kept.errors = withoutErrors(kept.values);
    if (!kept.errors.empty()) {
        const std::span<double> row = kept.errors.row(layer);
        std::ranges::transform(kept.values.row(layer), row.begin(), exactError);
        std::ranges::copy(cells.standardErrors, row.begin());
    }
    changed.insert(cells.request);
}

namespace {

/// Where a session's checkpoint may be: at its path, from here or from the session, or beside the session.
std::vector<std::string> checkpointCandidates(const std::string& modelPath, const std::string& sessionPath) {
    const std::filesystem::path stored = modelPath;
    const std::filesystem::path folder = std::filesystem::absolute(sessionPath).parent_path();
    std::vector<std::string> candidates;
    for (const auto& path : {stored, folder / stored, folder / stored.filename()}) {
        std::error_code ignored;
        if (!stored.empty() && std::filesystem::exists(path, ignored))
            candidates.push_back(path.string());
    }
    return candidates;
}

Matrix emptyValues(const MetricRequest& request, const ModelSpec& spec) {
    return Matrix(spec.layers.size(), columnsFor(request.info->scope, spec));
}

std::string jobTitle(const std::vector<MetricRequest>& requests) {
    std::vector<std::string> ids;
    for (const MetricRequest& request : requests)
        ids.push_back(request.resultId());
    return "Measuring " + join(ids, ", ");
}

} // namespace

bool Document::isModelFile(const QString& path) const {
    return std::ranges::any_of(m_engine.modelExtensions, [&](const std::string& extension) {
        return path.endsWith(QString::fromStdString(extension), Qt::CaseInsensitive);
    });
}

Document::Document(Engine engine, JobRunner* jobs, QObject* parent)
    : QObject(parent)
    , m_engine(std::move(engine))
    , m_jobs(jobs)
    , m_masks(new MaskEditor(this)) {
    for (auto change : {&MaskEditor::maskChanged, &MaskEditor::listChanged, &MaskEditor::protectionChanged})
        connect(m_masks, change, this, &Document::noteChange);
    connect(jobs, &JobRunner::progressed, this, &Document::onProgressed);
    connect(jobs, &JobRunner::finished, this, &Document::onFinished);
    connect(jobs, &JobRunner::cancelled, this, &Document::onCancelled);
    connect(jobs, &JobRunner::failed, this, &Document::onFailed);
}

Document::~Document() {
    m_jobs->cancelAll();
}

void Document::open(const QString& path) {
    m_jobs->cancel(m_opening);
    const auto work = [this, file = path.toStdString(), engine = m_engine](const Progress& progress) {
        Opened opened;
        if (engine.isSession(file)) {
            opened = readSession(engine, file, progress);
        } else {
            opened.model = engine.openModel(file, progress);
            opened.session.model = opened.model->card();
            opened.session.created = utcNow();
        }
        return [this, opened = std::move(opened)]() mutable { adopt(std::move(opened)); };
    };
    m_opening = m_jobs->start(tr("Opening %1").arg(QFileInfo(path).fileName()), JobRunner::Priority::interactive, work);
}

void Document::recover(const QString& autosaved, const QString& session) {
    m_jobs->cancel(m_opening);
    const auto work = [this, autosaved = autosaved.toStdString(), session = session.toStdString(),
                       engine = m_engine](const Progress& progress) {
        Opened opened = readSession(engine, autosaved, progress);
        opened.sessionPath.clear();
        std::error_code ignored;
        if (!session.empty() && std::filesystem::exists(session, ignored)) {
            Session base = engine.readSession(session);
            if (base.model.fingerprint == opened.session.model.fingerprint) {
                opened.session.results = std::move(base.results);
                opened.sessionPath = QString::fromStdString(session);
            }
        }
        return [this, opened = std::move(opened), autosaved]() mutable {
            adopt(std::move(opened));
            setModified(true);
            emit recovered(QString::fromStdString(autosaved));
        };
    };
    m_opening = m_jobs->start(tr("Restoring unsaved masks"), JobRunner::Priority::interactive, work);
}

Document::Opened Document::readSession(const Engine& engine, const std::string& path, const Progress& progress) {
    Opened opened;
    opened.session = engine.readSession(path);
    opened.sessionPath = QString::fromStdString(path);
    const ModelCard& card = opened.session.model;
    for (const std::string& candidate : checkpointCandidates(card.path, path)) {
        try {
            std::shared_ptr<const Model> model = engine.openModel(candidate, progress);
            if (model->fingerprint() == card.fingerprint) {
                opened.model = std::move(model);
                return opened;
            }
            opened.notice = tr("%1 is not the checkpoint this session was made from.").arg(candidate.c_str());
        } catch (const std::exception& error) {
            opened.notice = tr("The session's checkpoint does not open: %1").arg(error.what());
        }
    }
    if (opened.notice.isEmpty())
        opened.notice = tr("The checkpoint was not found at %1.").arg(card.path.c_str());
    opened.notice += tr(" All that is stored can be seen; File > Locate model… finds it for new measurements.");
    return opened;
}

void Document::adopt(Opened opened) {
    ++m_generation;
    for (const auto& [job, measuring] : std::exchange(m_measuring, {}))
        m_jobs->cancel(job);
    m_partial.clear();
    m_opening = 0;
    m_session = std::move(opened.session);
    m_model = std::move(opened.model);
    m_prices.emplace(m_session.model);
    m_open = true;
    adoptMasks();
    setSessionPath(opened.sessionPath);
    setModified(false);
    emit this->opened();
    if (!opened.notice.isEmpty())
        emit noticed(opened.notice);
    if (m_sessionPath.isEmpty())
        measure(parseMetricRequests("weights"));
}

void Document::locateModel(const QString& path) {
    const auto work = [this, file = path.toStdString(), open = m_engine.openModel, generation = m_generation,
                       expected = m_session.model.fingerprint](const Progress& progress) {
        std::shared_ptr<const Model> model = open(file, progress);
        if (model->fingerprint() != expected)
            throw Error("this is not the checkpoint the session was made from (its fingerprint differs)", file,
                        "Open it by itself to measure it");
        return [this, model = std::move(model), generation, file] {
            if (generation != m_generation)
                return;
            m_model = model;
            m_session.model.path = file;
            noteChange();
            emit modelLocated();
        };
    };
    m_smallJobs.insert(
        m_jobs->start(tr("Looking at %1").arg(QFileInfo(path).fileName()), JobRunner::Priority::interactive, work));
}

void Document::saveSession(const QString& path) {
    const auto work = [this, file = path.toStdString(), write = m_engine.writeSession, snapshot = snapshot(),
                       model = m_model, generation = m_generation, revision = m_revision](const Progress&) mutable {
        if (snapshot.model.fingerprint.empty() && model)
            snapshot.model.fingerprint = model->fingerprint();
        write(snapshot, file);
        return [this, file, generation, revision, fingerprint = snapshot.model.fingerprint] {
            if (generation != m_generation)
                return;
            m_session.model.fingerprint = fingerprint;
            setSessionPath(QString::fromStdString(file));
            setModified(revision != m_revision);
        };
    };
    const QString title = tr("Saving %1").arg(QFileInfo(path).fileName());
    m_saving.emplace(m_jobs->start(title, JobRunner::Priority::interactive, work), path);
}

void Document::measure(const std::vector<MetricRequest>& requests) {
    if (!m_model) {
        emit failed(tr("Measuring needs the checkpoint, which was not found. Use File > Locate model… first."));
        return;
    }
    Measuring measuring;
    for (const MetricRequest& request : requests)
        if (state(request.resultId()) != MetricState::computing)
            measuring.requests.push_back(request);
    if (measuring.requests.empty())
        return;
    measuring.incoming = std::make_shared<Incoming>();
    for (const MetricRequest& request : measuring.requests)
        measuring.incoming->requests.push_back({emptyValues(request, spec()), {}, {}});

    const auto id = std::make_shared<JobRunner::Id>(0); // known to the delivery, which runs after start() returned
    const auto work = [this, id, model = m_model, wanted = measuring.requests, measure = m_engine.measure,
                       incoming = measuring.incoming](const Progress& progress) {
        const LayerSink sink = [&incoming](const LayerCells& cells) { incoming->take(cells); };
        std::vector<MetricResult> results = measure(*model, wanted, progress, sink);
        progress.check();
        const std::string fingerprint = model->fingerprint();
        return [this, id, results = std::move(results), fingerprint]() mutable {
            takeResults(*id, std::move(results), fingerprint);
        };
    };
    *id = m_jobs->start(QString::fromStdString(jobTitle(measuring.requests)), JobRunner::Priority::background, work);
    m_measuring.emplace(*id, measuring);
    for (const MetricRequest& request : measuring.requests)
        emit stateChanged(QString::fromStdString(request.resultId()));
}

void Document::onProgressed(quint64 job) {
    const auto found = m_measuring.find(job);
    if (found != m_measuring.end())
        takeLayers(found->second);
}

void Document::takeLayers(const Measuring& measuring) {
    std::vector<QString> changed;
    {
        const std::lock_guard lock(measuring.incoming->mutex);
        for (std::size_t index : std::exchange(measuring.incoming->changed, {})) {
            const MetricRequest& request = measuring.requests[index];
            MetricResult& partial = m_partial[request.resultId()];
            partial.request = request;
            const Incoming::Cells& cells = measuring.incoming->requests[index];
            partial.values = cells.values;
            partial.standardError = cells.estimates.empty() ? std::nullopt : std::optional(cells.errors);
            changed.push_back(QString::fromStdString(request.resultId()));
        }
    }
    for (const QString& id : changed)
        emit resultChanged(id);
}

void Document::takeResults(JobRunner::Id job, std::vector<MetricResult> results, const std::string& fingerprint) {
    m_session.model.fingerprint = fingerprint;
    for (MetricResult& result : results) {
        for (const std::string& warning : result.warnings)
            emit noticed(QString::fromStdString(warning));
        result.measurement.fingerprint = fingerprint;
        add(m_session, std::move(result));
    }
    if (!m_sessionPath.isEmpty())
        noteChange();
    end(job);
}

void Document::end(JobRunner::Id job) {
    m_saving.erase(job);
    m_smallJobs.erase(job);
    if (job == m_opening)
        m_opening = 0;
    const auto measuring = m_measuring.extract(job);
    if (measuring.empty())
        return;
    for (const MetricRequest& request : measuring.mapped().requests) {
        const std::string id = request.resultId();
        m_partial.erase(id);
        emit stateChanged(QString::fromStdString(id));
        emit resultChanged(QString::fromStdString(id));
    }
}

void Document::onFinished(quint64 job) {
    const auto saving = m_saving.extract(job);
    end(job);
    if (!saving.empty())
        emit saved(saving.mapped());
}

void Document::onCancelled(quint64 job) {
    const auto saving = m_saving.extract(job);
    end(job);
    if (!saving.empty())
        emit failed(tr("Saving was cancelled: %1 is as it was.").arg(saving.mapped()));
}

void Document::onFailed(quint64 job, const QString& message) {
    const bool own =
        job == m_opening || m_saving.contains(job) || m_smallJobs.contains(job) || m_measuring.contains(job);
    end(job);
    if (own)
        emit failed(message);
}

MetricState Document::state(const std::string& resultId) const {
    for (const auto& [job, measuring] : m_measuring)
        for (const MetricRequest& request : measuring.requests)
            if (request.resultId() == resultId)
                return MetricState::computing;
    return m_session.latest(resultId) ? MetricState::done : MetricState::notComputed;
}

const MetricResult* Document::result(const std::string& resultId) const {
    const auto partial = m_partial.find(resultId);
    return partial != m_partial.end() ? &partial->second : m_session.latest(resultId);
}

std::vector<std::string> Document::resultIds() const {
    std::set<std::pair<std::size_t, std::string>> ids;
    const auto insert = [&ids](const MetricRequest& request) {
        const auto table = allMetrics();
        const auto row = std::ranges::find(table, request.info);
        ids.emplace(static_cast<std::size_t>(row - table.begin()), request.resultId());
    };
    for (const MetricResult& result : m_session.results)
        insert(result.request);
    for (const auto& [job, measuring] : m_measuring)
        std::ranges::for_each(measuring.requests, insert);
    std::vector<std::string> ordered;
    for (const auto& [row, id] : ids)
        ordered.push_back(id);
    return ordered;
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
