#pragma once

#include "analysis/figures/figure.h"
#include "analysis/strategies/gradient_change.h"
#include "analysis/figures/model_figures.h"
#include "widgets/jobs/job_runner.h"

#include <QString>
#include <QWidget>

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
class Selection;
class TextCombo;

/// What a cut does to the gradients of all query weights (Greedy-Gnorm, figure 2): of the active head beside the
/// current mask, or of the mask itself, in one layer or in all. Nothing runs before it is asked for; what was computed
/// stays until the next time.
class GradientView : public QWidget {
    Q_OBJECT

public:
    GradientView(Document* document, JobRunner* jobs, Selection* selection, QWidget* parent = nullptr);

    /// The picture on screen; without cells when there is none.
    Figure currentFigure() const;
    /// Copying and saving, for the window's menus; they are also in the context menu.
    FigureActions* figureActions() const { return m_actions; }

public slots:
    void compute();

signals:
    /// Saving a picture did not work.
    void failed(const QString& message);

protected:
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    /// What is compared, and how it is called.
    struct Wanted {
        GradientChangeRequest masks;
        GradientFigureRequest figure;
        QString cut;
    };

    void build();
    void connectAll();
    void restart();
    void take(const Wanted& wanted, GradientChange change);
    /// Nothing where there is nothing to compare.
    std::optional<Wanted> wanted() const;
    void follow();
    void draw();
    QString reason() const;
    void onEnded(quint64 job, const QString& message);

    Document* m_document;
    JobRunner* m_jobs;
    Selection* m_selection;
    QComboBox* m_of;
    QComboBox* m_layer;
    TextCombo* m_text;
    ColourControls* m_colours;
    QPushButton* m_compute;
    QLabel* m_title;
    QLabel* m_reason;
    QStackedWidget* m_stack;
    FigureWidget* m_plot;
    FigureActions* m_actions;
    JobRunner::Id m_job = 0;
    std::optional<Wanted> m_shown;
    std::string m_shownText; ///< that it was computed on; empty = built-in
    GradientChange m_change;
    QString m_failure;
};

} // namespace secateur
