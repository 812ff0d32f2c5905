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
class QMenu;
class QSortFilterProxyModel;
class QSpinBox;
class QTableView;
class QTimer;
class QToolButton;

namespace secateur {

/// Scatter plot of quality against size. The tooltip of a point shows its name and values, a click chooses it, a double
/// click restores its mask. FigureSeries::places identify the points.
class EvaluationScatter : public FigureWidget {
    Q_OBJECT

public:
    explicit EvaluationScatter(QWidget* parent = nullptr);

    /// Draws a ring around a point, and removes the previous ring. @param place empty or without a point = no ring
    void highlight(std::optional<std::size_t> place);
    std::optional<std::size_t> highlighted() const { return m_highlighted; }
    /// The pixel of a point in the widget; empty if there is no such point.
    std::optional<QPoint> position(std::size_t place) const;
    /// A point's name and its two values with their axes.
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
    /// The point nearest to a position, within a few pixels.
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
    /// Opens the dialog *More measurements*.
    void chooseExtra();
    /// Copies the selected rows, or all if none is selected, to the clipboard as CSV.
    void copyRows();
    /// Removes the selected rows from the session.
    void removeRows();
    /// Adds the rows that were removed last again.
    void returnRows();

signals:
    /// The user wants to export the model under the current mask.
    void exportWanted();
    /// The user wants to copy the command that measures a row again.
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
    /// Highlights the point of the current row.
    void followRow();
    /// Makes the row of a point the current one.
    void showRow(std::size_t place);
    Figure currentFigure() const;
    void restore(int row);
    void fillRowMenu(QMenu& menu);
    /// The table's rows in the order shown. @param onlySelected all rows if none is selected
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
    QToolButton* m_extra = nullptr;
    std::vector<Evaluation> m_removed; ///< rows that were removed last
    QTimer* m_drawing; ///< collects several changes into one drawing
};

} // namespace secateur
