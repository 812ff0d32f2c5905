#pragma once

#include "analysis/base/head_id.h"
#include "analysis/figures/scatter_figure.h"

#include <QWidget>

#include <optional>
#include <string>
#include <vector>

class QAction;
class QCheckBox;
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
class ScatterPlot;
class Selection;

/// Any metric against any other, with their rank correlation, or where they rank heads differently; the shared
/// selection is drawn on it and made in it.
class ScatterView : public QWidget {
    Q_OBJECT

public:
    /// @param maskActions the window's: their keys work here too
    ScatterView(Document* document, JobRunner* jobs, Selection* selection, MaskActions* maskActions,
                QWidget* parent = nullptr);

    /// Heads that do not pass step back.
    void setFilter(const HeadFilter* filter);
    /// What is on screen, with all points; without series or cells when nothing can be compared.
    Figure currentFigure() const;
    /// Of the results along x and y, measured or not (result_key.h).
    std::vector<std::string> keys() const;
    /// Copying and saving, for the window's menus; they are also in the context menu.
    FigureActions* figureActions() const { return m_actions; }
    ScatterPlot* plot() const { return m_plot; }
    HeadsGrid* rankMap() const { return m_grid; }

public slots:
    void showMetrics(const QString& x, const QString& y);
    void showRankMap(bool shown);
    void selectAll();
    /// Both values of what is selected, as CSV.
    void copyValues();
    void resetZoom();

signals:
    /// One line on the point under the pointer, else on the active one; empty when there is neither.
    void hoverText(const QString& text);
    /// The person wants to see more of a head.
    void opened(secateur::HeadId head);
    /// Of a layer's neurons.
    void layerOpened(int layer);
    /// The person wants the command that measures these.
    void commandWanted(const std::vector<std::string>& keys);
    /// Saving a picture did not work.
    void failed(const QString& message);

protected:
    void showEvent(QShowEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    /// What chooses one of the two metrics.
    struct Axis {
        ResultCombo* metric;
        QCheckBox* logarithmic;
        bool isChosen = false;                ///< by a person, now or in the session
        std::optional<MetricResult> result{}; ///< as it is drawn
    };

    // scatter_view_build.cpp
    void build();
    void addAxis(QHBoxLayout& row, Axis& axis, const QString& label);
    void buildPages();
    void connectAll();

    // scatter_view.cpp
    void restore();
    void keep();
    void chooseUsual();
    void swapAxes();
    /// The measurement that stands for what is chosen.
    std::string key(const Axis& axis) const;
    /// Takes the values as they are now, at once or when somebody looks.
    void refresh();
    /// Says why there is nothing to compare; false when there is something.
    bool isEmpty();
    void correlate();
    void showPoints();
    void showMap();
    void measureMissing();
    ScatterLook look() const;
    bool isMapShown() const;

    // scatter_view_text.cpp
    void tell();
    /// "L3.H1: gate-norm per head = 3.21 · …" @param number one value as it is to be written
    QString describe(std::size_t point, std::string (*number)(double)) const;
    QString describe(HeadId head, std::string (*number)(double)) const;
    std::optional<QString> textUnder(std::string (*number)(double)) const;
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
    std::optional<RankCorrelation> m_correlation; ///< absent while it is computed
    quint64 m_revision = 0;                       ///< of the values
    bool m_isStale = true;                        ///< nobody looked since the values changed
    bool m_isCorrelating = false;
};

} // namespace secateur
