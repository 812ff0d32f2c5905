#include "widgets/weights/tile_run.h"

#include "widgets/weights/matrix_map.h"

#include <QTimer>

#include <utility>

namespace secateur {

namespace {

constexpr int pauseMs = 12; ///< shorter than a frame

} // namespace

TileRun::TileRun(MatrixMap* map, JobRunner* jobs, QObject* parent)
    : QObject(parent)
    , m_map(map)
    , m_jobs(jobs)
    , m_pause(new QTimer(this)) {
    m_scale.map = "vik";
    m_pause->setSingleShot(true);
    m_pause->setInterval(pauseMs);
    connect(m_pause, &QTimer::timeout, this, &TileRun::follow);
    connect(map, &MatrixMap::viewChanged, this, [this] {
        if (m_make && !m_pause->isActive())
            m_pause->start();
    });
    connect(jobs, &JobRunner::progressed, this, [this](quint64 job) {
        if (job == m_job && job != 0)
            takeCoarse();
    });
    connect(jobs, &JobRunner::failed, this, &TileRun::onEnded);
    connect(jobs, &JobRunner::cancelled, this,
            [this](quint64 job) { onEnded(job, tr("Cancelled. Zoom or scroll to go on.")); });
}

void TileRun::announce() {
    if (std::exchange(m_wasRunning, isRunning()) != isRunning())
        emit runningChanged(isRunning());
}

void TileRun::stop() {
    m_jobs->cancel(std::exchange(m_job, 0));
    m_incoming.reset();
    m_request.reset();
}

void TileRun::start(const QString& title, Maker make) {
    stop();
    m_title = title;
    m_range.reset();
    m_make = make ? std::make_shared<const Maker>(std::move(make)) : nullptr;
    m_map->dropTiles(false);
    follow();
}

void TileRun::restart(Maker make) {
    stop();
    m_range.reset();
    m_make = std::make_shared<const Maker>(std::move(make));
    m_map->dropTiles(true);
    follow();
}

void TileRun::setScale(const ColourScale& scale) {
    if (std::exchange(m_scale, scale) == scale || !m_make)
        return;
    m_range.reset();
    stop();
    m_map->dropTiles(true);
    follow();
}

void TileRun::follow() {
    request();
    announce();
}

/// Requests what the view lacks, unless it is being made.
void TileRun::request() {
    if (!m_make || !m_map->isVisible())
        return;
    const std::optional<TileRequest> wanted = m_map->wantedTile();
    if (!wanted)
        return stop();
    const CellWindow whole{0, 0, m_map->rows(), m_map->columns()};
    if (m_request == wanted || (m_job != 0 && m_request->window == whole && wanted->window == whole))
        return;
    stop();
    run(*wanted);
}

void TileRun::run(const TileRequest& request) {
    m_request = request;
    m_incoming = std::make_shared<Incoming>();
    const auto work = [this, request, make = m_make, incoming = m_incoming, scale = m_scale,
                       range = m_range](const Progress& progress) {
        const auto coarse = [&](MatrixTile tile) {
            paintTile(tile, scale, range);
            incoming->put([&](Made& made) { made.tile = std::move(tile); });
            progress.report(0.1, {});
        };
        MatrixTile tile = (*make)(request, coarse, progress);
        paintTile(tile, scale, range);
        return [this, incoming, tile = std::move(tile)]() mutable {
            if (incoming != m_incoming)
                return;
            m_job = 0;
            m_incoming.reset();
            m_request.reset();
            take(std::move(tile));
            follow(); // the view may have moved
        };
    };
    m_job = m_jobs->start(m_title, JobRunner::Priority::immediate, work);
}

void TileRun::takeCoarse() {
    if (std::optional<MatrixTile> tile = m_incoming ? m_incoming->take().tile : std::nullopt)
        take(std::move(*tile));
}

void TileRun::take(MatrixTile tile) {
    m_range = tile.range;
    m_map->setTile(std::make_shared<const MatrixTile>(std::move(tile)));
    emit shown();
}

/// A failure is shown in the place of the picture. The same part is not tried again until the view moves.
void TileRun::onEnded(quint64 job, const QString& message) {
    if (job == 0 || job != m_job)
        return;
    m_job = 0;
    m_incoming.reset();
    m_map->setReason(message);
    emit shown();
    announce();
}

} // namespace secateur
