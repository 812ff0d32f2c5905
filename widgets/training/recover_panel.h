#pragma once

#include "widgets/training/recovery.h"

#include <QWidget>

class QProgressBar;
class QPushButton;
class QStackedWidget;
class QTimer;
class QVBoxLayout;

namespace secateur {

class FigureWidget;
class StillLabel;
class TrainingFields;

/// The panel *Recover*: how to train what the mask leaves, the losses while it trains, and the outcome.
class RecoverPanel : public QWidget {
    Q_OBJECT

public:
    RecoverPanel(Document* document, Recovery* recovery, QWidget* parent = nullptr);

    TrainingFields* fields() const { return m_fields; }
    /// The picture on screen.
    const Figure& figure() const { return m_figure; }

private:
    void build();
    QStackedWidget* buttons();
    void addPlot(QVBoxLayout& column);
    void refresh();
    void draw();
    bool canStart() const;
    QString startText() const;
    QString stateText() const;
    QString stepText() const;
    QString heldOutText() const;
    QString outcomeText() const;
    void start();
    void chooseFolder();

    Document* m_document;
    Recovery* m_recovery;
    TrainingFields* m_fields;
    StillLabel* m_state;
    QProgressBar* m_progress;
    FigureWidget* m_plot;
    Figure m_figure;
    QPushButton* m_start;
    QPushButton* m_pause; ///< pauses or resumes
    QPushButton* m_cancel;
    QPushButton* m_save;
    QStackedWidget* m_buttons;
    QTimer* m_drawing; ///< draws not much more often than the eye can follow
};

} // namespace secateur
