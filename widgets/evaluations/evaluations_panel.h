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

/// Quality against size: a point under the pointer says what it is; a click chooses it, a double click asks for its
/// mask. Points are told apart by FigureSeries::places.
class EvaluationScatter : public FigureWidget {
    Q_OBJECT

public:
    explicit EvaluationScatter(QWidget* parent = nullptr);

    /// Draws a ring around a point, of no other; empty, or a place without a point = none.
    void highlight(std::optional<std::size_t> place);
    std::optional<std::size_t> highlighted() const { return m_highlighted; }
    /// In the widget's pixels; empty where the figure has no such point.
    std::optional<QPoint> position(std::size_t place) const;
    /// "eight", and its two values with their axes.
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
    /// The nearest within reach of the pointer.
    std::optional<Point> under(const QPointF& position) const;
    void showText(const Point& point);

    std::optional<std::size_t> m_highlighted;
};

class Document;
class EvaluationTable;
class FigureActions;
class LiveEvaluation;
class TextCombo;

/// What is measured on, what was measured, and quality against size.
class EvaluationsPanel : public QWidget {
    Q_OBJECT

public:
    EvaluationsPanel(Document* document, LiveEvaluation* live, QWidget* parent = nullptr);

    QTableView* table() const { return m_table; }
    EvaluationScatter* scatter() const { return m_scatter; }
    /// Of the current row; null when there is none.
    const Evaluation* current() const;

public slots:
    /// The selected rows, or all when none is selected, as CSV to the clipboard.
    void copyRows();

signals:
    /// What measures a row again is wanted on the clipboard.
    void commandWanted(const secateur::Evaluation& evaluation);
    /// Another row is the current one, or none.
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
    /// Rings the point of the current row.
    void followRow();
    /// The row of a point becomes the current one.
    void showRow(std::size_t place);
    Figure currentFigure() const;
    void restore(int row);
    /// The table's rows in the order they are seen. @param onlySelected all when none is
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
    QTimer* m_drawing; ///< once, however much changes at a time
};

} // namespace secateur
