#pragma once

#include "analysis/figures/figure.h"
#include "widgets/plot/figure_painter.h"

#include <QAction>
#include <QList>
#include <QObject>
#include <QWidget>

#include <functional>

class QCustomPlot;
class QScrollBar;

namespace secateur {

/// Draws a figure with the size, colours and font of the widget. The plot ignores mouse and keyboard. Grids and tables
/// that need more height than the widget has can be scrolled, with the wheel or, with the keyboard focus, with keys.
class FigureWidget : public QWidget {
    Q_OBJECT

public:
    explicit FigureWidget(QWidget* parent = nullptr);

    void setFigure(const Figure& figure);

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    /// Called after the figure was drawn again. Drawing removes what subclasses have added to the plot.
    virtual void painted() {}
    QCustomPlot* plot() const { return m_plot; }
    const Figure& figure() const { return m_figure; }
    void repaintFigure() { paint(); }

private:
    void paint();
    void placePlot();

    QCustomPlot* m_plot;
    QScrollBar* m_scroll;
    Figure m_figure;
};

/// Actions on the figure of a view. They copy it as an image, as CSV or as the command that draws it, and save it as
/// PNG, SVG, PDF or CSV, tables also as Markdown, LaTeX or HTML.
class FigureActions : public QObject {
    Q_OBJECT

public:
    /// @param figure returns the figure on screen; called when an action is triggered
    FigureActions(QWidget* view, std::function<Figure()> figure);

    /// The actions in the order of menus: copy image, copy CSV, copy command, save in column width, save in page width.
    const QList<QAction*>& actions() const { return m_actions; }
    void setEnabled(bool enabled);
    /// Sets a function that copies the command, for figures whose command must be prepared first.
    /// @param copies copies the command and returns true; returns false if it has nothing to copy
    void setCommandCopier(std::function<bool()> copies) { m_copies = std::move(copies); }
    /// Saves the figure to `path`. The extension determines the format.
    void save(const QString& path, FigureWidth width);

public slots:
    void copyImage();
    void copyCsv();
    void copyCommand();
    void saveAs(secateur::FigureWidth width);

signals:
    void saved(const QString& path);
    void failed(const QString& message);

private:
    QString suggestedName(const Figure& figure) const;

    QWidget* m_view;
    std::function<Figure()> m_figure;
    std::function<bool()> m_copies;
    QList<QAction*> m_actions;
    QString m_folder; ///< folder of the picture that was saved last
};

} // namespace secateur
