#include "widgets/layers/layers_view.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/metrics/usual_request.h"
#include "analysis/session/result_key.h"
#include "widgets/document/commands.h"
#include "widgets/document/comparison.h"
#include "widgets/document/document.h"
#include "widgets/document/head_filter.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/layers/layers_panel.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/plot/plot_scale.h"
#include "widgets/results/empty_page.h"
#include "widgets/results/metric_names.h"
#include "widgets/results/passed_focus.h"
#include "widgets/results/scale_combo.h"

#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QMouseEvent>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

constexpr int layersFrameMs = 16;
constexpr int metricsAtFirst = 2;

/// A menu that stays open when an entry is checked or unchecked.
class TickMenu : public QMenu {
public:
    using QMenu::QMenu;

protected:
    void mouseReleaseEvent(QMouseEvent* event) override {
        QAction* action = activeAction();
        if (action && action->isEnabled() && action->isCheckable())
            action->trigger();
        else
            QMenu::mouseReleaseEvent(event);
    }
};

std::vector<double> allValues(const Figure& figure) {
    std::vector<double> values;
    for (const FigureSeries& series : figure.series)
        values.insert(values.end(), series.values.begin(), series.values.end());
    return values;
}

std::string shortWithError(double value, double error) {
    return shownWithError(value, error) + (error > 0 ? " (estimate)" : "");
}

bool isMeanOfHeads(const MetricResult& result) {
    return result.request.info->scope == Scope::head || result.request.info->scope == Scope::kvGroup;
}

std::vector<std::string> keysFrom(const QStringList& ids) {
    std::vector<std::string> keys;
    for (const QString& id : ids)
        keys.push_back(id.toStdString());
    return keys;
}

QStringList usualMetrics(const ModelSpec& spec) {
    QStringList ids;
    for (const MetricInfo* info : allMetrics())
        if (info->scope == Scope::layer && ids.size() < metricsAtFirst)
            ids << QString::fromStdString(usualRequest(*info, spec).resultId());
    return ids;
}

} // namespace

LayersView::LayersView(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_controls(new QWidget)
    , m_metrics(new QToolButton)
    , m_menu(new TickMenu(this))
    , m_scale(new ScaleCombo({ScaleKind::automatic, ScaleKind::linear, ScaleKind::logarithmic}))
    , m_estimates(new QLabel)
    , m_stack(new QStackedWidget)
    , m_unmeasured(new UnmeasuredPage(document))
    , m_panel(new LayersPanel(document->masks(), selection, LayersPlot::Marked::everything,
                              [this](int layer, bool exact) { return valuesAt(layer, exact); }))
    , m_plot(m_panel->plot())
    , m_actions(new FigureActions(this, [this] { return currentFigure(); }))
    , m_refresh(new QTimer(this)) {
    m_metrics->setPopupMode(QToolButton::InstantPopup);
    m_metrics->setMenu(m_menu);
    m_metrics->setToolTip(tr("Metrics to draw in one plot"));
    auto* scale = new QLabel(tr("Sca&le"));
    scale->setBuddy(m_scale);
    m_scale->setAccessibleName(tr("Scale of the values"));
    m_menu->setToolTipsVisible(true);

    auto* row = new QHBoxLayout(m_controls);
    row->setContentsMargins(8, 6, 8, 6);
    row->addWidget(m_metrics);
    row->addSpacing(8);
    row->addWidget(scale);
    row->addWidget(m_scale);
    row->addStretch();
    row->addWidget(m_estimates);
    m_estimates->setObjectName("estimates");
    m_estimates->setToolTip(
        tr("An estimate is drawn as a light bar with whiskers of ±%1 standard errors.\nIts point is "
           "hollow while it may change places with another layer.\nExact values replace it.")
            .arg(whiskerErrors));
    m_stack->addWidget(emptyPage(tr("Drop a model folder or file here")));
    m_stack->addWidget(m_unmeasured);
    m_stack->addWidget(m_panel);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_controls);
    layout->addWidget(m_stack, 1);
    new PassedFocus(this, [this] { return m_plot; });
    m_plot->setObjectName("layersPlot");
    m_refresh->setSingleShot(true);
    m_refresh->setInterval(layersFrameMs);
    connectAll();
    restore();
}

