#pragma once

#include "analysis/figure.h"

#include <QWidget>

#include <vector>

class QCheckBox;
class QComboBox;
class QHBoxLayout;
class QLabel;
class QSortFilterProxyModel;
class QSpinBox;
class QTableView;

namespace secateur {

class Document;
class EvaluationTable;
class FigureActions;
class FigureWidget;
class LiveEvaluation;

/// What is measured on, what was measured, and quality against size.
class EvaluationsPanel : public QWidget {
    Q_OBJECT

public:
    EvaluationsPanel(Document* document, LiveEvaluation* live, QWidget* parent = nullptr);

    QTableView* table() const { return m_table; }

public slots:
    /// The selected rows, or all when none is selected, as CSV to the clipboard.
    void copyRows();

signals:
    void failed(const QString& message);

protected:
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    void buildChoice(QHBoxLayout& row);
    void buildTable();
    void showChoice();
    void choose();
    void chooseFile();
    void refresh();
    Figure currentFigure() const;
    void restore(int row);
    /// The table's rows in the order they are seen. @param onlySelected all when none is
    std::vector<int> rows(bool onlySelected) const;

    Document* m_document;
    LiveEvaluation* m_live;
    EvaluationTable* m_model;
    QSortFilterProxyModel* m_sorted;
    QComboBox* m_text;
    QSpinBox* m_tokens;
    QSpinBox* m_window;
    QCheckBox* m_automatic;
    QTableView* m_table;
    QLabel* m_hint;
    FigureWidget* m_scatter;
    FigureActions* m_actions;
};

} // namespace secateur
