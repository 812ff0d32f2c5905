#pragma once

#include "analysis/figures/figure.h"

#include <QWidget>

class QCustomPlot;

namespace secateur {

/// Draws a figure in the size, colours and font of the widget. The plot ignores mouse and keys.
class FigureWidget : public QWidget {
    Q_OBJECT

public:
    explicit FigureWidget(QWidget* parent = nullptr);

    void setFigure(const Figure& figure);

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    /// Called after the figure was drawn again, which removes additions to the plot.
    virtual void painted() {}
    QCustomPlot* plot() const { return m_plot; }
    const Figure& figure() const { return m_figure; }
    void repaintFigure() { paint(); }

private:
    void paint();

    QCustomPlot* m_plot;
    Figure m_figure;
};

} // namespace secateur
