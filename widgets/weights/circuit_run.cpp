#include "widgets/weights/circuit_run.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/weights/block_pyramid.h"
#include "widgets/document/document.h"
#include "widgets/weights/index_run.h"
#include "widgets/weights/matrix_tile.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

namespace secateur {

namespace {

constexpr std::int64_t computedAtOnce = 1 << 20; ///< numbers of a map

std::shared_ptr<const HeadCircuit> circuitOf(const Model& model, HeadId head, CircuitKind kind, CircuitOptions options,
                                             const Progress& progress) {
    const LayerSpec& layer = model.spec().layers[static_cast<std::size_t>(head.layer)];
    if (!hasCircuit(layer, kind))
        return nullptr;
    if (kind == CircuitKind::outputValue)
        options = {options.foldNorm, false, false};
    return std::make_shared<const HeadCircuit>(headCircuit(model, head, kind, options, progress));
}

QImage thumbnailOf(const std::shared_ptr<const HeadCircuit>& circuit) {
    if (!circuit)
        return {};
    BlockPyramid pyramid(circuitGrid(circuit));
    const std::int64_t rows = pyramid.grid().rows();
    const std::int64_t columns = pyramid.grid().columns();
    const std::int64_t blockRows = blockSize(rows, CircuitRun::thumbnailSide);
    const std::int64_t blockColumns = blockSize(columns, CircuitRun::thumbnailSide);
    const GridWindow whole{0, 0, rows, columns};
    BlockPicture picture = rows * columns > computedAtOnce ? pyramid.sampled(whole, blockRows, blockColumns)
                                                           : pyramid.picture(whole, blockRows, blockColumns);
    MatrixTile tile;
    tile.rows = static_cast<int>(picture.height);
    tile.columns = static_cast<int>(picture.width);
    tile.values = std::move(picture.largest);
    paintTile(tile, {"vik", ScaleKind::linear, 1}, {});
    return tile.picture;
}

} // namespace

CircuitRun::CircuitRun(Document* document, JobRunner* jobs, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_jobs(jobs)
    , m_small(new IndexRun(jobs, tr("Circuits of heads"), this)) {
    connect(document, &Document::opened, this, &CircuitRun::restart);
    connect(document, &Document::modelLocated, this, &CircuitRun::restart);
    connect(jobs, &JobRunner::failed, this, &CircuitRun::onEnded);
    connect(jobs, &JobRunner::cancelled, this,
            [this](quint64 job) { onEnded(job, tr("Cancelled. Choose a head to go on.")); });
}

bool CircuitRun::isAvailable() const {
    return m_document->model() != nullptr;
}

bool CircuitRun::isDone() const {
    return m_job == 0 && m_small->isDone();
}

void CircuitRun::setOptions(const CircuitOptions& options) {
    if (std::exchange(m_options, options) != options)
        restart();
}

void CircuitRun::restart() {
    m_jobs->cancel(std::exchange(m_job, 0));
    m_small->stop();
    ++m_round;
    m_head.reset();
    m_wanted.reset();
    m_circuits = {};
    m_thumbnails.clear();
    m_failure.clear();
    emit restarted();
}

void CircuitRun::show(HeadId head) {
    if (!isAvailable() || (m_job != 0 ? m_wanted : m_head) == head)
        return;
    m_jobs->cancel(m_job);
    m_small->pause();
    m_wanted = head;
    m_failure.clear();
    const auto work = [this, model = m_document->model(), head, options = m_options,
                       round = m_round](const Progress& progress) {
        HeadCircuits found{circuitOf(*model, head, CircuitKind::queryKey, options, progress),
                           circuitOf(*model, head, CircuitKind::outputValue, options, progress)};
        return [this, head, round, found = std::move(found)] {
            if (round != m_round)
                return;
            m_job = 0;
            m_head = head;
            m_circuits = found;
            m_small->resume();
            emit circuitsChanged();
        };
    };
    m_job = m_jobs->start(tr("Circuits of %1").arg(QString::fromStdString(headName(head.layer, head.head))),
                          JobRunner::Priority::immediate, work);
}

void CircuitRun::showThumbnails(const std::vector<HeadId>& heads) {
    if (!isAvailable())
        return;
    std::deque<std::size_t> items;
    m_heads = heads;
    for (std::size_t i = 0; i < heads.size(); ++i)
        if (!m_thumbnails.contains(heads[i]))
            items.push_back(i);
    const auto work = [this, model = m_document->model(), heads, options = m_options,
                       round = m_round](std::size_t item, const Progress& progress) -> std::function<void()> {
        const HeadId head = heads[item];
        CircuitThumbnails made{{}, {}, std::numeric_limits<double>::quiet_NaN()};
        try {
            const auto queryKey = circuitOf(*model, head, CircuitKind::queryKey, options, progress);
            made.queryKey = thumbnailOf(queryKey);
            made.norm = queryKey ? queryKey->norm : made.norm;
            made.outputValue = thumbnailOf(circuitOf(*model, head, CircuitKind::outputValue, options, progress));
        } catch (const Error&) { // the picture of the active head says why
        }
        return [this, head, round, made = std::move(made)] {
            if (round != m_round)
                return;
            m_thumbnails.insert_or_assign(head, made);
            emit thumbnailMade(head);
        };
    };
    m_small->start(std::move(items), work, JobRunner::Priority::immediate);
}

void CircuitRun::onEnded(quint64 job, const QString& message) {
    if (job == 0 || job != m_job)
        return;
    m_job = 0;
    m_head = m_wanted;
    m_circuits = {};
    m_failure = message;
    m_small->resume();
    emit circuitsChanged();
}

} // namespace secateur
