#include "widgets/plot/plot_panels.h"

#include "widgets/plot/plot_cells.h"
#include "widgets/plot/plot_drawing.h"
#include "widgets/plot/plot_frame.h"

#include <QColor>
#include <QString>
#include <QStringList>

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

namespace {

constexpr double panelUnits = 100; ///< width of a panel with its axis
constexpr double besideUnits = 80; ///< width of the colour bar with its labels

/// A colour in which text can be read on another.
QColor textOn(QRgb colour) {
    const double light = 0.299 * qRed(colour) + 0.587 * qGreen(colour) + 0.114 * qBlue(colour);
    return light > 140 ? Qt::black : Qt::white;
}

class CellTexts : public PlotDrawing {
public:
    CellTexts(QCPAxis& columns, QCPAxis& rows, Matrix cells, std::vector<std::string> texts, ColourRange range,
              const PlotTheme& theme)
        : PlotDrawing(columns.axisRect(), Layer::main, theme, Edges::smooth)
        , m_columns(columns)
        , m_rows(rows)
        , m_cells(std::move(cells))
        , m_texts(std::move(texts))
        , m_range(std::move(range)) {}

protected:
    void draw(QCPPainter& painter) override {
        painter.setFont(theme().font);
        const QFontMetrics metrics(theme().font);
        for (std::size_t i = 0; i < m_texts.size(); ++i) {
            const std::size_t row = i / m_cells.columns();
            const std::size_t column = i % m_cells.columns();
            const QRect cell = cellPixels(m_columns, m_rows, static_cast<int>(row), static_cast<int>(column));
            QStringList lines = QString::fromStdString(m_texts[i]).split('\n');
            while (!lines.isEmpty() && !fits(lines, metrics, cell))
                lines.removeLast();
            if (lines.isEmpty() || std::isnan(m_cells(row, column)))
                continue;
            painter.setPen(textOn(m_range.colour(m_cells(row, column))));
            const int top = cell.top() + (cell.height() - static_cast<int>(lines.size()) * metrics.height()) / 2;
            for (qsizetype line = 0; line < lines.size(); ++line) // one by one, for SVG
                painter.drawText(
                    QRect(cell.left(), top + static_cast<int>(line) * metrics.height(), cell.width(), metrics.height()),
                    Qt::AlignCenter, lines[line]);
        }
    }

private:
    bool fits(const QStringList& lines, const QFontMetrics& metrics, const QRect& cell) const {
        const int margin = theme().length(1);
        const bool isLow = static_cast<int>(lines.size()) * metrics.height() <= cell.height();
        return isLow && std::ranges::all_of(lines, [&](const QString& line) {
                   return metrics.horizontalAdvance(line) + 2 * margin <= cell.width();
               });
    }

    QCPAxis& m_columns;
    QCPAxis& m_rows;
    Matrix m_cells;
    std::vector<std::string> m_texts;
    ColourRange m_range;
};

/// Frames in the text colour, with a line in the background's colour inside, so that they stand out from any cell.
class CellFrames : public PlotDrawing {
public:
    CellFrames(QCPAxis& columns, QCPAxis& rows, std::vector<FigureCell> cells, const PlotTheme& theme)
        : PlotDrawing(columns.axisRect(), Layer::main, theme)
        , m_columns(columns)
        , m_rows(rows)
        , m_cells(std::move(cells)) {}

protected:
    void draw(QCPPainter& painter) override {
        for (const FigureCell& cell : m_cells) {
            const QRect edge = cellPixels(m_columns, m_rows, static_cast<int>(cell.row), static_cast<int>(cell.column));
            const int width = std::min(theme().length(1.6), std::max(1, std::min(edge.width(), edge.height()) / 5));
            frame(painter, edge, width, theme().text);
            frame(painter, edge.adjusted(width, width, -width, -width), std::max(1, width / 2), theme().background);
        }
    }

private:
    static void frame(QCPPainter& painter, const QRect& edge, int width, const QColor& colour) {
        const QRect inside = edge.adjusted(width, width, -width, -width);
        for (const QRect& side :
             {QRect(edge.topLeft(), QPoint(edge.right(), inside.top() - 1)),
              QRect(QPoint(edge.left(), inside.bottom() + 1), edge.bottomRight()),
              QRect(QPoint(edge.left(), inside.top()), QPoint(inside.left() - 1, inside.bottom())),
              QRect(QPoint(inside.right() + 1, inside.top()), QPoint(edge.right(), inside.bottom()))})
            painter.fillRect(side, colour);
    }

