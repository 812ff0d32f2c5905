#include "widgets/weights/tensor_picture.h"

#include "analysis/base/error.h"
#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "widgets/document/commands.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"
#include "widgets/jobs/elided_label.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/results/colour_controls.h"
#include "widgets/results/still_label.h"
#include "widgets/weights/matrix_map.h"
#include "widgets/weights/picture_figure.h"
#include "widgets/weights/tile_makers.h"
#include "widgets/weights/tile_run.h"

#include <QComboBox>
#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace secateur {

namespace {

constexpr int restMs = 25;
constexpr int exactDigits = 6;

QString choiceText(TensorShown shown) {
    switch (shown) {
    case TensorShown::values:
        return TensorPicture::tr("values");
    case TensorShown::scales:
        return TensorPicture::tr("scales of blocks");
    case TensorShown::minima:
        return TensorPicture::tr("minima of blocks");
    case TensorShown::other:
        return TensorPicture::tr("compared tensor");
    case TensorShown::difference:
        return TensorPicture::tr("difference");
    }
    return {};
}

/// The name of the numbers in figures, which are English.
std::string figureLabel(TensorShown shown) {
    switch (shown) {
    case TensorShown::values:
        return "value";
    case TensorShown::scales:
        return "scale of a block";
    case TensorShown::minima:
        return "minimum of a block";
    case TensorShown::other:
        return "value in the compared checkpoint";
    case TensorShown::difference:
        return "difference to the compared checkpoint";
    }
    return {};
}

QString exactText(double value) {
    return QString::fromStdString(shownNumber(value, exactDigits));
}

/// The marks of units in a picture of blocks of numbers: those along the columns where a block belongs to one unit.
std::vector<UnitMarks> marksOfBlocks(std::vector<UnitMarks> marks, std::int64_t columnsPerBlock) {
    std::erase_if(marks, [&](const UnitMarks& run) {
        return run.axis == GridAxis::columns && (run.size % columnsPerBlock != 0 || run.begin % columnsPerBlock != 0);
    });
    for (UnitMarks& run : marks)
        if (run.axis == GridAxis::columns) {
            run.size /= columnsPerBlock;
            run.begin /= columnsPerBlock;
        }
    return marks;
}

} // namespace

