#include "widgets/neurons/neuron_values.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "widgets/layers/layer_marks.h"

#include <QApplication>
#include <QFont>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace secateur {

void NeuronTable::setValues(std::span<const double> values, const QString& title, bool isSameLayer) {
    const bool staysInPlace = isSameLayer && values.size() == m_values.size();
    if (!staysInPlace)
        beginResetModel();
    m_title = title;
    m_values.assign(values.begin(), values.end());
    m_sorted.clear();
    std::ranges::copy_if(m_values, std::back_inserter(m_sorted), [](double v) { return std::isfinite(v); });
    std::ranges::sort(m_sorted);
    if (staysInPlace) {
        rearrange();
        return;
    }
    m_order.resize(m_values.size());
    m_states.assign(m_values.size(), NeuronState::kept);
    arrange();
    endResetModel();
}

void NeuronTable::setStates(std::vector<NeuronState> states) {
    states.resize(m_values.size(), NeuronState::kept);
    if (states == m_states)
        return;
    m_states = std::move(states);
    emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

NeuronState NeuronTable::state(int row) const {
    return m_states[static_cast<std::size_t>(neuron(row))];
}

void NeuronTable::sort(int column, Qt::SortOrder order) {
    m_byIndex = column == neuronColumn;
    m_descending = order == Qt::DescendingOrder;
    rearrange();
}

void NeuronTable::rearrange() {
    emit layoutAboutToBeChanged();
    const std::vector<int> before = m_order;
    arrange();
    std::vector<int> rows(m_order.size());
    for (std::size_t row = 0; row < m_order.size(); ++row)
        rows[static_cast<std::size_t>(m_order[row])] = static_cast<int>(row);
    const QModelIndexList from = persistentIndexList();
    QModelIndexList to;
    to.reserve(from.size());
    for (const QModelIndex& cell : from)
        to << index(rows[static_cast<std::size_t>(before[static_cast<std::size_t>(cell.row())])], cell.column());
    changePersistentIndexList(from, to);
    emit layoutChanged();
}

/// Sorts the rows. Neurons without a value come last in both directions.
void NeuronTable::arrange() {
    std::iota(m_order.begin(), m_order.end(), 0);
    if (m_byIndex && m_descending)
        std::ranges::reverse(m_order);
    if (m_byIndex)
        return;
    const auto key = [this](int neuron) {
        const double value = m_values[static_cast<std::size_t>(neuron)];
        if (!std::isfinite(value))
            return std::numeric_limits<double>::infinity();
        return m_descending ? -value : value;
    };
    std::ranges::stable_sort(m_order, {}, key);
}

double NeuronTable::percentBelow(double value) const {
    const auto below = std::ranges::lower_bound(m_sorted, value) - m_sorted.begin();
    return 100 * static_cast<double>(below) / static_cast<double>(std::ssize(m_sorted) - 1);
}

int NeuronTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_order.size());
}

int NeuronTable::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : percentileColumn + 1;
}

QVariant NeuronTable::data(const QModelIndex& cell, int role) const {
    if (role == Qt::TextAlignmentRole)
        return int(Qt::AlignRight | Qt::AlignVCenter);
    const NeuronState own = state(cell.row());
    if (role == stateRole)
        return static_cast<int>(own);
    if (role == Qt::FontRole && own == NeuronState::cut) {
        QFont font;
        font.setStrikeOut(true);
        return font;
    }
    if (role == Qt::AccessibleDescriptionRole)
        return own == NeuronState::cut ? tr("cut") : own == NeuronState::wouldBeCut ? tr("would be cut") : QString();
    const double number = valueAt(cell.row());
    if (role == Qt::ToolTipRole && cell.column() == valueColumn)
        return QString::fromStdString(exactly(number));
    if (role != Qt::DisplayRole)
        return {};
    switch (cell.column()) {
    case neuronColumn:
        return QString::number(neuron(cell.row()));
    case valueColumn:
        return QString::fromStdString(shownNumber(number));
    default:
        return std::isfinite(number) && m_sorted.size() > 1 ? QString::number(percentBelow(number), 'f', 1)
                                                            : QStringLiteral("–");
    }
}

