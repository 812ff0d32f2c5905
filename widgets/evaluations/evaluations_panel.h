#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/figures/figure.h"
#include "widgets/plot/figure_widget.h"

#include <QPoint>
#include <QWidget>

#include <optional>
#include <vector>

class QCheckBox;
class QHBoxLayout;
class QLabel;
class QSortFilterProxyModel;
class QSpinBox;
class QTableView;
class QTimer;

namespace secateur {

/// Scatter plot of the quality of evaluated masks against the size of the masked model. The tooltip of a point shows
/// its name and values. A click chooses a point, and a double click restores its mask. FigureSeries::places holds the
/// evaluation's index for each point.
class EvaluationScatter : public FigureWidget {
    Q_OBJECT

public:
    explicit EvaluationScatter(QWidget* parent = nullptr);

    /// Draws a ring around the point of an evaluation and removes the previous ring. @param place index of the
    /// evaluation; empty or without a point = no ring
    void highlight(std::optional<std::size_t> place);
    std::optional<std::size_t> highlighted() const { return m_highlighted; }
    /// The position of an evaluation's point in the widget, in pixels; empty if it has no point.
    std::optional<QPoint> position(std::size_t place) const;
    /// The name of a point and its two values with the labels of their axes.
    QString text(std::size_t place) const;

signals:
    void chosen(std::size_t place);
    void activated(std::size_t place);

protected:
    bool event(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void painted() override;

private:
    struct Point {
        const FigureSeries* series = nullptr;
        std::size_t index = 0;

        std::size_t place() const { return series->places[index]; }
    };

    std::vector<Point> points() const;
    std::optional<Point> find(std::size_t place) const;
    QPointF pixels(const Point& point) const;
    /// The point nearest to a position; empty if none is within a few pixels.
    std::optional<Point> under(const QPointF& position) const;
    void showText(const Point& point);

    std::optional<std::size_t> m_highlighted;
};

class Document;
class EvaluationTable;
class FigureActions;
class LiveEvaluation;
class TextCombo;

/// The choice of the scored text, the table of evaluations and their scatter plot.
class EvaluationsPanel : public QWidget {
    Q_OBJECT

public:
    EvaluationsPanel(Document* document, LiveEvaluation* live, QWidget* parent = nullptr);

    QTableView* table() const { return m_table; }
    EvaluationScatter* scatter() const { return m_scatter; }
    /// The evaluation of the current row; null if there is none.
    const Evaluation* current() const;

public slots:
    /// Copies the selected rows to the clipboard as CSV; if none is selected, copies all rows.
    void copyRows();

signals:
    /// Emitted when the user wants to copy the command that measures a row again.
    void commandWanted(const secateur::Evaluation& evaluation);
    /// The current row changed.
    void currentChanged();
    void failed(const QString& message);

protected:
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    void buildChoice(QHBoxLayout& row);
    void buildTable();
    void showChoice();
    void choose();
    void refresh();
    void drawScatter();
    /// Highlights the scatter point of the current row.
    void followRow();
    /// Makes the row of an evaluation's point the current one.
    void showRow(std::size_t place);
    Figure currentFigure() const;
    void restore(int row);
    /// Indices of the table's rows in the order on screen. @param onlySelected true = the selected rows, or all if none
    /// is selected
    std::vector<int> rows(bool onlySelected) const;

    Document* m_document;
    LiveEvaluation* m_live;
    EvaluationTable* m_model;
    QSortFilterProxyModel* m_sorted;
    TextCombo* m_text;
    QSpinBox* m_tokens;
    QSpinBox* m_window;
    QCheckBox* m_automatic;
    QTableView* m_table;
    QLabel* m_hint;
    EvaluationScatter* m_scatter;
    FigureActions* m_actions;
    QTimer* m_drawing; ///< combines several changes into one drawing
};

} // namespace secateur
