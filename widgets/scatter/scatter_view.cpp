#include "widgets/scatter/scatter_view.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/session/result_key.h"
#include "widgets/document/commands.h"
#include "widgets/document/comparison.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/document/selection.h"
#include "widgets/heads/heads_grid.h"
#include "widgets/heads/mask_actions.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/results/metric_names.h"
#include "widgets/results/result_combo.h"
#include "widgets/results/scale_combo.h"
#include "widgets/scatter/scatter_plot.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPointer>
#include <QPushButton>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>
#include <QToolTip>

#include <algorithm>

namespace secateur {

namespace {

constexpr int scatterFrameMs = 16;
constexpr std::size_t mostOnScreen = 200000;
constexpr std::size_t mostAtOnce = 20000; ///< largest number of pairs that is correlated on the GUI thread

enum Page { nothingOpen, nothingToCompare };

/// Values of heads, KV groups or layers as [layers, heads]. Values of groups and layers are repeated for each head.
Matrix byHead(const ModelSpec& spec, const Matrix& cells, Scope scope) {
    Matrix values(spec.layers.size(), static_cast<std::size_t>(spec.maxHeads()));
    for (std::size_t row = 0; row < spec.layers.size(); ++row)
        for (int head = 0; head < spec.layers[row].heads; ++head) {
            const int cell = scope == Scope::head ? head : scope == Scope::kvGroup ? spec.layers[row].kvGroup(head) : 0;
            values(row, static_cast<std::size_t>(head)) = cells(row, static_cast<std::size_t>(cell));
        }
    return values;
}

/// The metrics that must be measured for a key.
std::vector<MetricRequest> requestsOf(const std::string& key) {
    return parseMetricRequests(parseResultKey(key).resultId);
}

std::vector<ScaleKind> scatterScales() {
    return {ScaleKind::automatic, ScaleKind::linear, ScaleKind::logarithmic, ScaleKind::rank};
}

std::string trueOrFalse(bool value) {
    return value ? "true" : "false";
}

} // namespace

ScatterView::ScatterView(Document* document, JobRunner* jobs, Selection* selection, MaskActions* maskActions,
                         QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_jobs(jobs)
    , m_selection(selection)
    , m_controls(new QWidget)
    , m_x{new ResultCombo(document, [](const MetricInfo&) { return true; }), new ScaleCombo(scatterScales())}
    , m_y{new ResultCombo(document, [](const MetricInfo&) { return true; }), new ScaleCombo(scatterScales())}
    , m_swap(new QToolButton)
    , m_lasso(new QAction(tr("Lasso"), this))
    , m_map(new QToolButton)
    , m_line(new QLabel)
    , m_stack(new QStackedWidget)
    , m_reason(new QLabel)
    , m_measure(new QPushButton(tr("&Measure")))
    , m_plot(new ScatterPlot(document->masks(), selection, m_stack))
    , m_grid(new HeadsGrid(document->masks(), selection, m_stack))
    , m_maskActions(maskActions)
    , m_actions(new FigureActions(this, [this] { return currentFigure(); }))
    , m_refresh(new QTimer(this)) {
    m_refresh->setSingleShot(true);
    m_refresh->setInterval(scatterFrameMs);
    build();
    connectAll();
    restore();
}

/// Shows the open model with the view settings stored in the session.
void ScatterView::restore() {
    const auto& view = m_document->session().view;
    const auto kept = [&](const char* name) {
        const auto found = view.find(name);
        return found == view.end() ? QString() : QString::fromStdString(found->second);
    };
    m_x.isChosen = !kept("scatter.x").isEmpty();
    m_y.isChosen = !kept("scatter.y").isEmpty();
    m_x.scale->restore(view, "scatter", "x");
    m_y.scale->restore(view, "scatter", "y");
    m_map->setChecked(kept("scatter.map") == "true");
    chooseUsual();
    m_x.metric->choose(kept("scatter.x"));
    m_y.metric->choose(kept("scatter.y"));
    m_controls->setEnabled(m_document->isOpen());
    m_grid->setModel(m_document->spec());
    refresh();
}

void ScatterView::keep() {
    if (!m_document->isOpen())
        return;
    m_document->setView("scatter.x", m_x.metric->key());
    m_document->setView("scatter.y", m_y.metric->key());
    m_document->setView("scatter.scalex", m_x.scale->text());
    m_document->setView("scatter.scaley", m_y.scale->text());
    m_document->setView("scatter.map", trueOrFalse(m_map->isChecked()));
}

/// If the user has chosen no metrics, chooses the first two head metrics that have values.
void ScatterView::chooseUsual() {
    QStringList usual;
    QStringList later;
    for (const KnownResult& known : knownResults(*m_document))
        if (known.request.info->scope == Scope::head && !known.key.contains('@'))
            (m_document->measurements()->state(known.key.toStdString()) != MetricState::notComputed ? usual : later)
                << known.key;
    usual << later;
    for (const auto& [axis, place] : {std::pair(&m_x, 0), std::pair(&m_y, 1)})
        if (!axis->isChosen)
            axis->metric->choose(usual.value(place));
}

std::string ScatterView::key(const Axis& axis) const {
    return m_document->comparison()->keyOf(axis.metric->key());
}

std::vector<std::string> ScatterView::keys() const {
    return {key(m_x), key(m_y)};
}

void ScatterView::showMetrics(const QString& x, const QString& y) {
    for (const auto& [axis, wanted] : {std::pair(&m_x, x), std::pair(&m_y, y)})
        axis->isChosen = axis->metric->choose(wanted) || axis->isChosen;
    keep();
    refresh();
}

void ScatterView::swapAxes() {
    const int scaleX = m_x.scale->currentIndex();
    m_x.scale->setCurrentIndex(m_y.scale->currentIndex());
    m_y.scale->setCurrentIndex(scaleX);
    showMetrics(m_y.metric->currentData().toString(), m_x.metric->currentData().toString());
}

void ScatterView::showRankMap(bool shown) {
    m_map->setChecked(shown);
    keep();
    refresh();
}

void ScatterView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (m_isStale)
        refresh();
}

void ScatterView::refresh() {
    m_isStale = !isVisible();
    if (m_isStale)
        return;
    ++m_revision;
    m_correlation.reset();
    for (Axis* axis : {&m_x, &m_y})
        axis->result = m_document->measurements()->result(key(*axis))
                           ? std::optional(m_document->measurements()->labelled(key(*axis)))
                           : std::nullopt;
    const bool isPaired = pairValues();
    m_actions->setEnabled(isPaired);
    m_line->setVisible(isPaired);
    if (!isPaired) {
        m_shown = {};
        emit hoverText({});
        return;
    }
    m_x.scale->offer(m_pairs.x.values());
    m_y.scale->offer(m_pairs.y.values());
    m_map->setEnabled(m_pairs.scope != Scope::neuron);
    correlate();
    showMap();
    showPoints();
    QWidget* picture = m_map->isChecked() && m_map->isEnabled() ? static_cast<QWidget*>(m_grid) : m_plot;
    m_stack->setCurrentWidget(picture);
}

bool ScatterView::pairValues() {
    m_stack->setCurrentIndex(m_document->isOpen() ? nothingToCompare : nothingOpen);
    QStringList missing;
    bool isMeasuring = false;
    for (const Axis* axis : {&m_x, &m_y})
        if (!axis->result) {
            for (const MetricRequest& request : requestsOf(axis->metric->key()))
                missing << metricTitle(request);
            isMeasuring =
                isMeasuring || m_document->measurements()->state(axis->metric->key()) == MetricState::computing;
        }
    missing.removeDuplicates();
    m_measure->setVisible(!missing.isEmpty() && !isMeasuring);
    m_measure->setEnabled(m_document->model() != nullptr);
    if (!missing.isEmpty()) {
        m_reason->setText((isMeasuring ? tr("Measuring %1…") : tr("Not measured: %1")).arg(missing.join(tr(" and "))));
        return false;
    }
    try {
        m_pairs = paired(m_document->spec(), *m_x.result, *m_y.result);
        return true;
    } catch (const Error&) {
        m_reason->setText(tr("Heads and neurons cannot be compared: they have nothing in common but their layer."));
        return false;
    }
}

/// Computes the rank correlation. If there are many pairs, this takes longer than a frame and runs in a job.
void ScatterView::correlate() {
    if (m_pairs.x.values().size() <= mostAtOnce) {
        m_correlation = rankCorrelation(m_pairs.x.values(), m_pairs.y.values());
        return;
    }
    if (m_correlating != 0)
        return;
    const auto work = [view = QPointer(this), pairs = m_pairs, revision = m_revision](const Progress&) {
        const RankCorrelation found = rankCorrelation(pairs.x.values(), pairs.y.values());
        return [view, found, revision] {
            if (!view)
                return;
            view->m_correlating = 0;
            if (revision != view->m_revision)
                return view->refresh();
            view->m_correlation = found;
            view->showPoints();
        };
    };
    m_correlating = m_jobs->start(tr("Rank correlation"), JobRunner::Priority::immediate, work);
}

ScatterLook ScatterView::look() const {
    ScatterLook look;
    look.scaleX = m_x.scale->scale();
    look.scaleY = m_y.scale->scale();
    const PruningMask& mask = m_document->masks()->mask();
    look.mask = mask.layerCount() == m_document->spec().layerCount() && !mask.keepsAll() ? &mask : nullptr;
    look.correlation = m_correlation ? &*m_correlation : nullptr;
    return look;
}

void ScatterView::showPoints() {
    if (!isVisible() || !m_x.result || !m_y.result || m_stack->currentIndex() == nothingOpen)
        return;
    const RankCorrelation unknown{.count = m_pairs.x.values().size()};
    ScatterLook shown = look();
    shown.mostPoints = mostOnScreen;
    if (!shown.correlation)
        shown.correlation = &unknown;
    m_shown = metricScatter(m_document->session().model, *m_x.result, *m_y.result, shown);
    m_line->setText(m_correlation ? QString::fromStdString(m_shown.note) : tr("Correlating ranks…"));
    Figure figure = m_shown;
    figure.title.clear(); // the window shows the model's name already
    figure.note.clear();  // m_line shows the note
    m_plot->showFigure(std::move(figure), m_pairs.scope, m_document->spec());
    updateHoverText();
}

void ScatterView::showMap() {
    if (!m_map->isEnabled())
        return;
    const Figure map = rankDifferenceMap(m_document->session().model, *m_x.result, *m_y.result);
    m_grid->setValues(byHead(m_document->spec(), map.cells, m_pairs.scope), map.scale,
                      QString::fromStdString(map.colour.label), m_pairs.scope == Scope::kvGroup);
}

bool ScatterView::isMapShown() const {
    return m_stack->currentWidget() == m_grid;
}

Figure ScatterView::currentFigure() const {
    if (!isMapShown() && m_stack->currentWidget() != m_plot)
        return {};
    const ModelCard& model = m_document->session().model;
    Figure figure = isMapShown() ? rankDifferenceMap(model, *m_x.result, *m_y.result)
                                 : metricScatter(model, *m_x.result, *m_y.result, look());
    figure.command = plotText(*m_document, figureText());
    return figure;
}

std::string ScatterView::figureText() const {
    const std::string axes = "x=" + fileForm(parseResultKey(key(m_x))) + ":y=" + fileForm(parseResultKey(key(m_y)));
    const ScatterLook drawn = look();
    return isMapShown() ? "rank_difference:" + axes
                        : "scatter:" + axes + ":scalex=" + std::string(name(drawn.scaleX)) +
                              ":scaley=" + std::string(name(drawn.scaleY));
}

// ---- actions

void ScatterView::measureMissing() {
    std::vector<MetricRequest> requests;
    for (const Axis* axis : {&m_x, &m_y})
        if (!axis->result && (requests.empty() || m_x.metric->key() != m_y.metric->key()))
            for (MetricRequest& request : requestsOf(axis->metric->key()))
                requests.push_back(std::move(request));
    m_document->measurements()->measure(requests);
}

void ScatterView::setFilter(const HeadFilter* filter) {
    m_plot->setFilter(filter);
    m_grid->setFilter(filter);
}

void ScatterView::selectAll() {
    if (isMapShown())
        m_grid->selectAll();
    else
        m_plot->selectAll();
}

void ScatterView::resetZoom() {
    m_plot->resetZoom();
    m_grid->resetZoom();
}

void ScatterView::contextMenuEvent(QContextMenuEvent* event) {
    if (!m_document->isOpen() || m_shown.series.empty())
        return;
    QWidget* shown = m_stack->currentWidget();
    if (event->reason() == QContextMenuEvent::Mouse && shown == m_plot)
        m_plot->selectForMenu(m_plot->mapFrom(this, event->pos()));
    else if (event->reason() == QContextMenuEvent::Mouse && shown == m_grid)
        m_grid->selectForMenu(m_grid->mapFrom(this, event->pos()));
    QMenu menu(this);
    m_maskActions->fill(&menu);
    menu.addSeparator();
    QAction* values = menu.addAction(tr("Copy selected &values"), this, &ScatterView::copyValues);
    values->setEnabled(!m_selection->heads().empty() && m_pairs.scope != Scope::neuron);
    menu.addAction(tr("Copy metrics as co&mmand line"), this, [this] { emit commandWanted(keys()); });
    menu.addActions(m_actions->actions());
    menu.addSeparator();
    menu.addAction(tr("Select &all"), this, &ScatterView::selectAll);
    menu.addAction(m_lasso);
    menu.addAction(tr("&Reset zoom"), this, &ScatterView::resetZoom);
    menu.exec(event->globalPos());
}

} // namespace secateur