QVariant NeuronTable::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation == Qt::Vertical)
        return {};
    if (role == Qt::TextAlignmentRole)
        return int(Qt::AlignRight | Qt::AlignVCenter);
    if (role == Qt::ToolTipRole)
        return section == neuronColumn  ? tr("Neurons count from 0")
               : section == valueColumn ? m_title
                                        : tr("Per cent of the layer's other neurons with lower values");
    if (role != Qt::DisplayRole)
        return {};
    return section == neuronColumn ? tr("neuron") : section == valueColumn ? tr("value") : tr("percentile");
}

void NeuronDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& cell) const {
    const auto state = static_cast<NeuronState>(cell.data(NeuronTable::stateRole).toInt());
    if (state != NeuronState::kept && option.widget) {
        PlotTheme theme = themeOf(*option.widget);
        theme.text = mixed(theme.background, theme.text, 0.45); // paler than the text, which is drawn on it
        const Cut cut = state == NeuronState::cut ? Cut::real : Cut::preview;
        painter->fillRect(option.rect, slantBrush(Slant::down, cut, 7, theme, painter->device()->devicePixelRatioF()));
    }
    QStyledItemDelegate::paint(painter, option, cell);
}

// ---- histogram

/// Draws over the histogram: hatches for cut neurons, ticks for selected neurons, and the threshold.
class NeuronHistogram::Overlay : public PlotDrawing {
public:
    Overlay(QCPAxisRect* rect, const PlotTheme& theme, const Drawn& drawn)
        : PlotDrawing(rect, Layer::overlay, theme)
        , m_drawn(drawn) {}

    QRect pixels() const { return rect()->rect(); }
    QCPAxis* axis() const { return rect()->axis(QCPAxis::atBottom); }

protected:
    QRect clipRect() const override {
        const int beyond = theme().length(6);
        return pixels().adjusted(-beyond, -beyond, beyond, 0);
    }
    void draw(QCPPainter& painter) override {
        for (std::size_t bin = 0; bin < m_drawn.cut.size(); ++bin) {
            hatch(painter, bin, 0, m_drawn.cut[bin], Cut::real);
            hatch(painter, bin, m_drawn.cut[bin], m_drawn.preview[bin], Cut::preview);
        }
        for (const double value : m_drawn.selected) {
            const int x = pixel(value);
            painter.fillRect(QRect(x, pixels().bottom() - theme().length(8), theme().length(2), theme().length(8)),
                             theme().accent);
        }
        if (m_drawn.end != PruneFirst::neither && !m_drawn.edges.empty())
            drawThreshold(painter);
    }

private:
    int pixel(double value) const {
        const QRect rect = pixels();
        if (std::isinf(value))
            return value < 0 ? rect.left() : rect.right();
        const double x = axis()->coordToPixel(value);
        return static_cast<int>(std::lround(std::clamp<double>(x, rect.left(), rect.right())));
    }

    void hatch(QPainter& painter, std::size_t bin, double from, double count, Cut cut) const {
        if (count <= 0)
            return;
        const QCPAxis* y = rect()->axis(QCPAxis::atLeft);
        const int left = pixel(m_drawn.edges[bin]);
        const int right = pixel(m_drawn.edges[bin + 1]);
        const int top = static_cast<int>(std::lround(y->coordToPixel(from + count)));
        const int bottom = static_cast<int>(std::lround(y->coordToPixel(from)));
        const QRect box(left, top, std::max(1, right - left), std::max(1, bottom - top));
        painter.fillRect(box, slantBrush(Slant::down, cut, 6, theme(), plot()->bufferDevicePixelRatio()));
        if (cut == Cut::real) {
            QColor shade = theme().text;
            shade.setAlphaF(0.18F);
            painter.fillRect(box, shade);
        }
    }

    /// Draws the threshold. If there is no bound, it is drawn at the end that is pruned first, where it can be dragged.
    void drawThreshold(QPainter& painter) const {
        const double outside = m_drawn.end == PruneFirst::low ? -std::numeric_limits<double>::infinity()
                                                              : std::numeric_limits<double>::infinity();
        const int x = pixel(m_drawn.bound.value_or(outside));
        const QRect rect = pixels();
        const QColor colour = m_drawn.bound ? theme().text : theme().muted;
        const int half = theme().length(1);
        painter.fillRect(QRect(x - 2 * half, rect.top(), 4 * half, rect.height()), theme().background);
        painter.fillRect(QRect(x - half, rect.top(), 2 * half, rect.height()), colour);
        const int side = theme().length(6);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour);
        painter.drawPolygon(QPolygon({{x - side, rect.top() - 2}, {x + side, rect.top() - 2}, {x, rect.top() + side}}));
    }

    const Drawn& m_drawn;
};