TensorPicture::TensorPicture(Document* document, JobRunner* jobs, Selection* selection, TensorSource* source,
                             QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_selection(selection)
    , m_source(source)
    , m_title(new ElidedLabel)
    , m_shown(new QComboBox)
    , m_value(new QComboBox)
    , m_colours(new ColourControls(document, "tensors", {}))
    , m_map(new MatrixMap)
    , m_tiles(new TileRun(m_map, jobs, this))
    , m_readout(new StillLabel(2))
    , m_actions(new FigureActions(this, [this] { return currentFigure(); }))
    , m_rest(new QTimer(this)) {
    m_rest->setSingleShot(true);
    m_rest->setInterval(restMs);
    build();
    connectAll();
}

void TensorPicture::build() {
    QFont bold = font();
    bold.setBold(true);
    m_title->setFont(bold);
    m_title->setAccessibleName(tr("Tensor shown"));
    m_shown->setAccessibleName(tr("Numbers shown"));
    m_shown->setToolTip(tr("The decoded numbers, the scales and minima of a quantised type, or the comparison with "
                           "another checkpoint"));
    m_shown->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_value->setAccessibleName(tr("Number of a block"));
    m_value->setToolTip(tr("Where a pixel stands for a block of numbers: their mean, or the number of the largest "
                           "magnitude"));
    m_value->addItems({tr("means"), tr("largest")});
    m_map->setAccessibleName(tr("Picture of the tensor"));
    m_map->setWhatsThis(
        tr("The numbers of the tensor. Ctrl+wheel, + and − zoom, down to single numbers; the wheel and dragging move "
           "the picture. The arrows move from number to number. The bands beside it name heads, KV groups and neurons; "
           "a click or Enter selects one. Units that the mask cuts are hatched."));
    m_readout->setAccessibleName(tr("Number under the pointer"));
    m_readout->setContentsMargins(8, 2, 8, 2);
    auto* controls = new QHBoxLayout;
    controls->setContentsMargins(8, 0, 8, 4);
    controls->setSpacing(6);
    controls->addWidget(m_shown);
    controls->addWidget(m_value);
    controls->addSpacing(4);
    controls->addWidget(m_colours);
    controls->addStretch();
    auto* title = new QHBoxLayout;
    title->setContentsMargins(8, 4, 8, 4);
    title->addWidget(m_title);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(title);
    column->addLayout(controls);
    column->addWidget(m_map, 1);
    column->addWidget(m_readout);
}

void TensorPicture::connectAll() {
    connect(m_shown, &QComboBox::activated, this, &TensorPicture::restart);
    connect(m_value, &QComboBox::activated, this, &TensorPicture::remake);
    connect(m_colours, &ColourControls::changed, this, &TensorPicture::offerColours);
    connect(m_tiles, &TileRun::shown, this, &TensorPicture::offerColours);
    connect(m_map, &MatrixMap::cursorChanged, this, [this] {
        m_rest->start();
        if (!m_map->cursor())
            updateReadout();
    });
    connect(m_rest, &QTimer::timeout, this, &TensorPicture::updateReadout);
    connect(m_map, &MatrixMap::viewChanged, m_rest, qOverload<>(&QTimer::start));
    connect(m_map, &MatrixMap::markClicked, this,
            [this](MatrixMap::Edge edge, std::size_t index, Qt::KeyboardModifiers modifiers) {
                clickMark(edge == MatrixMap::Edge::rows ? 0 : 1, index, modifiers);
            });
    for (const auto changed : {&MaskEditor::maskChanged, &MaskEditor::previewChanged, &MaskEditor::listChanged})
        connect(m_document->masks(), changed, this, &TensorPicture::mark);
    connect(m_selection, &Selection::changed, this, &TensorPicture::mark);
    connect(m_document, &Document::opened, m_colours, &ColourControls::restore);
    connect(m_actions, &FigureActions::failed, this, &TensorPicture::failed);
}

void TensorPicture::say(const QString& sentence) {
    m_tensor.reset();
    m_title->setText({});
    m_shown->clear();
    m_tiles->start({}, nullptr);
    m_map->setMatrix(0, 0, {}, {});
    m_map->setReason(sentence);
    m_actions->setEnabled(false);
    for (QWidget* control :
         {static_cast<QWidget*>(m_shown), static_cast<QWidget*>(m_value), static_cast<QWidget*>(m_colours)})
        control->setEnabled(false);
}

void TensorPicture::showTensor(std::size_t tensor) {
    const TensorShown before = shown();
    m_tensor = tensor;
    m_chosen.reset();
    const StoredTensor& entry = m_source->tensor(tensor);
    QStringList sides;
    for (const std::int64_t side : entry.shape)
        sides << QString::number(side);
    m_title->setText(tr("%1 · %2 · %3")
                         .arg(QString::fromStdString(entry.name), QString::fromStdString(entry.type),
                              sides.join(QStringLiteral(" × "))));
    refillChoices(before);
    restart();
}

void TensorPicture::followComparison(TensorShown wanted) {
    if (!m_tensor)
        return;
    refillChoices(wanted);
    restart();
}

TensorShown TensorPicture::shown() const {
    return m_shown->count() > 0 ? static_cast<TensorShown>(m_shown->currentData().toInt()) : TensorShown::values;
}

void TensorPicture::choose(TensorShown wanted) {
    m_shown->setCurrentIndex(std::max(0, m_shown->findData(static_cast<int>(wanted))));
    restart();
}

void TensorPicture::refillChoices(TensorShown wanted) {
    m_shown->clear();
    for (const TensorShown each : m_source->choices(*m_tensor))
        m_shown->addItem(choiceText(each), static_cast<int>(each));
    m_shown->setCurrentIndex(std::max(0, m_shown->findData(static_cast<int>(wanted))));
    for (QWidget* control : {static_cast<QWidget*>(m_value), static_cast<QWidget*>(m_colours)})
        control->setEnabled(true);
    m_shown->setEnabled(m_shown->count() > 1);
}

/// Shows the chosen numbers of the tensor, from the whole on.
void TensorPicture::restart() {
    if (!m_tensor)
        return;
    const StoredTensor& entry = m_source->tensor(*m_tensor);
    m_tiles->start({}, nullptr);
    try {
        const std::shared_ptr<BlockPyramid> pyramid = m_source->pyramid(*m_tensor, shown());
        const NumberGrid& grid = pyramid->grid();
        const bool isEmpty = grid.count() == 0;
        m_map->setMatrix(grid.rows(), grid.columns(), tr("← row"), tr("column →"));
        m_map->setReason(isEmpty ? tr("This tensor is empty: a side of its shape is 0") : QString());
        mark();
        if (!isEmpty)
            m_tiles->start(tr("Picture of %1").arg(QString::fromStdString(entry.name)),
                           tileMaker(pyramid, static_cast<BlockValue>(m_value->currentIndex())));
    } catch (const Error& error) {
        m_map->setMatrix(0, 0, {}, {});
        m_map->setReason(QString::fromUtf8(error.what()));
    }
    emit shownChanged();
}

/// Makes the picture again with another number for each block.
void TensorPicture::remake() {
    if (m_tensor && m_map->rows() > 0)
        m_tiles->restart(
            tileMaker(m_source->pyramid(*m_tensor, shown()), static_cast<BlockValue>(m_value->currentIndex())));
}

std::vector<UnitMarks> TensorPicture::marks() const {
    const StoredTensor& entry = m_source->tensor(*m_tensor);
    const std::optional<ModelSpec>& spec = m_source->stored()->spec();
    if (!spec || spec->structure() != m_document->spec().structure())
        return {};
    const bool isWeight = shown() == TensorShown::other || shown() == TensorShown::difference;
    if (isWeight && (entry.parts.size() != 1 || entry.parts.front().transposed || m_map->rows() != entry.rows()))
        return {}; // the grid has another layout than the tensor, or another shape
    std::vector<UnitMarks> marks = unitMarks(entry, *spec);
    const bool isOfBlocks = shown() == TensorShown::scales || shown() == TensorShown::minima;
    return isOfBlocks ? marksOfBlocks(std::move(marks), entry.scaleElements) : marks;
}

void TensorPicture::mark() {
    if (!m_tensor || m_map->rows() <= 0 || !m_source->stored() || !isVisible())
        return;
    const std::vector<UnitMarks> all = marks();
    const MaskEditor& masks = *m_document->masks();
    m_rows = unitEdge(all, GridAxis::rows, masks, *m_selection, m_chosen);
    m_columns = unitEdge(all, GridAxis::columns, masks, *m_selection, m_chosen);
    m_map->setMarks(MatrixMap::Edge::rows, m_rows.marks);
    m_map->setMarks(MatrixMap::Edge::columns, m_columns.marks);
}

void TensorPicture::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    mark();
}

