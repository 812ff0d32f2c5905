#include "widgets/heads_view.h"

#include "analysis/statistics.h"
#include "analysis/text.h"
#include "widgets/colour_maps.h"
#include "widgets/document.h"
#include "widgets/figure_actions.h"
#include "widgets/heads_grid.h"
#include "widgets/metric_names.h"
#include "widgets/plot_scale.h"
#include "widgets/selection.h"

#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QStackedWidget>
#include <QStandardItemModel>
#include <QTimer>
#include <QToolButton>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

constexpr int frameMs = 16;
constexpr double defaultClip = 1;

/// "95th"
QString ordinal(int number) {
    const int tens = number % 100;
    if (tens >= 11 && tens <= 13)
        return QString("%1th").arg(number);
    const int ones = number % 10;
    return QString::number(number) + (ones == 1 ? "st" : ones == 2 ? "nd" : ones == 3 ? "rd" : "th");
}

QIcon iconOf(const QString& map) {
    QImage image(256, 1, QImage::Format_RGB32);
    for (int i = 0; i < image.width(); ++i)
        image.setPixel(i, 0, colourMap(map)[static_cast<std::size_t>(i)]);
    return QPixmap::fromImage(image.scaled(96, 32));
}

bool isShownByHead(const MetricInfo& info) {
    return info.scope == Scope::head || info.scope == Scope::kvGroup;
}

/// The values of a result for every head: a KV group's value comes once for each of its heads.
Matrix perHead(const MetricResult* result, const ModelSpec& spec) {
    Matrix values(spec.layers.size(), static_cast<std::size_t>(spec.maxHeads()));
    for (std::size_t layer = 0; result && layer < std::min(values.rows(), result->values.rows()); ++layer)
        for (int head = 0; head < spec.layers[layer].heads; ++head) {
            const bool grouped = result->request.info->scope == Scope::kvGroup;
            const auto column = static_cast<std::size_t>(grouped ? spec.layers[layer].kvGroup(head) : head);
            if (column < result->values.columns())
                values(layer, static_cast<std::size_t>(head)) = result->values(layer, column);
        }
    return values;
}

QComboBox* addCombo(QHBoxLayout& row, const QString& text, const QString& name, const QString& help) {
    auto* label = new QLabel(text);
    auto* combo = new QComboBox;
    label->setBuddy(combo);
    combo->setAccessibleName(name);
    combo->setToolTip(help);
    combo->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    row.addWidget(label);
    row.addWidget(combo);
    return combo;
}

} // namespace

HeadsView::HeadsView(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_selection(selection)
    , m_controls(new QWidget)
    , m_lasso(new QAction(tr("Lasso"), this))
    , m_stack(new QStackedWidget)
    , m_grid(new HeadsGrid(selection, m_stack))
    , m_actions(new FigureActions(this, [this] { return currentFigure(); }))
    , m_refresh(new QTimer(this)) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    auto* row = new QHBoxLayout(m_controls);
    row->setContentsMargins(8, 6, 8, 6);
    row->setSpacing(6);
    buildControls(*row);
    layout->addWidget(m_controls);
    auto* empty = new QLabel(tr("Drop a model folder or file here"));
    empty->setAlignment(Qt::AlignCenter);
    empty->setEnabled(false);
    m_stack->addWidget(empty);
    m_stack->addWidget(m_grid);
    layout->addWidget(m_stack, 1);
    setFocusProxy(m_grid);
    m_refresh->setSingleShot(true);
    m_refresh->setInterval(frameMs);
    connectAll();
    restore();
}

