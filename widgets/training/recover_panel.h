#pragma once

#include "widgets/training/recovery.h"

#include <QWidget>

class QProgressBar;
class QPushButton;
class QStackedWidget;
class QTimer;
class QVBoxLayout;

namespace secateur {

class AdapterEvaluation;
class FigureWidget;
class RecoveryForecast;
class StillLabel;
class TrainingFields;

/// The panel *Recover*: the settings of a training under the mask and the expected duration, the losses while it
/// trains, and the outcome. A trained adapter is evaluated; so is one that the user opens.
class RecoverPanel : public QWidget {
    Q_OBJECT

public:
    RecoverPanel(Document* document, Recovery* recovery, RecoveryForecast* forecast, AdapterEvaluation* evaluation,
                 QWidget* parent = nullptr);

    TrainingFields* fields() const { return m_fields; }
    /// The picture on screen.
    const Figure& figure() const { return m_figure; }

protected:
    void showEvent(QShowEvent* event) override;

private:
    void build();
    void addAdapterButtons(QVBoxLayout& column);
    QStackedWidget* buttons();
    void addPlot(QVBoxLayout& column);
    void refresh();
    void draw();
    bool canStart() const;
    static QString trainedText(const TrainingSettings& settings);
    QString startText() const;
    QString forecastText(const TrainingSettings& settings) const;
    QString stateText() const;
    QString stepText() const;
    QString heldOutText() const;
    QString outcomeText() const;
    void start();
    void chooseFolder();
    void openAdapter();

    Document* m_document;
    Recovery* m_recovery;
    RecoveryForecast* m_forecast;
    AdapterEvaluation* m_evaluation;
    TrainingFields* m_fields;
    StillLabel* m_state;
    QProgressBar* m_progress;
    FigureWidget* m_plot;
    Figure m_figure;
    QPushButton* m_start;
    QPushButton* m_pause; ///< pauses or resumes
    QPushButton* m_cancel;
    QPushButton* m_save;
    QPushButton* m_evaluate; ///< evaluates an adapter, or ends the evaluation that runs
    QStackedWidget* m_buttons;
    QTimer* m_drawing; ///< draws not much more often than the eye can follow
};

} // namespace secateur
