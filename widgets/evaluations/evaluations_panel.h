#pragma once

#include "analysis/evaluation/evaluation.h"
#include "analysis/figures/figure.h"

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

class Document;
class EvaluationScatter;
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
