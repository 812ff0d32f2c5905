#include "widgets/scatter/scatter_view.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "analysis/session/result_key.h"
#include "widgets/document/comparison.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/document/selection.h"
#include "widgets/heads/heads_grid.h"
#include "widgets/heads/mask_actions.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/results/passed_focus.h"
#include "widgets/results/result_combo.h"
#include "widgets/results/scale_combo.h"
#include "widgets/scatter/scatter_plot.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>
#include <QToolTip>

#include <algorithm>

namespace secateur {

// ---- widgets

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
    m_lasso->setWhatsThis(tr("Draw around the heads to select (or hold Ctrl+Shift and drag)"));
    m_lasso->setToolTip(tr("Draw around the heads to select (or hold Ctrl+Shift and drag)"));
    auto* lasso = new QToolButton;
    lasso->setDefaultAction(m_lasso);
    lasso->setAutoRaise(true);
    lasso->setAccessibleName(tr("Lasso tool"));
    row->addWidget(lasso);
    m_map->setText(tr("Rank map"));
    m_map->setAccessibleName(tr("Rank map"));
    m_map->setToolTip(tr("Map of the differences between the heads' ranks in the two metrics"));
    m_map->setCheckable(true);
    m_map->setAutoRaise(true);
    row->addWidget(m_map);
    m_line->setAccessibleName(tr("Rank correlation"));
    m_line->setObjectName("correlation");
    m_line->setContentsMargins(8, 0, 8, 6);
    m_line->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_line->setToolTip(tr("Agreement of the two rankings: 1 = same order, 0 = unrelated, −1 = opposite order.\n"
                          "Spearman's rank correlation and Kendall's tau-b."));
    buildPages();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_controls);
    layout->addWidget(m_line);
    layout->addWidget(m_stack, 1);
    new PassedFocus(this, [this] { return m_stack->currentWidget(); });
}

void ScatterView::addAxis(QHBoxLayout& row, Axis& axis, const QString& label) {
    auto* text = new QLabel(label);
    text->setBuddy(axis.metric);
    const QString name = QString(label).remove('&');
    axis.metric->setAccessibleName(tr("Metric along %1").arg(name.toLower()));
    axis.metric->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon); // for narrow windows
    axis.metric->setMinimumContentsLength(12);
    axis.metric->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    axis.metric->setMaximumWidth(fontMetrics().averageCharWidth() * 36);
    axis.scale->setAccessibleName(tr("Scale of %1").arg(name.toLower()));
    row.addWidget(text);
    row.addWidget(axis.metric);
    row.addWidget(axis.scale);
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
    m_measure->setToolTip(tr("Measures the metrics of the two axes that are not measured"));
    column->addWidget(m_measure, 0, Qt::AlignCenter);
    column->addStretch();
    for (QWidget* page :
         {static_cast<QWidget*>(nothing), empty, static_cast<QWidget*>(m_plot), static_cast<QWidget*>(m_grid)})
        m_stack->addWidget(page);
    for (QWidget* picture : {static_cast<QWidget*>(m_plot), static_cast<QWidget*>(m_grid)})
        picture->addActions(m_maskActions->all());
}