NeuronHistogram::NeuronHistogram(QWidget* parent)
    : FigureWidget(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Histogram of the layer's neurons"));
    setWhatsThis(
        tr("The number of neurons of the layer by their value. A drag, or Left and Right, moves the threshold; "
           "release or Enter cuts the neurons beyond it."));
}

void NeuronHistogram::painted() {
    m_overlay = new Overlay(plot()->axisRect(), themeOf(*this), m_drawn);
}

void NeuronHistogram::setValues(const Figure& figure, std::span<const double> values) {
    m_values.assign(values.begin(), values.end());
    m_drawn.edges = figure.edges;
    const std::vector<double>& edges = m_drawn.edges;
    m_bins.assign(values.size(), edges.size());
    for (std::size_t i = 0; i < values.size() && !edges.empty(); ++i) {
        if (!(values[i] >= edges.front() && values[i] <= edges.back()))
            continue;
        const auto above = static_cast<std::size_t>(std::ranges::upper_bound(edges, values[i]) - edges.begin());
        m_bins[i] = std::min(above, edges.size() - 1) - 1; // the last bin includes its upper edge
    }
    count({});
    setFigure(figure);
}

void NeuronHistogram::count(const std::vector<NeuronState>& states) {
    const std::size_t bins = m_drawn.edges.empty() ? 0 : m_drawn.edges.size() - 1;
    m_drawn.cut.assign(bins, 0);
    m_drawn.preview.assign(bins, 0);
    for (std::size_t i = 0; i < std::min(states.size(), m_bins.size()); ++i) {
        if (m_bins[i] >= bins || states[i] == NeuronState::kept)
            continue;
        ++(states[i] == NeuronState::cut ? m_drawn.cut : m_drawn.preview)[m_bins[i]];
    }
}

void NeuronHistogram::setStates(const std::vector<NeuronState>& states) {
    count(states);
    replotOverlay();
}

void NeuronHistogram::setSelected(const std::vector<double>& values) {
    m_drawn.selected.clear();
    std::ranges::copy_if(values, std::back_inserter(m_drawn.selected), [](double v) { return std::isfinite(v); });
    replotOverlay();
}

void NeuronHistogram::setThreshold(std::optional<double> bound, PruneFirst end) {
    m_drawn.bound = bound;
    m_drawn.end = end;
    setCursor(end == PruneFirst::neither ? Qt::ArrowCursor : Qt::SplitHCursor);
    setToolTip(end == PruneFirst::low    ? tr("Drag to cut the neurons below a threshold")
               : end == PruneFirst::high ? tr("Drag to cut the neurons above a threshold")
                                         : tr("This metric has no pruning direction"));
    replotOverlay();
}

void NeuronHistogram::replotOverlay() {
    if (m_overlay)
        secateur::replotOverlay(*plot());
}

QPoint NeuronHistogram::position(double value) const {
    return {static_cast<int>(std::lround(m_overlay->axis()->coordToPixel(value))), m_overlay->pixels().center().y()};
}

void NeuronHistogram::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton && m_overlay && m_drawn.end != PruneFirst::neither)
        m_pressed = event->pos();
    else
        event->ignore();
}

void NeuronHistogram::mouseMoveEvent(QMouseEvent* event) {
    if (!m_pressed)
        return;
    const QPoint point = event->pos();
    m_dragging = m_dragging || std::abs(point.x() - m_pressed->x()) >= QApplication::startDragDistance();
    if (!m_dragging)
        return; // a click without a drag does not cut
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const QRect rect = m_overlay->pixels();
    emit dragged(point.x() <= rect.left()    ? -infinite
                 : point.x() >= rect.right() ? infinite
                                             : m_overlay->axis()->pixelToCoord(point.x()));
}

void NeuronHistogram::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton)
        return;
    m_pressed.reset();
    if (std::exchange(m_dragging, false))
        emit released();
}

void NeuronHistogram::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
    case Qt::Key_Escape:
        m_pressed.reset();
        m_dragging = false;
        emit cancelled();
        break;
    case Qt::Key_Left:
        emit stepped(-1);
        break;
    case Qt::Key_Right:
        emit stepped(1);
        break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        emit enterPressed();
        break;
    default:
        FigureWidget::keyPressEvent(event);
    }
}

} // namespace secateur
