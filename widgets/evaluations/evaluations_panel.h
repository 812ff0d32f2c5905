#pragma once

#include "analysis/evaluation/evaluation.h"
#include "widgets/plot/point_widget.h"

#include <QWidget>

#include <cstddef>
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
    PointWidget* scatter() const { return m_scatter; }
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
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void buildChoice(QHBoxLayout& row);
    void buildTable();
    void showChoice();
    void choose();
    void refresh();
    void fitColumns();
    void drawScatter();
    /// Highlights the scatter point of the current row.
    void followRow();
    /// Makes the row of an evaluation's point the current one.
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
    PointWidget* m_scatter;
    FigureActions* m_actions;
    QToolButton* m_extra = nullptr;
    std::vector<Evaluation> m_removed; ///< rows that were removed last
    QTimer* m_drawing;                 ///< collects several changes into one drawing
};

} // namespace secateur
