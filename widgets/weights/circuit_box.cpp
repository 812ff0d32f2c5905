#include "widgets/weights/circuit_box.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "widgets/results/still_label.h"
#include "widgets/weights/matrix_map.h"
#include "widgets/weights/picture_figure.h"

#include <QVBoxLayout>

#include <cmath>
#include <utility>

namespace secateur {

namespace {

QString nameOfCircuit(CircuitKind kind) {
    return kind == CircuitKind::queryKey ? CircuitBox::tr("Query-key") : CircuitBox::tr("Output-value");
}

QString circuitNumber(double number) {
    return std::isnan(number) ? QStringLiteral("–") : QString::fromStdString(shownNumber(number, 4));
}

} // namespace

CircuitBox::CircuitBox(CircuitKind kind, JobRunner* jobs, QWidget* parent)
    : QWidget(parent)
    , m_kind(kind)
    , m_title(new StillLabel(2))
    , m_map(new MatrixMap)
    , m_tiles(new TileRun(m_map, jobs, this)) {
    m_title->setAccessibleName(kind == CircuitKind::queryKey ? tr("Numbers of the query-key circuit")
                                                             : tr("Numbers of the output-value circuit"));
    m_title->setContentsMargins(8, 0, 8, 2);
    m_map->setAccessibleName(kind == CircuitKind::queryKey ? tr("Query-key circuit of the head")
                                                           : tr("Output-value circuit of the head"));
    m_map->setWhatsThis(
        (kind == CircuitKind::queryKey
             ? tr("W_q transposed times W_k: how strongly each direction of the residual stream at the query, from top "
                  "to "
                  "bottom, attends to each direction at the key, from left to right.")
             : tr("W_o times W_v: what the head writes into each direction of the residual stream, from top to bottom, "
                  "for each direction that it reads, from left to right.")) +
        ' ' +
        tr("Zero is the middle of the colours. Ctrl+wheel, + and − zoom; the arrows move from number to number."));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(2);
    column->addWidget(m_title);
    column->addWidget(m_map, 1);
    connect(m_map, &MatrixMap::cursorChanged, this, &CircuitBox::cursorChanged);
    connect(m_tiles, &TileRun::shown, this, &CircuitBox::shown);
}

QString CircuitBox::numbers() const {
    if (!m_circuit)
        return nameOfCircuit(m_kind);
    QStringList parts{tr("norm %1").arg(circuitNumber(m_circuit->norm)),
                      tr("stable rank %1 of %2").arg(circuitNumber(m_circuit->stableRank)).arg(m_circuit->rank)};
    if (!std::isnan(m_circuit->averagedNorm))
        parts << tr("averaged over rotary phases %1").arg(circuitNumber(m_circuit->averagedNorm));
    return tr("%1: %2").arg(nameOfCircuit(m_kind), parts.join(QStringLiteral(", ")));
}

void CircuitBox::show(std::shared_ptr<const HeadCircuit> circuit, BlockValue value, Hatch hatch) {
    m_circuit = std::move(circuit);
    m_pyramid = std::make_shared<BlockPyramid>(circuitGrid(m_circuit));
    m_tiles->start({}, nullptr);
    const bool isQueryKey = m_kind == CircuitKind::queryKey;
    m_map->setMatrix(m_circuit->rows, m_circuit->columns, isQueryKey ? tr("← query") : tr("← output"),
                     isQueryKey ? tr("key →") : tr("input →"));
    m_map->setReason({});
    m_map->setHatch(hatch);
    m_title->setText(numbers());
    limitHeight();
    m_tiles->start(tr("Map of a circuit"), tileMaker(m_pyramid, value));
}

void CircuitBox::limitHeight() {
    if (const int needed = m_map->heightOfSquares(); needed > 0)
        setMaximumHeight(height() - m_map->height() + needed);
}

void CircuitBox::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    limitHeight();
}

void CircuitBox::say(const QString& sentence) {
    m_circuit.reset();
    m_pyramid.reset();
    m_title->setText(numbers());
    m_tiles->start({}, nullptr);
    m_map->setMatrix(0, 0, {}, {});
    m_map->setReason(sentence);
}

void CircuitBox::setHatch(Hatch hatch) {
    m_map->setHatch(hatch);
}

void CircuitBox::setValue(BlockValue value) {
    if (m_pyramid)
        m_tiles->restart(tileMaker(m_pyramid, value));
}

void CircuitBox::setScale(const ColourScale& scale) {
    m_tiles->setScale(scale);
}

QString CircuitBox::readout() const {
    const std::optional<MatrixCell> cell = m_map->cursor();
    if (!cell || !m_circuit || !m_pyramid)
        return {};
    const double value = static_cast<double>(numberAt(m_pyramid->grid(), cell->row, cell->column));
    return (m_kind == CircuitKind::queryKey ? tr("%1 of %2: query direction %3, key direction %4 = %5")
                                            : tr("%1 of %2: output direction %3, input direction %4 = %5"))
        .arg(nameOfCircuit(m_kind), QString::fromStdString(headName(m_circuit->head.layer, m_circuit->head.head)))
        .arg(cell->row)
        .arg(cell->column)
        .arg(circuitNumber(value));
}

Figure CircuitBox::figure(const std::string& model) const {
    if (!m_circuit || !m_map->tile())
        return {};
    const std::string what(title(m_kind));
    Figure figure = figureOf(*m_map, model + ", " + headName(m_circuit->head.layer, m_circuit->head.head) + ": " + what,
                             what, m_tiles->scale());
    figure.x.label = m_kind == CircuitKind::queryKey ? "direction of the key" : "direction of the input";
    figure.y.label = m_kind == CircuitKind::queryKey ? "direction of the query" : "direction of the output";
    return figure;
}

} // namespace secateur
