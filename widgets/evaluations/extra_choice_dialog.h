#pragma once

#include "widgets/evaluations/extra_items.h"

#include <QDialog>

#include <vector>

class QCheckBox;
class QComboBox;
class QGridLayout;
class QLabel;
class QLineEdit;
class QMenu;
class QSpinBox;
class QToolButton;

namespace secateur {

class LiveEvaluation;

/// Dialog to choose the extra measurements of each mask: tasks, tokens per second and a continued prompt. Shows the
/// expected duration of each. Edits take effect at once; the dialog is not modal.
class ExtraChoiceDialog : public QDialog {
    Q_OBJECT

public:
    explicit ExtraChoiceDialog(LiveEvaluation* live, QWidget* parent = nullptr);

    /// Adds a task with the default settings (0-shot, at most 100 questions).
    void addTask(const QString& path);

protected:
    void showEvent(QShowEvent* event) override;

private:
    struct Row {
        TaskRequest request;
        QComboBox* format;
        QSpinBox* shots;
        QSpinBox* limit;
        QLabel* expected;
        std::vector<QWidget*> widgets; ///< all widgets of the row
    };

    void buildTasks();
    void buildOthers();
    void buildRows();
    void addRow(const TaskRequest& request, int line);
    void fillMenu();
    void chooseFile();
    void choose();
    void announce();
    void refresh();
    QString expectation(const ExtraItem& item) const;
    PromptRequest prompt() const;

    LiveEvaluation* m_live;
    QGridLayout* m_tasks;
    std::vector<Row> m_rows;
    QMenu* m_recent;
    QLabel* m_noTasks;
    QCheckBox* m_speed;
    QLabel* m_speedExpected;
    QCheckBox* m_continues;
    QLineEdit* m_prompt;
    QSpinBox* m_newTokens;
    QLabel* m_promptExpected;
};

/// The button that opens the dialog and shows the number of chosen measurements.
QToolButton* extraButton(LiveEvaluation* live, QWidget* parent);

} // namespace secateur