void HeadsView::buildControls(QHBoxLayout& row) {
    m_metric = addCombo(row, tr("&Metric"), tr("Metric"), {});
    row.addSpacing(8);
    m_colours = addCombo(row, tr("&Colour"), tr("Colour map"), tr("Colours, from low to high"));
    m_colours->setIconSize({48, 12});
    for (const QString& id : colourMapIds())
        m_colours->addItem(iconOf(id), id, id);
    row.addSpacing(8);
    m_logarithmic = new QCheckBox(tr("&Log"));
    m_logarithmic->setAccessibleName(tr("Logarithmic colours"));
    row.addWidget(m_logarithmic);
    row.addSpacing(8);
    m_clip = addCombo(row, tr("&Range"), tr("Range of the colours"),
                      tr("Percentiles between which values have colours of their own;\nthose beyond take the end's"));
    for (const double percent : {0.0, 0.5, 1.0, 2.0, 5.0})
        m_clip->addItem(percent == 0 ? tr("all") : tr("%1–%2 %").arg(percent).arg(100 - percent), percent);
    row.addStretch();
    m_lasso->setCheckable(true);
    m_lasso->setToolTip(tr("Draw around the heads to select (or hold Ctrl+Shift and drag)"));
    auto* lasso = new QToolButton;
    lasso->setDefaultAction(m_lasso);
    lasso->setAutoRaise(true);
    row.addWidget(lasso);
}

void HeadsView::connectAll() {
    connect(m_refresh, &QTimer::timeout, this, &HeadsView::refresh);
    connect(m_document, &Document::opened, this, &HeadsView::restore);
    connect(m_document, &Document::resultChanged, this, [this](const QString& id) {
        if (id.toStdString() == resultId() && !m_refresh->isActive())
            m_refresh->start();
    });
    connect(m_document, &Document::stateChanged, this, &HeadsView::listMetrics);
    connect(m_metric, &QComboBox::currentIndexChanged, this, [this] {
        refresh();
        emit resultShown(QString::fromStdString(resultId()));
    });
    const auto keepAndRefresh = [this] {
        keep();
        refresh();
    };
    connect(m_metric, &QComboBox::activated, this, &HeadsView::keep);
    connect(m_colours, &QComboBox::activated, this, keepAndRefresh);
    connect(m_clip, &QComboBox::activated, this, keepAndRefresh);
    connect(m_logarithmic, &QCheckBox::clicked, this, keepAndRefresh);
    connect(m_lasso, &QAction::toggled, m_grid, &HeadsGrid::setLassoTool);
    connect(m_grid, &HeadsGrid::toolTipRequested, this, &HeadsView::showToolTip);
    connect(m_actions, &FigureActions::failed, this, &HeadsView::failed);
    connect(m_selection, &Selection::hoverChanged, this, &HeadsView::tellHead);
    connect(m_selection, &Selection::changed, this, &HeadsView::tellHead);
}

void HeadsView::tellHead() {
    const std::optional<HeadId> head = m_selection->hovered() ? m_selection->hovered() : m_selection->active();
    const QString text = head ? describe(*head) : QString();
    m_grid->setAccessibleDescription(text);
    emit hoverText(text);
}

/// Takes over what is open now and how it was looked at.
void HeadsView::restore() {
    const auto& view = m_document->session().view;
    const auto kept = [&](const std::string& name, const QString& otherwise) {
        const auto found = view.find(name);
        return found == view.end() ? otherwise : QString::fromStdString(found->second);
    };
    m_colours->setCurrentIndex(std::max(0, m_colours->findData(kept("heads.colours", "viridis"))));
    m_clip->setCurrentIndex(m_clip->findData(kept("heads.clip", QString::number(defaultClip)).toDouble()));
    if (m_clip->currentIndex() < 0)
        m_clip->setCurrentIndex(m_clip->findData(defaultClip));
    m_logarithmic->setChecked(kept("heads.log", "false") == "true");
    listMetrics();
    m_metric->setCurrentIndex(std::max(0, m_metric->findData(kept("heads.metric", {}))));
    m_grid->setModel(m_document->spec());
    m_controls->setEnabled(m_document->isOpen());
    m_stack->setCurrentIndex(m_document->isOpen() ? 1 : 0);
    refresh();
}

void HeadsView::keep() {
    if (!m_document->isOpen())
        return;
    m_document->setView("heads.metric", resultId());
    m_document->setView("heads.colours", m_colours->currentData().toString().toStdString());
    m_document->setView("heads.log", m_logarithmic->isChecked() ? "true" : "false");
    m_document->setView("heads.clip", exactly(m_clip->currentData().toDouble()));
}