    QCPAxis& m_columns;
    QCPAxis& m_rows;
    std::vector<FigureCell> m_cells;
};

/// The range of the colour axis, from its ends or the values.
ColourRange panelColours(const Figure& figure) {
    std::vector<double> values;
    if (figure.colour.range)
        values = {figure.colour.range->lower, figure.colour.range->upper};
    else
        for (const FigurePanel& panel : figure.panels)
            values.insert(values.end(), panel.cells.values().begin(), panel.cells.values().end());
    return {values, figure.scale};
}

void addPanelTitle(QCPLayoutGrid& panels, int row, int column, const std::string& title, int room,
                   const PlotTheme& theme) {
    QCustomPlot* plot = panels.parentPlot();
    const QString text = QFontMetrics(theme.font).elidedText(QString::fromStdString(title), Qt::ElideMiddle, room);
    auto* element = new QCPTextElement(plot, text, theme.font);
    element->setTextColor(theme.text);
    element->setLayer("axes");
    panels.addElement(row, column, element);
    panels.setRowStretchFactor(row, stretchNothing);
}

/// A figure of kind heatMap with the axes of one panel. Names of axes are at the edges of the grid only.
Figure axesOfPanel(const Figure& figure, const FigurePanel& panel, bool isLeft, bool isLow) {
    Figure axes;
    axes.cells = panel.cells;
    axes.x.names = panel.columns;
    axes.x.label = isLow ? figure.x.label : " "; // a space keeps the ticks
    axes.y.label = isLeft ? figure.y.label : std::string();
    return axes;
}

bool isShort(const std::vector<std::string>& names) {
    constexpr std::size_t mostLetters = 4;
    return std::ranges::all_of(names, [](const std::string& name) { return name.size() <= mostLetters; });
}

/// The axis rects of heat maps, in the order of reading.
std::vector<const QCPAxisRect*> mapRects(const QCustomPlot& plot) {
    std::vector<const QCPAxisRect*> rects;
    for (const QCPAxisRect* rect : plot.axisRects())
        if (rect->axisCount(QCPAxis::atBottom) > 0 && rect->axisCount(QCPAxis::atLeft) > 0)
            rects.push_back(rect);
    std::ranges::sort(rects, {}, [](const QCPAxisRect* rect) { return std::pair(rect->top(), rect->left()); });
    return rects;
}

} // namespace

PanelGrid panelGrid(std::size_t panels, double room) {
    const int count = std::max(1, static_cast<int>(panels));
    const int most = std::clamp(static_cast<int>((room - besideUnits) / panelUnits), 1, count);
    const int rows = (count + most - 1) / most;
    return {rows, (count + rows - 1) / rows};
}

void paintPanels(const PlotPlace& place, const Figure& figure) {
    const PlotTheme& theme = place.theme;
    const ColourRange range = panelColours(figure);
    const PanelGrid grid = panelGrid(figure.panels.size(), place.room.width() / theme.unit);
    const QSize room((place.room.width() - theme.length(besideUnits)) / grid.columns - theme.length(4),
                     place.room.height() / grid.rows);
    QCPLayoutGrid& panels = *addGrid(place.layout, 0);
    panels.setRowSpacing(theme.length(2));
    panels.setColumnSpacing(theme.length(6));
    std::vector<QCPMarginGroup*> heights;
    for (int row = 0; row < grid.rows; ++row)
        heights.push_back(new QCPMarginGroup(&place.plot));
    auto* widths = new QCPMarginGroup(&place.plot);
    for (int i = 0; i < static_cast<int>(figure.panels.size()); ++i) {
        const FigurePanel& panel = figure.panels[static_cast<std::size_t>(i)];
        const int row = i / grid.columns;
        const int column = i % grid.columns;
        const bool isLow = i + grid.columns >= static_cast<int>(figure.panels.size());
        addPanelTitle(panels, 2 * row, column, panel.title, room.width(), theme);
        auto* cell = new QCPLayoutGrid;
        panels.addElement(2 * row + 1, column, cell);
        cell->setMargins({});
        QCPAxisRect* rect = addHeatMapAxes(*cell, axesOfPanel(figure, panel, column == 0, isLow), room, theme);
        rect->axis(QCPAxis::atBottom)->setTickLabelRotation(isShort(panel.columns) ? 0 : 90);
        rect->setMarginGroup(QCP::msTop | QCP::msBottom, heights[static_cast<std::size_t>(row)]);
        rect->setMarginGroup(QCP::msLeft | QCP::msRight, widths);
        PlotCells(rect->axis(QCPAxis::atBottom), rect->axis(QCPAxis::atLeft), theme).setCells(panel.cells, range);
    }
    PlotColourBar bar(place.layout, 0, 1, theme);
    bar.setRange(range, brokenLabel(figure.colour.label, theme.font, place.room.height() * 3 / 4,
                                    uprightLines(place.room.width(), theme)));
    bar.rect()->setMinimumMargins({0, theme.length(10), 0, theme.length(10)});
    place.layout.setColumnSpacing(theme.length(10));
    place.layout.setColumnStretchFactor(1, stretchNothing);
}

void addCellTexts(QCPAxis& columns, QCPAxis& rows, const Matrix& cells, const std::vector<std::string>& texts,
                  const ColourRange& range, const PlotTheme& theme) {
    if (texts.size() == cells.values().size())
        new CellTexts(columns, rows, cells, texts, range, theme); // the axis rect owns it
}

void outlineCells(QCPAxis& columns, QCPAxis& rows, const std::vector<FigureCell>& cells, const PlotTheme& theme) {
    if (!cells.empty())
        new CellFrames(columns, rows, cells, theme); // the axis rect owns it
}

std::optional<PanelCell> cellAt(const QCustomPlot& plot, const Figure& figure, QPointF pixel) {
    const std::vector<const QCPAxisRect*> rects = mapRects(plot);
    const std::size_t panels = figure.kind == FigureKind::panels ? figure.panels.size() : 1;
    for (std::size_t panel = 0; panel < std::min(panels, rects.size()); ++panel) {
        if (!rects[panel]->rect().contains(pixel.toPoint()))
            continue;
        const Matrix& cells = figure.kind == FigureKind::panels ? figure.panels[panel].cells : figure.cells;
        const long row = std::lround(rects[panel]->axis(QCPAxis::atLeft)->pixelToCoord(pixel.y()));
        const long column = std::lround(rects[panel]->axis(QCPAxis::atBottom)->pixelToCoord(pixel.x()));
        if (row >= 0 && column >= 0 && row < static_cast<long>(cells.rows()) &&
            column < static_cast<long>(cells.columns()))
            return PanelCell{panel, static_cast<std::size_t>(row), static_cast<std::size_t>(column)};
    }
    return std::nullopt;
}

} // namespace secateur