void ScatterView::connectAll() {
    connect(m_jobs, &JobRunner::cancelled, this, [this](quint64 job) {
        if (job != m_correlating)
            return;
        m_correlating = 0;
        refresh(); // other values may be shown by now
    });
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
        connect(axis->scale, &QComboBox::activated, this, [this] {
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
    connect(m_plot, &ScatterPlot::pointChanged, this, &ScatterView::updateHoverText);
    connect(m_plot, &ScatterPlot::opened, this, &ScatterView::opened);
    connect(m_plot, &ScatterPlot::layerOpened, this, &ScatterView::layerOpened);
    connect(m_plot, &ScatterPlot::toolTipRequested, this, &ScatterView::showToolTip);
    connect(m_grid, &HeadsGrid::opened, this, &ScatterView::opened);
    connect(m_grid, &HeadsGrid::toolTipRequested, this, &ScatterView::showToolTip);
    connect(m_grid, &HeadsGrid::hinted, this, &ScatterView::updateHoverText);
    connect(m_actions, &FigureActions::failed, this, &ScatterView::failed);
    m_actions->setCommandCopier([this] {
        const bool isMarked = look().mask && !isMapShown();
        if (isMarked)
            emit maskedFigureWanted(figureText());
        return isMarked;
    });
}

// ---- texts

QString ScatterView::describe(std::size_t point, bool exact) const {
    const FigureSeries& points = m_shown.series.front();
    const FigureUnit unit = points.units[point];
    QString name = QString::fromStdString(headName(unit.layer, unit.index));
    if (m_pairs.scope == Scope::layer)
        name = QString("L%1").arg(unit.layer);
    else if (m_pairs.scope != Scope::head)
        name = QString("L%1.%2%3").arg(unit.layer).arg(m_pairs.scope == Scope::kvGroup ? "G" : "N").arg(unit.index);
    QStringList parts{name};
    for (const auto& [axis, value] :
         {std::pair(&m_shown.x, points.positions[point]), std::pair(&m_shown.y, points.values[point])})
        parts << QString::fromStdString(axis->label + " = " + (exact ? exactly(value) : shownNumber(value)));
    if (point < points.cut.size() && points.cut[point])
        parts << tr("cut");
    return parts.join(exact ? "\n" : " · ");
}

QString ScatterView::describe(HeadId head, bool exact) const {
    const FigureSeries& points = m_shown.series.front();
    const LayerSpec& layer = m_document->spec().layers[static_cast<std::size_t>(head.layer)];
    const int index = m_pairs.scope == Scope::head      ? head.head
                      : m_pairs.scope == Scope::kvGroup ? layer.kvGroup(head.head)
                                                        : 0;
    const auto found = std::ranges::lower_bound(points.units, FigureUnit{head.layer, index});
    if (found == points.units.end() || *found != FigureUnit{head.layer, index})
        return QString::fromStdString(headName(head.layer, head.head));
    return describe(static_cast<std::size_t>(found - points.units.begin()), exact);
}

std::optional<QString> ScatterView::textUnder(bool exact) const {
    if (m_shown.series.empty())
        return {};
    if (isMapShown())
        return m_selection->hovered() ? std::optional(describe(*m_selection->hovered(), exact)) : std::nullopt;
    const auto point = m_plot->hoveredPoint();
    return point ? std::optional(describe(*point, exact)) : std::nullopt;
}

void ScatterView::updateHoverText() {
    if (m_shown.series.empty())
        return;
    const bool isMap = isMapShown();
    QString text = textUnder(false).value_or(QString());
    if (isMap && !m_grid->hint().isEmpty())
        text = m_grid->hint();
    else if (text.isEmpty() && isMap && m_selection->active())
        text = describe(*m_selection->active(), false);
    else if (text.isEmpty() && !isMap && m_plot->currentPoint())
        text = describe(*m_plot->currentPoint(), false);
    m_plot->setAccessibleDescription(text);
    m_grid->setAccessibleDescription(text);
    emit hoverText(text);
}

void ScatterView::showToolTip(const QPoint& globalPosition) {
    const std::optional<QString> text = textUnder(true);
    if (text)
        QToolTip::showText(globalPosition, *text, this);
    else
        QToolTip::hideText();
}

void ScatterView::copyValues() {
    if (m_shown.series.empty() || m_selection->heads().empty() || m_pairs.scope == Scope::neuron)
        return;
    Figure figure = m_shown;
    FigureSeries chosen;
    const FigureSeries& all = m_shown.series.front();
    for (std::size_t i = 0; i < all.units.size(); ++i) {
        const auto isOf = [&](HeadId head) {
            const LayerSpec& layer = m_document->spec().layers[static_cast<std::size_t>(head.layer)];
            return head.layer == all.units[i].layer &&
                   (m_pairs.scope == Scope::layer ||
                    (m_pairs.scope == Scope::head ? head.head : layer.kvGroup(head.head)) == all.units[i].index);
        };
        if (!std::ranges::any_of(m_selection->heads(), isOf))
            continue;
        chosen.units.push_back(all.units[i]);
        chosen.positions.push_back(all.positions[i]);
        chosen.values.push_back(all.values[i]);
        if (!all.cut.empty())
            chosen.cut.push_back(all.cut[i]);
    }
    figure.series = {std::move(chosen)};
    QApplication::clipboard()->setText(QString::fromStdString(toCsv(figure)));
}

} // namespace secateur