void HeadsView::listMetrics() {
    std::vector<MetricRequest> requests = knownRequests(*m_document);
    std::erase_if(requests, [](const MetricRequest& request) { return !isShownByHead(*request.info); });
    const QString current = m_metric->currentData().toString();
    const QSignalBlocker quiet(m_metric);
    m_metric->clear();
    for (const MetricRequest& request : requests) {
        const QString id = QString::fromStdString(request.resultId());
        const bool computed = m_document->state(request.resultId()) != MetricState::notComputed;
        m_metric->addItem(computed ? metricTitle(request) : tr("%1 (not measured)").arg(metricTitle(request)), id);
        m_metric->setItemData(m_metric->count() - 1, metricHelp(request), Qt::ToolTipRole);
    }
    m_metric->setCurrentIndex(std::max(0, m_metric->findData(current)));
}

void HeadsView::showMetric(const QString& id) {
    if (const int index = m_metric->findData(id); index >= 0) {
        m_metric->setCurrentIndex(index);
        keep();
    }
}

std::string HeadsView::resultId() const {
    return m_metric->currentData().toString().toStdString();
}

const MetricResult* HeadsView::result() const {
    return m_document->result(resultId());
}

void HeadsView::refresh() {
    const MetricResult* shown = result();
    offerScales(shown);
    m_ranks.clear();
    m_uncertain.clear();
    if (shown) {
        const std::span<const double> values = shown->values.values();
        m_ranks = ranks(values, shown->request.info->pruneFirst != PruneFirst::high);
        m_uncertain = shown->standardError ? notSeparated(values, shown->standardError->values())
                                           : std::vector<bool>(values.size(), false);
    }
    m_metric->setToolTip(m_metric->currentData(Qt::ToolTipRole).toString());
    m_actions->setEnabled(shown);
    const bool byGroup = shown && shown->request.info->scope == Scope::kvGroup;
    const QString label = shown ? QString::fromStdString(currentFigure().colour.label) : QString();
    m_grid->setValues(perHead(shown, m_document->spec()), scale(), label, byGroup);
    tellHead();
}

void HeadsView::offerScales(const MetricResult* shown) {
    const std::span<const double> values = shown ? shown->values.values() : std::span<const double>();
    m_logarithmic->setEnabled(spreadsWidely(values));
    m_logarithmic->setToolTip(m_logarithmic->isEnabled()
                                  ? tr("Logarithmic colours")
                                  : tr("For values that are positive and spread over 100 times"));
    const auto* items = qobject_cast<QStandardItemModel*>(m_colours->model());
    for (int i = 0; i < m_colours->count(); ++i)
        if (isDiverging(m_colours->itemData(i).toString()))
            items->item(i)->setEnabled(isSigned(values));
}

ColourScale HeadsView::scale() const {
    const MetricResult* shown = result();
    const QString map = m_colours->currentData().toString();
    const bool fits = !isDiverging(map) || (shown && isSigned(shown->values.values()));
    return {fits ? map.toStdString() : ColourScale().map, m_logarithmic->isEnabled() && m_logarithmic->isChecked(),
            m_clip->currentData().toDouble()};
}

Figure HeadsView::currentFigure() const {
    const MetricResult* shown = result();
    if (!shown)
        return {};
    const ModelCard& model = m_document->session().model;
    const ColourScale colours = scale();
    Figure figure = headMap(model, *shown, colours);
    figure.command = "secateur-cli plot " + model.path + " --figure heads:metric=" + fileForm(resultId()) +
                     ":colours=" + colours.map + ":log=" + (colours.logarithmic ? "true" : "false") +
                     ":clip=" + exactly(colours.clipPercent);
    return figure;
}

std::size_t HeadsView::column(HeadId head) const {
    const LayerSpec& layer = m_document->spec().layers[static_cast<std::size_t>(head.layer)];
    const MetricResult* shown = result();
    const bool grouped = shown && shown->request.info->scope == Scope::kvGroup;
    return static_cast<std::size_t>(grouped ? layer.kvGroup(head.head) : head.head);
}