void LayersView::connectAll() {
    connect(m_refresh, &QTimer::timeout, this, &LayersView::follow);
    connect(m_document, &Document::opened, this, &LayersView::restore);
    connect(m_document->measurements(), &Measurements::resultChanged, this, [this](const QString& id) {
        const auto isOfIt = [&](const QString& key) {
            return parseResultKey(key.toStdString()).resultId == id.toStdString();
        };
        if (std::ranges::any_of(m_chosen, isOfIt) && !m_refresh->isActive())
            m_refresh->start();
    });
    connect(m_document->measurements(), &Measurements::stateChanged, this, [this] {
        listMetrics();
        if (m_stack->currentWidget() == m_unmeasured)
            m_unmeasured->name(keysFrom(m_chosen)); // the page says what is measured
    });
    connect(m_document->measurements(), &Measurements::staleChanged, this, &LayersView::listMetrics);
    connect(m_document->comparison(), &Comparison::changed, this, &LayersView::refresh);
    connect(m_scale, &QComboBox::activated, this, [this] {
        keep();
        refresh();
    });
    connect(m_plot, &LayersPlot::cutWanted, this, &LayersView::cutOrRestore);
    connect(m_panel, &LayersPanel::hoverText, this, &LayersView::hoverText);
    connect(m_actions, &FigureActions::failed, this, &LayersView::failed);
    m_actions->setCommandCopier([this] {
        const Figure figure = currentFigure();
        const bool isMarked = figure.mask && !figure.command.empty();
        if (isMarked)
            emit maskedFigureWanted(figureText());
        return isMarked;
    });
}

void LayersView::setFilter(const HeadFilter* filter) {
    m_filter = filter;
    m_plot->setFilter(filter);
    connect(filter, &HeadFilter::changed, this, [this] {
        if (!m_refresh->isActive())
            m_refresh->start();
    });
}

LayerMarksLegend* LayersView::legend() const {
    return m_panel->legend();
}

void LayersView::cutOrRestore() {
    LayerUnit unit = LayerUnit::attention;
    for (const QString& id : m_chosen) {
        if (!m_document->measurements()->result(id.toStdString()))
            continue;
        unit = id.startsWith("mlp_") ? LayerUnit::mlp : id.startsWith("block_") ? LayerUnit::block : unit;
        break;
    }
    m_panel->toggle(unit);
}

/// Shows the open model with the view settings stored in the session.
void LayersView::restore() {
    const auto& view = m_document->session().view;
    const auto chosen = view.find("layers.metrics");
    m_chosen = chosen == view.end() ? usualMetrics(m_document->spec())
                                    : QString::fromStdString(chosen->second).split(',', Qt::SkipEmptyParts);
    m_scale->restore(view, "layers");
    m_controls->setEnabled(m_document->isOpen());
    m_plot->setModel(m_document->spec());
    listMetrics();
    refresh();
}

void LayersView::keep() {
    if (!m_document->isOpen())
        return;
    m_document->setView("layers.metrics", m_chosen.join(',').toStdString());
    m_document->setView("layers.scale", m_scale->text());
}

void LayersView::listMetrics() {
    m_menu->clear();
    for (const KnownResult& known : knownResults(*m_document)) {
        const MetricInfo& info = *known.request.info;
        if (info.scope == Scope::neuron || !info.classes.empty())
            continue;
        const QString id = known.key;
        QAction* action = m_menu->addAction(info.scope == Scope::layer ? known.title : tr("mean %1").arg(known.title));
        action->setCheckable(true);
        action->setChecked(m_chosen.contains(id));
        action->setToolTip(metricHelp(known.request));
        connect(action, &QAction::toggled, this, [this, id](bool on) {
            QStringList ids = m_chosen;
            if (on)
                ids << id;
            else
                ids.removeAll(id);
            chooseMetrics(ids);
        });
    }
    m_metrics->setText(tr("Metrics (%1)").arg(m_chosen.size()));
}

void LayersView::chooseMetrics(const QStringList& resultIds) {
    m_chosen = resultIds;
    m_metrics->setText(tr("Metrics (%1)").arg(m_chosen.size()));
    keep();
    refresh();
}

