#pragma once

#include "analysis/figures/figure.h"
#include "analysis/figures/model_figures.h"
#include "analysis/strategies/gradient_change.h"
#include "widgets/jobs/job_runner.h"

#include <QElapsedTimer>
#include <QString>
#include <QWidget>

#include <memory>
#include <optional>

class QComboBox;
class QLabel;
class QPushButton;
class QStackedWidget;

namespace secateur {

class ColourControls;
class Document;
class FigureActions;
class FigureWidget;
class Model;
class Selection;
class TextCombo;

/// Shows how a cut changes the gradients of all query weights (Greedy-Gnorm, figure 2), in one layer or in all. The cut
/// is either the active head, in addition to the current mask, or the current mask, compared with the dense model. Runs
/// on demand, and says before how long that takes; the last result stays on screen until the next one, with a word if
/// the mask has changed since.
class GradientView : public QWidget {
    Q_OBJECT

public:
    GradientView(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent = nullptr);

    /// The picture on screen; without cells if there is none.
    Figure currentFigure() const;
    /// Actions that copy and save the picture, for the window's menus. The context menu has them too.
    FigureActions* figureActions() const { return m_actions; }

public slots:
    void compute();

signals:
    /// Emitted when a picture could not be saved.
    void failed(const QString& message);

protected:
    void contextMenuEvent(QContextMenuEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    struct Request {
        GradientChangeRequest masks;
        GradientFigureRequest figure;
        QString cut; ///< name of the cut that the picture shows
    };

    void build();
    void connectAll();
    void restart();
    void take(const Request& request, GradientChange change);
    /// The request that the controls describe. Empty if the masks before and after the cut would be equal.
    std::optional<Request> request() const;
    void follow();
    void draw();
    QString reason() const;
    /// Whether the current mask differs from the one under which the picture was computed.
    bool isStale() const;
    void showTitle();
    /// Expected duration of compute(); nothing until the model was timed.
    std::optional<double> expectedSeconds() const;
    /// Times a layer of the model in the background, once.
    void timeModel();
    void showWait();
    void onEnded(quint64 job, const QString& message);

    Document* m_document;
    JobRunner* m_jobs;
    Selection* m_selection;
    QComboBox* m_cut;
    QComboBox* m_layer;
    TextCombo* m_text;
    ColourControls* m_colours;
    QPushButton* m_compute;
    QLabel* m_wait; ///< expected or remaining time
    QLabel* m_title;
    QLabel* m_reason;
    QStackedWidget* m_stack;
    FigureWidget* m_plot;
    FigureActions* m_actions;
    JobRunner::Id m_job = 0;
    JobRunner::Id m_timing = 0;
    std::shared_ptr<const Model> m_timed; ///< the model whose timing was started
    std::optional<double> m_secondsPerPass;
    QElapsedTimer m_running;
    double m_fraction = 0;
    std::optional<Request> m_shown; ///< the request of m_change
    std::string m_shownText;        ///< path of the calibration text of m_change; empty = built-in
    GradientChange m_change;
    QString m_failure;
};

} // namespace secateur
