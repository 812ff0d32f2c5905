#pragma once

#include "analysis/strategies/prune.h"

#include <QWidget>

#include <string>
#include <vector>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QGridLayout;
class QProgressBar;
class QPushButton;
class QStackedWidget;
class QVBoxLayout;

namespace secateur {

class Document;
class MaskSearch;
class StillLabel;

/// The panel *Search*: what to save, what may be cut, and from where to begin; the cost before the search runs,
/// and its figures while it runs. All views show the growing mask as the preview.
class SearchPanel : public QWidget {
    Q_OBJECT

public:
    SearchPanel(Document* document, MaskSearch* search, QWidget* parent = nullptr);

    /// The search that the fields describe. @throws UsageError
    PruneRequest request() const;

protected:
    void showEvent(QShowEvent* event) override;

private:
    void buildFields(QVBoxLayout& column);
    void addBudget(QFormLayout& form);
    void addUnits(QFormLayout& form);
    void addLayouts(QFormLayout& form);
    void addStart(QFormLayout& form);
    QWidget* figures();
    StillLabel* addFigure(QGridLayout& grid, const QString& name, const QString& accessibleName);
    QStackedWidget* buttons();
    void changed();
    void refresh();
    void showFigures();
    void showState();
    std::string strategyText() const;
    QString action() const;
    QString costText() const;
    QString outcomeText() const;
    bool canStart() const;
    void start();

    Document* m_document;
    MaskSearch* m_search;
    QDoubleSpinBox* m_amount;
    QComboBox* m_counted;
    std::vector<QCheckBox*> m_units;
    QComboBox* m_layout;
    QComboBox* m_from;
    StillLabel* m_state;
    StillLabel* m_saved;
    StillLabel* m_loss;
    StillLabel* m_rise;
    StillLabel* m_steps;
    StillLabel* m_left;
    QProgressBar* m_progress;
    QPushButton* m_start;
    QPushButton* m_keep;
    QPushButton* m_cancel;
    QStackedWidget* m_buttons;
};

} // namespace secateur
