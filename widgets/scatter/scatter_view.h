#pragma once

#include "analysis/base/head_id.h"
#include "analysis/figures/scatter_figure.h"

#include <QWidget>

#include <optional>
#include <string>
#include <vector>

class QAction;
class QHBoxLayout;
class QLabel;
class QPushButton;
class QStackedWidget;
class QTimer;
class QToolButton;

namespace secateur {

class Document;
class FigureActions;
class HeadFilter;
class HeadsGrid;
class JobRunner;
class MaskActions;
class ResultCombo;
class ScaleCombo;
class ScatterPlot;
class Selection;

/// A scatter of any metric against any other with their rank correlation, or the map of their rank differences. It
/// shows and changes the selection that all views share.
class ScatterView : public QWidget {
    Q_OBJECT

public:
    /// @param maskActions actions whose keyboard shortcuts work in this view too
    ScatterView(Document* document, JobRunner* jobs, Selection* selection, MaskActions* maskActions,
                QWidget* parent = nullptr);

    /// Sets the filter. Heads that do not pass it are drawn paler.
    void setFilter(const HeadFilter* filter);
    /// The picture on screen with all points. It has no series or cells if nothing can be compared.
    Figure currentFigure() const;
    /// Keys (result_key.h) of the results on the x and y axes. The results need not be measured.
    std::vector<std::string> keys() const;
    /// Actions that copy and save the picture, for the window's menus. The context menu has them too.
    FigureActions* figureActions() const { return m_actions; }
    ScatterPlot* plot() const { return m_plot; }
    HeadsGrid* rankMap() const { return m_grid; }

public slots:
    void showMetrics(const QString& x, const QString& y);
    void showRankMap(bool shown);
    void selectAll();
    /// Copies both values of each selected unit as CSV.
    void copyValues();
    void resetZoom();

signals:
    /// Emitted with one line about the point under the pointer, or about the active point if there is none; empty if
    /// there is neither.
    void hoverText(const QString& text);
    /// Emitted when a head was double-clicked, or Enter was pressed on it.
    void opened(secateur::HeadId head);
    /// Emitted when a neuron or layer was double-clicked, or Enter was pressed on it.
    void layerOpened(int layer);
    /// The user wants to copy the command of this figure, which needs the current mask in a file.
    void maskedFigureWanted(const std::string& figure);
    /// The user wants to copy the command that measures these results.
    void commandWanted(const std::vector<std::string>& keys);
    /// Emitted when a picture could not be saved.
    void failed(const QString& message);

protected:
    void showEvent(QShowEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    /// The controls of one of the two metrics, and its result.
    struct Axis {
        ResultCombo* metric;
        ScaleCombo* scale;
        bool isChosen = false;                ///< whether the user or the session chose the metric
        std::optional<MetricResult> result{}; ///< the result on screen
    };

    // Defined in scatter_view_build.cpp.
    void build();
    void addAxis(QHBoxLayout& row, Axis& axis, const QString& label);
    void buildPages();
    void connectAll();

    // Defined in scatter_view.cpp.
    void restore();
    void keep();
    void chooseUsual();
    void swapAxes();
    /// Key of the result to draw: the chosen result, or a difference while two measurements are compared.
    std::string key(const Axis& axis) const;
    /// Shows the current values now, or when the view becomes visible.
    void refresh();
    /// Pairs the values of both metrics. If this is impossible, shows the reason and returns false.
    bool pairValues();
    void correlate();
    void showPoints();
    void showMap();
    void measureMissing();
    ScatterLook look() const;
    /// "scatter:x=...": the figure on screen, for a command.
    std::string figureText() const;
    bool isMapShown() const;

    // Defined in scatter_view_build.cpp.
    void updateHoverText();
    /// A point as text: "L3.H1 · gate-norm per head = 3.21 · …". @param exact whether to show all digits, one value per
    /// line
    QString describe(std::size_t point, bool exact) const;
    QString describe(HeadId head, bool exact) const;
    std::optional<QString> textUnder(bool exact) const;
    void showToolTip(const QPoint& globalPosition);

    Document* m_document;
    JobRunner* m_jobs;
    Selection* m_selection;
    QWidget* m_controls;
    Axis m_x;
    Axis m_y;
    QToolButton* m_swap;
    QAction* m_lasso;
    QToolButton* m_map;
    QLabel* m_line;
    QStackedWidget* m_stack;
    QLabel* m_reason;
    QPushButton* m_measure;
    ScatterPlot* m_plot;
    HeadsGrid* m_grid;
    MaskActions* m_maskActions;
    FigureActions* m_actions;
    QTimer* m_refresh;
    Figure m_shown; ///< the points on screen
    PairedResults m_pairs;
    std::optional<RankCorrelation> m_correlation; ///< empty while it is being computed
    quint64 m_revision = 0;                       ///< number of changes of the values so far
    bool m_isStale = true;                        ///< whether the values changed while the view was invisible
    quint64 m_correlating = 0;                    ///< job that correlates; 0 = none
};

} // namespace secateur
