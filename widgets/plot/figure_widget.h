#pragma once

#include "analysis/figures/figure.h"

#include <QWidget>

class QCustomPlot;

namespace secateur {

/// A figure as large as the widget, in its colours and font. Mouse and keys pass through the picture to the widget.
class FigureWidget : public QWidget {
    Q_OBJECT

public:
    explicit FigureWidget(QWidget* parent = nullptr);

    void setFigure(const Figure& figure);

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    /// Called after the figure was drawn anew: what was added to the plot is gone.
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