void TensorPicture::clickMark(int edge, std::size_t index, Qt::KeyboardModifiers modifiers) {
    const MarkedUnit unit = (edge == 0 ? m_rows : m_columns).units.at(index);
    const std::vector<HeadId> heads = headsOf(m_document->spec(), unit);
    m_chosen = unit;
    if (heads.empty())
        return mark();
    const bool adds = modifiers & Qt::ControlModifier;
    m_selection->select(std::set<HeadId>(heads.begin(), heads.end()),
                        adds ? Selection::Mode::toggle : Selection::Mode::replace, heads.front());
}

void TensorPicture::offerColours() {
    const std::vector<double> sample = m_map->tile() ? sampleOf(*m_map->tile()) : std::vector<double>();
    m_colours->offer(sample, isSigned(sample) || shown() == TensorShown::difference);
    m_tiles->setScale(m_colours->scale());
    m_actions->setEnabled(m_map->tile() != nullptr);
    m_rest->start();
}

// ---- the number under the pointer

std::optional<MarkedUnit> TensorPicture::unitOf(std::int64_t row, std::int64_t column) const {
    if (const auto mark = m_map->markAt(MatrixMap::Edge::rows, row); mark && *mark < m_rows.units.size())
        return m_rows.units[*mark];
    if (const auto mark = m_map->markAt(MatrixMap::Edge::columns, column); mark && *mark < m_columns.units.size())
        return m_columns.units[*mark];
    return std::nullopt;
}

/// Reads single numbers of the mapped files on the GUI thread: the picture has read their pages a moment ago.
QString TensorPicture::numberText(std::int64_t row, std::int64_t column) const {
    try {
        const StoredTensor& entry = m_source->tensor(*m_tensor);
        if (shown() == TensorShown::values) {
            const StoredNumber number = m_source->stored()->number(*m_tensor, row, column);
            const QString value = QString::fromStdString(exactly(number.value));
            return tr("%1 (stored: %2)").arg(value, QString::fromStdString(storedText(entry, number)));
        }
        const QString value =
            exactText(static_cast<double>(numberAt(*m_source->grid(*m_tensor, shown()), row, column)));
        if (shown() != TensorShown::difference)
            return value;
        const TensorPair& pair = *m_source->pairsOf(*m_tensor).front();
        const float here = numberAt(*firstGrid(*m_source->stored(), pair), row, column);
        const float there = numberAt(*secondGrid(*m_source->other(), pair), row, column);
        return tr("%1: from %2 to %3")
            .arg(value, exactText(static_cast<double>(here)), exactText(static_cast<double>(there)));
    } catch (const Error& error) {
        return QString::fromUtf8(error.what());
    }
}

