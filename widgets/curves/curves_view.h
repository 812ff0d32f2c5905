#pragma once

#include "analysis/figures/curve_figures.h"

#include <QWidget>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

class QComboBox;
class QStackedWidget;
class QTimer;

namespace secateur {

class Document;
class EmptyPage;
class FigureActions;
class PointWidget;

/// The tab *Curves*: figures of the session's sweeps. A click on a point of a curve previews its mask, a double click
/// makes it the current mask.
class CurvesView : public QWidget {
    Q_OBJECT

public:
    explicit CurvesView(Document* document, QWidget* parent = nullptr);

    /// The picture on screen, for copying and saving.
    const Figure& currentFigure() const { return m_shown.figure; }
    FigureActions* figureActions() const { return m_actions; }
    PointWidget* plot() const { return m_plot; }
    /// The point of the curves at a place of the figure; null for masks that no strategy chose.
    const CurvePoint* point(std::size_t place) const;

signals:
    /// The user wants to make curves in the panel Sweep.
    void sweepWanted();
    /// Emitted when a picture could not be saved.
    void failed(const QString& message);

protected:
    void showEvent(QShowEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    void build();
    void restore();
    void keep();
    /// Draws the figure now, or when the view becomes visible.
    void refresh();
    void listCurves();
    std::size_t chosenSet() const;
    const Curves* curves() const;
    CurveLook look() const;
    /// "curves:x=params:...": the figure on screen, for commands.
    std::string figureText() const;
    void draw();
    QString describe(std::size_t place) const;
    std::optional<std::string> digestAt(std::size_t place) const;
    /// The evaluation of a point that belongs to no curve; null for others.
    const Evaluation* evaluationAt(std::size_t place) const;
    void preview(std::size_t place);
    void activate(std::size_t place);

    Document* m_document;
    QComboBox* m_figure;
    QComboBox* m_which;
    QComboBox* m_x;
    QComboBox* m_y;
    EmptyPage* m_empty;
    QStackedWidget* m_stack;
    PointWidget* m_plot;
    FigureActions* m_actions;
    QTimer* m_refresh;
    CurveFigure m_shown;
    std::optional<std::size_t> m_shownCurves; ///< index in Session::curves of the drawn ones
    bool m_isStale = true;                    ///< whether curves changed while the view was invisible
};

} // namespace secateur
