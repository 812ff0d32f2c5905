#pragma once

#include "analysis/campaigns/sweep_setup.h"
#include "widgets/curves/sweep_runner.h"

#include <QWidget>

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QListWidget;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QTimer;
class QToolButton;
class QTreeWidget;
class QVBoxLayout;

namespace secateur {

class Document;
class StillLabel;
class TextCombo;

/// The panel *Sweep*: chooses strategies, budgets, texts and tasks, shows what a sweep will cost, and runs it.
class SweepPanel : public QWidget {
    Q_OBJECT

public:
    SweepPanel(Document* document, SweepRunner* runner, QWidget* parent = nullptr);

    SweepSetup setup() const;
    void setSetup(const SweepSetup& setup);

private:
    void build();
    void buildTexts(QVBoxLayout& column);
    void buildRecovery(QFormLayout& form);
    void setRecovery(const RecoveryChoice& choice);
    void listStrategies();
    void addTask();
    void removeTask();
    void changed();
    void refresh();
    void showForecast(const SweepForecast& forecast);
    void showProgress(double fraction, const QString& text, double secondsLeft);
    void runOrStop();

    Document* m_document;
    SweepRunner* m_runner;
    QTreeWidget* m_strategies;
    QLineEdit* m_budgets;
    QSpinBox* m_repetitions;
    QSpinBox* m_stability;
    TextCombo* m_text;
    QSpinBox* m_tokens;
    TextCombo* m_score;
    QSpinBox* m_scoreTokens;
    QListWidget* m_tasks;
    QToolButton* m_addTask;
    QToolButton* m_removeTask;
    QComboBox* m_recipe;
    QSpinBox* m_steps; ///< 0 = those of the recipe
    TextCombo* m_trainingData;
    StillLabel* m_state;
    QProgressBar* m_progress;
    QPushButton* m_run;
    QFormLayout* m_form;
    QTimer* m_forecast; ///< waits until the user has stopped typing
};

} // namespace secateur