void LayersView::refresh() {
    m_left.reset();
    m_right.reset();
    follow();
}

void LayersView::follow() {
    const std::vector<double> values = allValues(currentFigure());
    m_scale->offer(values);
    Figure figure = currentFigure(); // on a scale that suits the values
    figure.mask.reset();             // LayersPlot marks the cuts, with those of a preview
    if (!std::isnan(finiteRange(values).first))
        keepAxesSteady(figure);
    figure.title.clear(); // the window shows the model's name already
    m_actions->setEnabled(!figure.series.empty());
    if (figure.series.empty())
        m_unmeasured->name(keysFrom(m_chosen));
    m_stack->setCurrentIndex(!m_document->isOpen() ? 0 : figure.series.empty() ? 1 : 2);
    m_estimates->setText(QString::fromStdString(estimatesIn(figure)));
    m_plot->setFigure(figure);
    m_panel->updateHoverText();
}

void LayersView::keepAxesSteady(Figure& figure) {
    const auto keep = [&](std::optional<FigureAxis>& shown, FigureAxis& axis, bool right) {
        axis.range = fittingRange(figure.series, right, axis.logarithmic);
        if (shown && shown->logarithmic == axis.logarithmic)
            axis.range = steadyRange(*shown->range, *axis.range, axis.logarithmic);
        shown = axis;
    };
    keep(m_left, figure.y, false);
    keep(m_right, figure.rightY, true);
}

std::vector<std::string> LayersView::shownIds() const {
    std::vector<std::string> ids;
    for (const QString& id : m_chosen)
        for (const std::string& key : m_document->comparison()->keysOf(id.toStdString()))
            if (m_document->measurements()->result(key))
                ids.push_back(key);
    return ids;
}

Figure LayersView::currentFigure() const {
    std::vector<MetricResult> results;
    for (const std::string& key : shownIds())
        results.push_back(m_document->measurements()->labelled(key));
    bool isFiltered = false;
    for (MetricResult& result : results)
        if (m_filter && m_filter->isActive() && isMeanOfHeads(result)) {
            result = resultOfPassing(std::move(result), m_document->spec(), m_filter->heads());
            result.label += (result.label.empty() ? "" : ", ") + m_filter->summary().toStdString();
            isFiltered = true;
        }
    if (results.empty()) {
        Figure none;
        none.kind = FigureKind::series;
        return none;
    }
    const ModelCard& model = m_document->session().model;
    Figure figure = layerSeries(model, results, m_scale->scale());
    if (const PruningMask& mask = m_document->masks()->mask(); !mask.keepsAll())
        figure.mask = mask;
    if (isFiltered) {
        figure.caption += " Means over the heads that pass the filter " + m_filter->text().toStdString() + ".";
        return figure; // there is no command for means over filtered heads
    }
    figure.command = plotText(*m_document, figureText());
    return figure;
}

std::string LayersView::figureText() const {
    std::vector<std::string> ids;
    for (const std::string& key : shownIds())
        ids.push_back(fileForm(parseResultKey(key)));
    return "layers:metrics=" + join(ids, "/") + ":scale=" + std::string(name(m_scale->scale()));
}

QStringList LayersView::valuesAt(int layer, bool exact) const {
    const auto format = exact ? exactlyWithError : shortWithError;
    QStringList parts;
    const auto at = static_cast<std::size_t>(layer);
    for (const FigureSeries& series : currentFigure().series)
        if (at < series.values.size())
            parts << QString::fromStdString(
                series.label + " = " + format(series.values[at], at < series.errors.size() ? series.errors[at] : 0));
    return parts;
}

void LayersView::contextMenuEvent(QContextMenuEvent* event) {
    if (!m_document->isOpen())
        return;
    QMenu menu(this);
    m_panel->addCuts(menu, *event);
    QAction* measuring =
        menu.addAction(tr("Copy metrics as co&mmand line"), this, [this] { emit commandWanted(shownIds()); });
    measuring->setEnabled(!shownIds().empty());
    menu.addActions(m_actions->actions());
    menu.exec(event->globalPos());
}

} // namespace secateur