std::optional<double> HeadsView::value(HeadId head) const {
    const MetricResult* shown = result();
    const auto row = static_cast<std::size_t>(head.layer);
    if (!shown || head.layer < 0 || head.head < 0 || row >= m_document->spec().layers.size() ||
        head.head >= m_document->spec().layers[row].heads || row >= shown->values.rows() ||
        column(head) >= shown->values.columns() || std::isnan(shown->values(row, column(head))))
        return {};
    return shown->values(row, column(head));
}

QString HeadsView::cellName(HeadId head) const {
    const MetricResult* shown = result();
    if (shown && shown->request.info->scope == Scope::kvGroup)
        return QString("L%1.G%2").arg(head.layer).arg(column(head));
    return QString::fromStdString(headName(head.layer, head.head));
}

QString HeadsView::describe(HeadId head) const {
    const std::optional<double> number = value(head);
    if (!number)
        return QString::fromStdString(headName(head.layer, head.head));
    const MetricResult& shown = *result();
    const auto row = static_cast<std::size_t>(head.layer);
    const double error = shown.errorAt(row, column(head));
    QString text = cellName(head) + " = " + QString::fromStdString(withError(*number, error));
    if (!shown.request.info->unit.empty())
        text += ' ' + toQString(shown.request.info->unit);
    if (error > 0)
        text += tr(" (estimate)");
    const auto finite = std::count_if(m_ranks.begin(), m_ranks.end(), [](int rank) { return rank > 0; });
    const std::size_t cell = row * shown.values.columns() + column(head);
    if (cell < m_ranks.size())
        text += (m_uncertain[cell] ? tr(" · rank ≈%1/%2") : tr(" · rank %1/%2")).arg(m_ranks[cell]).arg(finite);
    if (const double percent = percentBelow(shown.values.row(row), *number); !std::isnan(percent))
        text += tr(" · %1 percentile of layer").arg(ordinal(static_cast<int>(std::lround(percent))));
    return text;
}

void HeadsView::showToolTip(const QPoint& globalPosition) {
    const std::optional<HeadId> head = m_selection->hovered();
    const std::optional<double> number = head ? value(*head) : std::nullopt;
    if (number) {
        const double error = result()->errorAt(static_cast<std::size_t>(head->layer), column(*head));
        const QString text = QString::fromStdString(exactlyWithError(*number, error));
        QToolTip::showText(globalPosition, cellName(*head) + " = " + text, m_grid);
    } else
        QToolTip::hideText();
}

void HeadsView::selectAll() {
    m_grid->selectAll();
}

void HeadsView::resetZoom() {
    m_grid->resetZoom();
}

void HeadsView::copyValues() {
    QStringList lines{"layer,head," + QString::fromStdString(resultId())};
    QString single;
    for (const HeadId& head : m_selection->heads()) {
        const std::optional<double> number = value(head);
        if (!number)
            continue;
        single = QString::fromStdString(exactly(*number));
        lines << QString("%1,%2,%3").arg(head.layer).arg(head.head).arg(single);
    }
    if (lines.size() > 1)
        QApplication::clipboard()->setText(lines.size() == 2 ? single : lines.join("\r\n") + "\r\n");
}

void HeadsView::contextMenuEvent(QContextMenuEvent* event) {
    if (!m_document->isOpen())
        return;
    QMenu menu(this);
    QAction* values = menu.addAction(tr("Copy selected &values"), this, &HeadsView::copyValues);
    values->setEnabled(result() && !m_selection->heads().empty());
    menu.addActions(m_actions->actions());
    menu.addSeparator();
    menu.addAction(tr("Select &all"), this, &HeadsView::selectAll);
    menu.addAction(m_lasso);
    menu.addAction(tr("&Reset zoom"), this, &HeadsView::resetZoom);
    menu.exec(event->globalPos());
}

} // namespace secateur