QString TensorPicture::readout() const {
    const std::shared_ptr<const MatrixTile>& tile = m_map->tile();
    if (!m_tensor || !tile || !m_map->reason().isEmpty())
        return {};
    QStringList parts;
    if (const std::optional<MatrixCell> cell = m_map->cursor()) {
        parts << tr("[%1, %2] = %3").arg(cell->row).arg(cell->column).arg(numberText(cell->row, cell->column));
        if (const std::optional<MarkedUnit> unit = unitOf(cell->row, cell->column)) {
            const QString name = QString::fromStdString(unitName(*unit));
            const Hatch hatch = unitHatch(*m_document->masks(), *unit);
            parts << (hatch == Hatch::cut || hatch == Hatch::both ? tr("%1, cut").arg(name) : name);
        }
    }
    if (!tile->isExact())
        parts << (m_value->currentIndex() == 0 ? tr("a pixel is the mean of %1 × %2 numbers")
                                               : tr("a pixel is the largest of %1 × %2 numbers"))
                     .arg(tile->rowsPerBlock)
                     .arg(tile->columnsPerBlock);
    if (tile->isCoarse)
        parts << tr("sampled; the rest is being read…");
    if (!tile->notFinite.empty())
        parts << tr("pink: NaN or infinite");
    return parts.join(QStringLiteral(" · "));
}

void TensorPicture::updateReadout() {
    const QString text = readout();
    m_readout->setText(text);
    if (m_map->reason().isEmpty())
        m_map->setAccessibleDescription(text);
}

// ---- figure and menu

Figure TensorPicture::currentFigure() const {
    if (!m_tensor || !m_map->tile())
        return {};
    const StoredTensor& entry = m_source->tensor(*m_tensor);
    Figure figure =
        figureOf(*m_map, m_document->session().model.name + ": " + entry.name, figureLabel(shown()), m_tiles->scale());
    if (m_map->showsAll() && shown() != TensorShown::other)
        figure.command = shellText(command());
    return figure;
}

/// The command that draws the whole tensor.
CommandLine TensorPicture::command() const {
    const std::string& name = m_source->tensor(*m_tensor).name;
    const std::string look = std::string(m_value->currentIndex() == 0 ? ":show=mean" : "") +
                             ":clip=" + exactly(m_colours->scale().clipPercent);
    if (shown() == TensorShown::difference) {
        CommandLine line = plotCommand(m_source->other()->path(), "weight_difference:name=" + name + look);
        line.insert(line.end(), {"--reference", m_source->stored()->path()});
        return line;
    }
    const TensorPlane plane = shown() == TensorShown::scales   ? TensorPlane::scales
                              : shown() == TensorShown::minima ? TensorPlane::minima
                                                               : TensorPlane::values;
    const std::string planeText = plane == TensorPlane::values ? "" : ":plane=" + std::string(secateur::name(plane));
    return plotCommand(m_source->stored()->path(), "tensor:name=" + name + planeText + look);
}

void TensorPicture::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu(this);
    const std::optional<MatrixCell> cell = event->reason() == QContextMenuEvent::Mouse
                                               ? m_map->cellAt(m_map->mapFrom(this, QPointF(event->pos())))
                                               : m_map->cursor();
    const std::optional<MarkedUnit> unit = cell ? unitOf(cell->row, cell->column) : std::nullopt;
    if (unit) {
        const QString name = QString::fromStdString(unitName(*unit));
        const Hatch hatch = unitHatch(*m_document->masks(), *unit);
        const bool isCutNow = hatch == Hatch::cut || hatch == Hatch::both;
        menu.addAction(isCutNow ? tr("&Restore %1").arg(name) : tr("&Cut %1").arg(name), this,
                       [this, unit] { cutOrRestoreUnit(*m_document->masks(), *unit); });
        menu.addAction(tr("&Show %1 in its view").arg(name), this, [this, unit] { emit unitWanted(*unit); });
        menu.addSeparator();
    }
    menu.addActions(m_actions->actions());
    menu.addSeparator();
    menu.addAction(tr("Reset &zoom"), m_map, &MatrixMap::resetZoom);
    menu.exec(event->globalPos());
}

} // namespace secateur
