#include "analysis/session/result_key.h"
#include "widgets/document/comparison.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/heads/heads_grid.h"
#include "widgets/heads/mask_actions.h"
#include "widgets/plot/figure_actions.h"
#include "widgets/results/result_combo.h"
#include "widgets/scatter/scatter_plot.h"
#include "widgets/scatter/scatter_view.h"

#include <QAction>
#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>

#include <algorithm>

namespace secateur {

void ScatterView::build() {
    auto* row = new QHBoxLayout(m_controls);
    row->setContentsMargins(8, 6, 8, 6);
    row->setSpacing(6);
    addAxis(*row, m_x, tr("&X"));
    m_swap->setText("⇄");
    m_swap->setToolTip(tr("Swap the two metrics"));
    m_swap->setAccessibleName(tr("Swap the two metrics"));
    m_swap->setAutoRaise(true);
    row->addWidget(m_swap);
    addAxis(*row, m_y, tr("&Y"));
    row->addStretch();
    m_lasso->setCheckable(true);
    m_lasso->setToolTip(tr("Draw around the heads to select (or hold Ctrl+Shift and drag)"));
    auto* lasso = new QToolButton;
    lasso->setDefaultAction(m_lasso);
    lasso->setAutoRaise(true);
    lasso->setAccessibleName(tr("Lasso tool"));
    row->addWidget(lasso);
    m_map->setText(tr("Rank map"));
    m_map->setAccessibleName(tr("Rank map"));
    m_map->setToolTip(tr("Where the two metrics rank the heads differently"));
    m_map->setCheckable(true);
    m_map->setAutoRaise(true);
    row->addWidget(m_map);
    m_line->setAccessibleName(tr("Rank correlation"));
    m_line->setObjectName("correlation");
    m_line->setContentsMargins(8, 0, 8, 6);
    m_line->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_line->setToolTip(tr("How far both metrics put the same things in the same order: 1 = the same, 0 = unrelated,\n"
                          "−1 = the opposite. Spearman's correlation of ranks and Kendall's tau-b."));
    buildPages();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_controls);
    layout->addWidget(m_line);
    layout->addWidget(m_stack, 1);
    setFocusProxy(m_plot);
}

void ScatterView::addAxis(QHBoxLayout& row, Axis& axis, const QString& label) {
    auto* text = new QLabel(label);
    text->setBuddy(axis.metric);
    const QString name = QString(label).remove('&');
    axis.metric->setAccessibleName(tr("Metric along %1").arg(name.toLower()));
    axis.metric->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon); // narrow windows too
    axis.metric->setMinimumContentsLength(12);
    axis.metric->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    axis.metric->setMaximumWidth(fontMetrics().averageCharWidth() * 36);
    axis.logarithmic->setAccessibleName(tr("Logarithmic %1").arg(name.toLower()));
    row.addWidget(text);
    row.addWidget(axis.metric);
    row.addWidget(axis.logarithmic);
}

void ScatterView::buildPages() {
    auto* nothing = new QLabel(tr("Drop a model folder or file here"));
    nothing->setAlignment(Qt::AlignCenter);
    nothing->setEnabled(false);
    auto* empty = new QWidget;
    auto* column = new QVBoxLayout(empty);
    m_reason->setAlignment(Qt::AlignCenter);
    m_reason->setWordWrap(true);
    m_reason->setForegroundRole(QPalette::PlaceholderText);
    column->addStretch();
    column->addWidget(m_reason);
    column->addWidget(m_measure, 0, Qt::AlignCenter);
    column->addStretch();
    for (QWidget* page :
         {static_cast<QWidget*>(nothing), empty, static_cast<QWidget*>(m_plot), static_cast<QWidget*>(m_grid)})
        m_stack->addWidget(page);
    for (QWidget* picture : {static_cast<QWidget*>(m_plot), static_cast<QWidget*>(m_grid)})
        picture->addActions(m_maskActions->all());
}

void ScatterView::connectAll() {
    connect(m_refresh, &QTimer::timeout, this, &ScatterView::refresh);
    connect(m_document, &Document::opened, this, &ScatterView::restore);
    connect(m_document, &Document::modelLocated, this, &ScatterView::refresh);
    connect(m_document->measurements(), &Measurements::resultChanged, this, [this](const QString& changed) {
        const auto isIt = [&](const std::string& shown) {
            return parseResultKey(shown).resultId == changed.toStdString();
        };
        if (std::ranges::any_of(keys(), isIt) && !m_refresh->isActive())
            m_refresh->start();
    });
    connect(m_document->measurements(), &Measurements::stateChanged, this, [this] {
        chooseUsual();
        m_refresh->start();
    });
    connect(m_document->comparison(), &Comparison::changed, this, &ScatterView::refresh);
    connect(m_document->masks(), &MaskEditor::maskChanged, this, &ScatterView::showPoints);
    for (Axis* axis : {&m_x, &m_y}) {
        connect(axis->metric, &QComboBox::activated, this, [this, axis] {
            axis->isChosen = true;
            keep();
            refresh();
        });
        connect(axis->logarithmic, &QCheckBox::clicked, this, [this] {
            keep();
            showPoints();
        });
    }
    connect(m_swap, &QToolButton::clicked, this, &ScatterView::swapAxes);
    connect(m_map, &QToolButton::clicked, this, &ScatterView::showRankMap);
    connect(m_lasso, &QAction::toggled, this, [this](bool on) {
        m_plot->setTool(on ? ScatterPlot::Tool::lasso : ScatterPlot::Tool::select);
        m_grid->setTool(on ? HeadsGrid::Tool::lasso : HeadsGrid::Tool::select);
    });
    connect(m_measure, &QPushButton::clicked, this, &ScatterView::measureMissing);
    connect(m_plot, &ScatterPlot::pointChanged, this, &ScatterView::tell);
    connect(m_plot, &ScatterPlot::opened, this, &ScatterView::opened);
    connect(m_plot, &ScatterPlot::layerOpened, this, &ScatterView::layerOpened);
    connect(m_plot, &ScatterPlot::toolTipRequested, this, &ScatterView::showToolTip);
    connect(m_grid, &HeadsGrid::opened, this, &ScatterView::opened);
    connect(m_grid, &HeadsGrid::toolTipRequested, this, &ScatterView::showToolTip);
    connect(m_grid, &HeadsGrid::hinted, this, &ScatterView::tell);
    connect(m_actions, &FigureActions::failed, this, &ScatterView::failed);
}

} // namespace secateur
